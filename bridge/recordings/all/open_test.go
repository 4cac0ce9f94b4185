package all_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge/recordings"
	"tapedeck/bridge/recordings/all"
	"tapedeck/codec"
)

// create writes a recording with a message at each time, and returns its path.
func create(t *testing.T, name string, times ...int64) string {
	path := filepath.Join(t.TempDir(), name)
	w, err := all.Formats().Create(path, codec.CreateOptions{})
	require.NoError(t, err)
	c := &codec.Channel{Topic: "/" + name, Type: "std_msgs/msg/Empty", Encoding: codec.EncodingCDR}
	for _, at := range times {
		require.NoError(t, w.Write(&codec.Message{Channel: c, LogTime: at, Data: []byte{0, 1, 0, 0, 0}}))
	}
	require.NoError(t, w.Close())
	return path
}

func TestOpenSeveral(t *testing.T) {
	a, b := create(t, "a.mcap", 100, 300), create(t, "b.record", 1000, 1100)
	for name, test := range map[string]struct {
		options  recordings.Options
		want     []string
		from, to int64
	}{
		"as they are": {recordings.Options{}, []string{"/a.mcap", "/a.mcap", "/b.record", "/b.record"}, 100, 1100},
		"aligned": {recordings.Options{Align: true},
			[]string{"/a.mcap", "/b.record", "/b.record", "/a.mcap"}, 100, 300},
		"aligned and shifted": {recordings.Options{Align: true, Shift: map[string]int64{b: 150}},
			[]string{"/a.mcap", "/b.record", "/a.mcap", "/b.record"}, 100, 350},
	} {
		t.Run(name, func(t *testing.T) {
			test.options.Formats = all.Formats()
			r, err := recordings.Open([]string{a, b}, test.options)
			require.NoError(t, err)
			defer r.Close()
			info, err := r.Info()
			require.NoError(t, err)
			require.EqualValues(t, 4, info.MessageCount)
			require.Len(t, info.Topics, 2)
			require.True(t, info.Complete)
			require.Equal(t, []int64{test.from, test.to}, []int64{info.StartTime, info.EndTime})
			var topics []string
			last := int64(0)
			for m, err := range r.Messages() {
				require.NoError(t, err)
				require.LessOrEqual(t, last, m.LogTime)
				last = m.LogTime
				topics = append(topics, m.Channel.Topic)
			}
			require.Equal(t, test.want, topics)
			require.Equal(t, test.to, last)
		})
	}
}

func TestOpenFails(t *testing.T) {
	good := create(t, "a.mcap", 1)
	missing := filepath.Join(t.TempDir(), "b.mcap")
	_, err := all.Open(good, missing)
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.ErrorContains(t, err, missing)

	unwritten := filepath.Join(t.TempDir(), "c.mcap"+codec.ActiveSuffix)
	require.NoError(t, os.WriteFile(unwritten, nil, 0o666))
	_, err = all.Open(good, unwritten)
	require.ErrorIs(t, err, codec.ErrUnwritten)
	o := recordings.Options{Formats: all.Formats(), SkipUnwritten: true}
	r, err := recordings.Open([]string{unwritten, good}, o)
	require.NoError(t, err)
	require.Equal(t, []string{unwritten}, r.Unwritten)
	require.Len(t, r.Parts, 1)
	require.NoError(t, r.Close())
	_, err = recordings.Open([]string{unwritten}, o)
	require.ErrorIs(t, err, codec.ErrUnwritten, "there is no other recording")
}

func TestMessagesEndEarly(t *testing.T) {
	path := create(t, "a.mcap", 1, 2)
	r, err := recordings.Open([]string{path}, recordings.Options{Formats: all.Formats(), Context: t.Context()})
	require.NoError(t, err)
	n := 0
	for range r.Messages() {
		n++
		break
	}
	require.Equal(t, 1, n, "the loop may end early")
	require.NoError(t, r.Close())
}
