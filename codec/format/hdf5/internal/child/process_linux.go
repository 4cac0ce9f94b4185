package child

import (
	"bufio"
	"encoding/gob"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// helper is the name of the program that reads and writes HDF5 files.
const helper = "hdf5_helper"

// lifeline is the child's descriptor of a pipe. The pipe ends when the parent ends.
const lifeline = 3

// errNoHelper is returned where the helper is missing.
var errNoHelper = errors.New("HDF5 needs the program " + helper + " of tapedeck, which is not installed: it belongs " +
	"beside this program or on the PATH")

// Test is the path of an executable that takes the place of the helper, if it is not "". The executable calls Main.
var Test string

// IsHelper reports whether this process was started as a helper.
func IsHelper() bool { return len(os.Args) > 0 && os.Args[0] == helper }

// find returns the path of the helper.
func find() (string, error) {
	if Test != "" {
		return Test, nil
	}
	if own, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(own), helper)
		if _, err := os.Stat(beside); err == nil {
			return beside, nil
		}
	}
	path, err := exec.LookPath(helper)
	if err != nil {
		return "", errNoHelper
	}
	return path, nil
}

// Available returns an error if files cannot be read and written because the helper is missing.
func Available() error {
	_, err := find()
	return err
}

// start starts a child in a mode with its other arguments.
func start(args ...string) (*process, error) {
	path, err := find()
	if err != nil {
		return nil, err
	}
	p := &process{command: exec.Command(path)}
	p.command.Args = append([]string{helper}, args...)
	p.command.Env = append(os.Environ(), "GOTRACEBACK=none")
	var stderr headWriter
	p.command.Stderr = &stderr
	p.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C must not end the child
	in, err := p.command.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := p.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	lifelineReader, lifelineWriter, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer lifelineReader.Close()
	p.command.ExtraFiles = []*os.File{lifelineReader}
	if err := p.command.Start(); err != nil {
		lifelineWriter.Close()
		return nil, err
	}
	for _, pipe := range []any{in, out} { // for fewer reads and writes of large images
		if file, ok := pipe.(*os.File); ok {
			_, _ = unix.FcntlInt(file.Fd(), unix.F_SETPIPE_SZ, 1<<20)
		}
	}
	p.in, p.out = bufio.NewWriterSize(in, 64<<10), bufio.NewReaderSize(out, 64<<10)
	p.requests, p.responses = gob.NewEncoder(p.in), gob.NewDecoder(p.out)
	p.end = sync.OnceValue(func() string {
		lifelineWriter.Close()
		state := p.command.Wait()
		text := stderr.firstLine()
		if text == "" && state != nil {
			text = state.Error()
		}
		return text
	})
	return p, nil
}

// headWriter keeps the first 4096 bytes that are written to it. The first line of a child's standard error is the
// reason why the child ended.
type headWriter []byte

func (h *headWriter) Write(p []byte) (int, error) {
	*h = append(*h, p[:min(len(p), 4096-len(*h))]...)
	return len(p), nil
}

// firstLine returns the first line that was written.
func (h *headWriter) firstLine() string {
	text, _, _ := strings.Cut(strings.TrimSpace(string(*h)), "\n")
	return text
}
