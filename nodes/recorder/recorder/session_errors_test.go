package recorder

import (
	"errors"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/nodes/recorder/internal/diskguard"
	"tapedeck/nodes/recorder/internal/filewriter"
)

// lastFile is a recording at its last file.
type lastFile struct{ codec.Writer }

func (lastFile) File() string { return "last" }

// Messages that miss in a file are dropped, and no error of the recording, if it went on in another file as it was to.
func TestErrorsThatARecordingOutlives(t *testing.T) {
	first := &codec.MissingError{Path: "first", Err: syscall.ENOSPC}
	last := &codec.MissingError{Path: "last", Err: syscall.ENOSPC}
	other := errors.New("complete first: rename")
	for action, goesOn := range map[string]bool{diskguard.Delete: true, diskguard.Pause: true, diskguard.Stop: false} {
		output := filewriter.SizedWriter{Writer: lastFile{}}
		w := filewriter.New(new(filewriter.LiveReader), output, filewriter.Callbacks{})
		s := &session{guard: &diskguard.Guard{Action: action}, writer: w}
		require.NoError(t, s.final(nil))
		require.Equal(t, goesOn, s.final(first) == nil)
		require.Equal(t, goesOn, s.final(errors.Join(first, first)) == nil)
		require.ErrorIs(t, s.final(last), last)
		require.ErrorIs(t, s.final(errors.Join(first, other)), other)
	}
}
