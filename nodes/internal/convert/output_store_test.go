package convert

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge/recordings/all"
	"tapedeck/codec"
	"tapedeck/codec/store/s3"
	"tapedeck/codec/store/storetest"
	"tapedeck/nodes/internal/formats"
)

// Sizes of messages of which manyBytes makes a recording that is larger than a part of an upload, or that a single
// request sends.
const (
	inParts = 900_000
	inOne   = 1000
)

// manyBytes writes a recording of 10 messages of size bytes.
func manyBytes(t *testing.T, path string, size int) {
	w, err := all.Formats().Create(path, codec.CreateOptions{})
	require.NoError(t, err)
	c := &codec.Channel{Topic: "/n", Type: "std_msgs/msg/UInt32", Encoding: codec.EncodingCDR}
	for i := range byte(10) {
		data := append([]byte{0, 1, 0, 0}, bytes.Repeat([]byte{i}, size)...)
		require.NoError(t, w.Write(&codec.Message{Channel: c, LogTime: 1e18 + int64(i), Data: data}))
	}
	require.NoError(t, w.Close())
}

func TestConvertToAStore(t *testing.T) {
	for name, size := range map[string]int{"out.mcap": inParts, "folder": inOne} {
		t.Run(name, func(t *testing.T) {
			s, dir := storetest.New(t), t.TempDir()
			t.Setenv("TMPDIR", t.TempDir())
			in := filepath.Join(dir, "in.record.00000")
			manyBytes(t, in, size)
			local := &Job{Files: s.Files(), Store: s3.New(), Formats: formats.All(),
				Inputs: []string{in}, Output: filepath.Join(dir, name),
				Options: DefaultOptions()}
			_, err := local.Run(t.Context())
			require.NoError(t, err)
			j := &Job{Files: s.Files(), Store: s3.New(), Formats: formats.All(),
				Inputs: []string{in}, Output: s.URL("new/" + name),
				Options: DefaultOptions()}
			result, err := j.Run(t.Context())
			require.NoError(t, err)
			require.Equal(t, []string{s.URL("new/" + name)}, result.Files)
			count := 0
			require.NoError(t, filepath.WalkDir(local.Output, func(path string, d os.DirEntry, err error) error {
				if err != nil || d.IsDir() {
					return err
				}
				want, err := os.ReadFile(path)
				require.NoError(t, err)
				got, ok := s.Content("new/" + strings.TrimPrefix(path, dir+"/"))
				require.True(t, ok, path)
				require.Equal(t, len(want), len(got))
				count++
				return nil
			}))
			require.Len(t, s.Keys(), count)

			_, err = j.Run(t.Context())
			require.ErrorContains(t, err, j.Output+" exists; name another output or use --overwrite")
			left, err := os.ReadDir(os.TempDir())
			require.NoError(t, err)
			require.Empty(t, left)
		})
	}
}

// A conversion that fails or is interrupted leaves nothing in the store.
func TestFailedConversionToAStore(t *testing.T) {
	for name, fail := range map[string]func(r *http.Request) bool{
		"part":     func(r *http.Request) bool { return strings.Contains(r.URL.RawQuery, "partNumber=2") },
		"complete": func(r *http.Request) bool { return r.Method == http.MethodPost && r.URL.Query().Has("uploadId") },
		"last": func(r *http.Request) bool {
			return r.Method == http.MethodPut && strings.Contains(r.URL.Path, "metadata")
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, dir := storetest.New(t), t.TempDir()
			t.Setenv("TMPDIR", t.TempDir())
			in := filepath.Join(dir, "in.record.00000")
			manyBytes(t, in, inParts)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var aborted atomic.Bool
			s.Intercept(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				if fail(r) {
					cancel()
					storetest.Unavailable(w)
					return
				}
				if r.Method == http.MethodDelete {
					aborted.Store(true)
				}
				next.ServeHTTP(w, r)
			})
			j := &Job{Files: s.Files(), Store: s3.New(), Formats: formats.All(),
				Inputs: []string{in}, Output: s.URL("new/folder"),
				Options: DefaultOptions()}
			_, err := j.Run(ctx)
			require.Error(t, err)
			require.Empty(t, s.Keys())
			require.True(t, aborted.Load())
			left, err := os.ReadDir(os.TempDir())
			require.NoError(t, err)
			require.Empty(t, left)
		})
	}
}

// An object that is not proven is removed. An object that existed before is not removed.
func TestFailedConversionRemovesItsOwn(t *testing.T) {
	const key = "new/folder/folder_0.mcap"
	in := filepath.Join(t.TempDir(), "in.record.00000")
	manyBytes(t, in, inParts)
	to := func(s *storetest.Server) *Job {
		return &Job{Files: s.Files(), Store: s3.New(), Formats: formats.All(),
			Inputs: []string{in}, Output: s.URL("new/folder"),
			Options: DefaultOptions()}
	}
	first := storetest.New(t)
	_, err := to(first).Run(t.Context())
	require.NoError(t, err)
	content, ok := first.Content(key)
	require.True(t, ok)
	for name, method := range map[string]string{
		"unproven": "", "of another": http.MethodHead, "of another at the end": http.MethodPut,
	} {
		t.Run(name, func(t *testing.T) {
			theirs := method != "" // another process creates the object at our first request of this method
			s := storetest.New(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			s.Intercept(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				made := slices.Contains(s.Keys(), key)
				object := strings.HasSuffix(r.URL.Path, key)
				switch {
				case theirs && object && r.Method == method && !made:
					s.Put(key, content)
				case !theirs && object && r.Method == http.MethodHead && made,
					r.Method == http.MethodPut && strings.Contains(r.URL.Path, "metadata"):
					cancel()
					storetest.Unavailable(w)
					return
				}
				next.ServeHTTP(w, r)
			})
			_, err := to(s).Run(ctx)
			require.Error(t, err)
			_, there := s.Content(key)
			require.Equal(t, theirs, there)
		})
	}
}

// Files left by an earlier recording with the same name are removed. None of them may be an input.
func TestOverwriteInAStore(t *testing.T) {
	s, dir := storetest.New(t), t.TempDir()
	in := filepath.Join(dir, "in.record.00000")
	manyBytes(t, in, inOne)
	content, err := os.ReadFile(in)
	require.NoError(t, err)
	name := func(n int) string { return fmt.Sprintf("new/drive.record.%05d", n) }
	const other = "new/other.record.00009"
	s.Put(other, content)
	convert := func(messages uint64, input string) *Result {
		j := &Job{Files: s.Files(), Store: s3.New(), Formats: formats.All(),
			Inputs: []string{input}, Output: s.URL("new/drive.record"),
			Options: DefaultOptions()}
		j.Options.MaxBagMessages, j.Options.Overwrite = messages, true
		result, err := j.Run(t.Context())
		require.NoError(t, err)
		return result
	}
	require.Len(t, convert(2, in).Files, 5)
	s.Put(name(6), content)
	require.Len(t, convert(4, in).Files, 3)
	require.Equal(t, []string{name(0), name(1), name(2), other}, s.Keys())
	require.Len(t, convert(100, in).Files, 1)
	require.Equal(t, []string{"new/drive.record", other}, s.Keys())
	require.Len(t, convert(9, in).Files, 2)
	require.Equal(t, []string{name(0), name(1), other}, s.Keys())

	s.Put("new/a_1.mcap", content)
	for output, input := range map[string]string{"new/drive.record": name(1), "new/a.mcap": "new/a_1.mcap"} {
		j := &Job{Files: s.Files(), Store: s3.New(), Formats: formats.All(),
			Inputs: []string{s.URL(input)}, Output: s.URL(output),
			Options: DefaultOptions()}
		j.Options.MaxBagMessages, j.Options.Overwrite = 1, true
		_, err = j.Run(t.Context())
		require.EqualError(t, err, s.URL(input)+" is an input; name another output")
	}
	require.Equal(t, []string{"new/a_1.mcap", name(0), name(1), other}, s.Keys())
}

// A failed conversion keeps the objects that existed before.
func TestFailedOverwriteInAStore(t *testing.T) {
	s, dir := storetest.New(t), t.TempDir()
	in := filepath.Join(dir, "in.record.00000")
	manyBytes(t, in, inOne)
	j := &Job{Files: s.Files(), Store: s3.New(), Formats: formats.All(),
		Inputs: []string{in}, Output: s.URL("new/drive.record"),
		Options: DefaultOptions()}
	j.Options.MaxBagMessages, j.Options.Overwrite = 6, true
	_, err := j.Run(t.Context())
	require.NoError(t, err)
	keys := s.Keys()
	require.Len(t, keys, 2)
	s.Put(keys[1], nil)
	ctx, cancel := context.WithCancel(t.Context())
	s.Intercept(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, keys[1]) {
			cancel()
			storetest.Unavailable(w)
			return
		}
		next.ServeHTTP(w, r)
	})
	_, err = j.Run(ctx)
	require.Error(t, err)
	require.Equal(t, keys, s.Keys())
}

// Files are open only while they are read, because there may be more files than a process may open.
func TestConvertManyFilesToAStore(t *testing.T) {
	s, dir := storetest.New(t), t.TempDir()
	t.Setenv("TMPDIR", t.TempDir())
	in := filepath.Join(dir, "in.record.00000")
	manyBytes(t, in, inOne)
	var most atomic.Int64
	s.Intercept(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		open := int64(0)
		list, err := filepath.Glob("/proc/self/fd/*")
		for _, fd := range list {
			if path, _ := os.Readlink(fd); strings.HasPrefix(path, os.TempDir()) {
				open++
			}
		}
		if err == nil && open > most.Load() {
			most.Store(open)
		}
		next.ServeHTTP(w, r)
	})
	j := &Job{Files: s.Files(), Store: s3.New(), Formats: formats.All(),
		Inputs: []string{in}, Output: s.URL("new/folder"), Options: DefaultOptions()}
	j.Options.MaxBagMessages = 1
	_, err := j.Run(t.Context())
	require.NoError(t, err)
	require.Len(t, s.Keys(), 11)
	require.LessOrEqual(t, most.Load(), int64(1))
}

// An input in a store is not replaced, whether it is the output or in the output's folder.
func TestInputInAStore(t *testing.T) {
	s := storetest.New(t)
	format, err := FormatOf(formats.All(), "", "rosbag2")
	require.NoError(t, err)
	for _, input := range []string{"drive", "drive/drive_0.mcap"} {
		job := &Job{Files: s.Files(), Formats: formats.All(), Output: s.URL("drive")}
		_, err = newOutput(job, format, true, []*codec.Info{{Path: s.URL(input)}})
		require.EqualError(t, err, s.URL("drive")+" is an input; name another output")
	}
}
