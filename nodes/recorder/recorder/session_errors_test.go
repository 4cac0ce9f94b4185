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

// lastFile is a codec.Writer whose last file is current.
type lastFile struct{ codec.Writer }

func (lastFile) File() string { return "last" }

// If the recording continues in another file after an error, as low_space_action tells, the missing messages are
// dropped, and the error does not end the recording.
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
