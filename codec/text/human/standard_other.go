//go:build !windows

package human

import (
	"io"
	"os"
)

// standard returns a standard stream. SIGPIPE ends the process when the stream's reader has ended.
func standard(stream *os.File) io.Writer { return stream }
