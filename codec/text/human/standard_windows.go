package human

import (
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/windows"
)

// endedByPipe is the exit code that shells on other systems report for a process that SIGPIPE has ended.
const endedByPipe = 128 + int(syscall.SIGPIPE)

// standard returns a writer to a standard stream. A write ends the process if the stream's reader has ended, as SIGPIPE
// does on other systems, unless SIGPIPE is ignored.
func standard(stream *os.File) io.Writer { return pipe{stream} }

type pipe struct{ stream *os.File }

func (p pipe) Write(data []byte) (int, error) {
	n, err := p.stream.Write(data)
	for _, ended := range []error{
		windows.ERROR_BROKEN_PIPE, windows.ERROR_NO_DATA, windows.ERROR_PIPE_NOT_CONNECTED,
	} {
		if errors.Is(err, ended) && !signal.Ignored(syscall.SIGPIPE) {
			os.Exit(endedByPipe)
		}
	}
	return n, err
}
