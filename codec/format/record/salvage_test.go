package record

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
)

// chunkedFile writes 24 chunks of 101 real messages each. It returns the content of the file and its messages.
func chunkedFile(t *testing.T) ([]byte, []messageCopy) {
	example := openAt(t, sample(t, "example.record.00000"))
	var all []messageCopy
	path := filepath.Join(t.TempDir(), "all.record")
	w, err := create(path, codec.CreateOptions{})
	require.NoError(t, err)
	defer w.Close()
	for len(all) < 24*101 {
		it, err := example.Read(codec.Query{})
		require.NoError(t, err)
		for m, err := it.Next(); err == nil && len(all) < 24*101; m, err = it.Next() {
			if len(m.Data) > 4000 { // omit one message of 400 kB
				continue
			}
			copied := *m
			copied.LogTime = 1627031535114943571 + int64(len(all))*1e6
			require.NoError(t, w.Write(&copied))
			all = append(all, messageCopy{m.Channel.Topic, copied.LogTime, 0, string(m.Data)})
			if len(all)%101 == 0 {
				require.NoError(t, w.Sync())
			}
		}
		require.NoError(t, it.Close())
	}
	require.NoError(t, w.Close())
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return b, all
}

// TestSalvage damages one chunk in ways in which Apollo's recover loses all chunks behind it, and keeps 505 of 2424
// messages.
func TestSalvage(t *testing.T) {
	whole, all := chunkedFile(t)
	r := openBytes(t, whole)
	body := r.shallow.pieces[5]
	var messages []singleMessage
	for pos := body.start; pos < body.end; {
		var m singleMessage
		require.NoError(t, readMessage(&r.probe, pos, &m))
		messages = append(messages, m)
		pos = m.end
	}
	require.Len(t, messages, 101)
	middle, last := messages[50], messages[100]
	for name, test := range map[string]struct {
		damage func(b []byte)
		lost   int // message, from 0; -1 for none
	}{
		"tag of a message":         {func(b []byte) { b[middle.pos] = 0xff }, 505 + 50},
		"length of a message":      {func(b []byte) { b[middle.pos+1] ^= 0x7f }, 505 + 50},
		"longer than its chunk":    {func(b []byte) { copy(b[middle.pos+1:], "\xff\xff\xff\xff\x07") }, 505 + 50},
		"tag within a message":     {func(b []byte) { b[middle.pos+3] = 0x0f }, 505 + 50},
		"last message":             {func(b []byte) { b[last.pos+1] ^= 0x7f }, 505 + 100},
		"size of the section":      {func(b []byte) { b[body.start-8] ^= 0x7f }, -1},
		"huge size of the section": {func(b []byte) { b[body.start-1] = 0x7f }, -1},
		"header of the chunk":      {func(b []byte) { clear(b[body.start-16-16-10 : body.start]) }, -1},
	} {
		t.Run(name, func(t *testing.T) {
			b := bytes.Clone(whole)
			test.damage(b)
			reported := 0
			saved, err := readAll(t, openBytes(t, b), codec.Query{Damaged: func(error) { reported++ }})
			require.NoError(t, err)
			require.NotZero(t, reported)
			want := all
			if test.lost >= 0 {
				want = append(append([]messageCopy(nil), all[:test.lost]...), all[test.lost+1:]...)
			}
			require.Len(t, saved, len(want))
			require.Equal(t, want, saved)
		})
	}
}

// TestAppendedFile reads a file to which another file was appended.
func TestAppendedFile(t *testing.T) {
	one := smallFile(t, true)
	r := openBytes(t, append(bytes.Clone(one), one...))
	_, err := readAll(t, r, codec.Query{})
	require.ErrorContains(t, err, "another recording follows here")
	reported := 0
	saved, err := readAll(t, r, codec.Query{Damaged: func(error) { reported++ }})
	require.NoError(t, err)
	require.Len(t, saved, 24)
	require.Equal(t, 1, reported)
	info, err := r.Info()
	require.NoError(t, err)
	require.EqualValues(t, 24, info.MessageCount)
	require.False(t, info.Complete)
}

// TestMissingBeginning reads files without their first bytes.
func TestMissingBeginning(t *testing.T) {
	whole, all := chunkedFile(t)
	for _, gone := range []int{1, 16, 2048, 2064, 2070, 3000, 4000, 100_000} {
		saved, err := readAll(t, openBytes(t, whole[gone:]), codec.Query{Damaged: func(error) {}})
		require.NoError(t, err)
		require.NotEmpty(t, saved)
		require.Equal(t, all[len(all)-len(saved):], saved, "without %d bytes", gone)
		if gone <= 2064 {
			require.Len(t, saved, len(all))
		}
	}
}
