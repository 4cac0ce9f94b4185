package formats_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/series"
	"tapedeck/codec/store"
	"tapedeck/codec/store/storetest"
	"tapedeck/nodes/internal/formats"
	"tapedeck/test/samples"
)

// TestURLs reads recordings of each format from the disk and from a store. The contents must be equal.
func TestURLs(t *testing.T) {
	server := storetest.New(t)
	files := server.Files()
	read := map[string]int{} // recordings, by format
	samples.Path(t, "bag")   // skips the test where there is none
	for _, pattern := range []string{"apollo/*", "bag/*", "carla/*", "mavlink/*", "rosbag2/*_*/*", "rosbag2/*_*/*/*",
		"session/*/temp/*", "mcap/conformance/TenMessages/TenMessages-ch*sum.mcap"} {
		paths, err := filepath.Glob(filepath.Join(samples.Folder(), pattern))
		require.NoError(t, err)
		for i, path := range paths {
			if few := 4; testing.Short() && i%max(1, len(paths)/few) > 0 {
				continue
			}
			key, err := filepath.Rel(samples.Folder(), path)
			require.NoError(t, err)
			if put(t, server, path, key) > 300_000 && testing.Short() {
				continue
			}
			for _, further := range series.Names(nil, path)[1:] {
				put(t, server, further, filepath.Join(filepath.Dir(key), filepath.Base(further)))
			}
			format, want := contents(nil, path)
			_, got := contents(files, server.URL(key))
			got = strings.ReplaceAll(got, server.URL(key), path)
			require.Equal(t, want, got, path)
			read[format]++
		}
	}
	for _, format := range []string{"record", "bag", "carla", "mcap", "rosbag2", "tlog", "session"} {
		if read[format] == 0 {
			t.Errorf("no recording of the format %s was read", format)
		}
	}
}

// put uploads a file or the files of a folder.
func put(t *testing.T, server *storetest.Server, path, key string) (size int) {
	require.NoError(t, filepath.WalkDir(path, func(file string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(file)
		server.Put(key+strings.TrimPrefix(file, path), content)
		size += len(content)
		return err
	}))
	return size
}

// contents returns the format of a recording, and a text of its content. Recordings with equal contents have equal
// texts. The text may be an error.
func contents(files *store.Files, path string) (format, text string) {
	r, err := formats.All().Open(files, path)
	if err != nil {
		return "", err.Error()
	}
	defer r.Close()
	info, err := r.Info()
	if err != nil {
		return "", err.Error()
	}
	text = fmt.Sprintf("%d messages, %d to %d, complete %t, %d topics, %d bytes\n", info.MessageCount, info.StartTime,
		info.EndTime, info.Complete, len(info.Topics), info.Size)
	for _, e := range info.Events {
		text += e.Kind + ": " + e.Text + "\n"
	}
	for _, q := range []codec.Query{{}, {Start: (info.StartTime + info.EndTime) / 2}} {
		q.Damaged = func(err error) { text += err.Error() + "\n" }
		it, err := r.Read(q)
		if err != nil {
			return info.Format, text + err.Error()
		}
		sum := sha256.New()
		m, err := it.Next()
		for ; err == nil; m, err = it.Next() {
			fmt.Fprintln(sum, m.Channel.Topic, m.LogTime, m.PublishTime, len(m.Data))
			sum.Write(m.Data)
		}
		if !errors.Is(err, io.EOF) {
			text += err.Error()
		}
		text += fmt.Sprintf("%x\n", sum.Sum(nil))
		_ = it.Close()
	}
	return info.Format, text
}
