package upload

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/codec/blob/blobtest"
	"tapedeck/nodes/internal/formats"
)

const patient = time.Minute

func newQueue(t *testing.T, s *blobtest.Server) *Queue {
	return New(Options{
		URL: s.URL("fleet"), Open: formats.PureGo().Open, Episodes: formats.PureGo().Episodic,
		Note: func(string, time.Time) {},
		Log:  func(_ bridge.LogLevel, format string, args ...any) { t.Logf(format, args...) },
	})
}

// record writes a recording of a few messages.
func record(t *testing.T, path string, first byte) codec.FileInfo {
	w, err := formats.PureGo().Codecs().Create(path, codec.CreateOptions{})
	require.NoError(t, err)
	c := &codec.Channel{Topic: "/n", Type: "std_msgs/msg/UInt32", Encoding: codec.EncodingCDR}
	for i := range byte(3) {
		require.NoError(t, w.Write(&codec.Message{Channel: c, LogTime: 1e18 + int64(first+i),
			Data: []byte{0, 1, 0, 0, first + i, 0, 0, 0}}))
	}
	require.NoError(t, w.Close())
	stat, err := os.Stat(path)
	require.NoError(t, err)
	return codec.FileInfo{Path: path, Size: stat.Size()}
}

// finish runs the queue until everything is sent.
func finish(t *testing.T, q *Queue) {
	ctx, cancel := context.WithTimeout(t.Context(), patient)
	defer cancel()
	q.Finish()
	q.Run(ctx)
	require.NoError(t, ctx.Err())
}

// objects returns the keys of the objects that were made, in order.
func objects(s *blobtest.Server) (keys []string) {
	for _, r := range s.Requests() {
		if r.Method == http.MethodPut && (r.Status == 0 || r.Status == http.StatusOK) {
			keys = append(keys, r.Key)
		}
	}
	return keys
}

func requireSame(t *testing.T, s *blobtest.Server, path, key string) {
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	got, ok := s.Content(key)
	require.True(t, ok, key)
	require.Equal(t, want, got, key)
}

// Snapshots go first, then files in their order, the list of a bag behind them and the manifest last.
func TestOrder(t *testing.T) {
	s, dir := blobtest.New(t), t.TempDir()
	q := newQueue(t, s)
	bag := filepath.Join(dir, "drive")
	require.NoError(t, os.Mkdir(bag, 0o777))
	r := q.Begin(bag, false)
	r.Completed(record(t, filepath.Join(bag, "drive_0.mcap"), 0))
	r.Completed(record(t, filepath.Join(bag, "drive_1.mcap"), 3))
	require.NoError(t, os.WriteFile(filepath.Join(bag, listName), []byte("a: b\n"), 0o666))
	r.End()
	snapshot := record(t, filepath.Join(dir, "drive_snapshot.record.00000"), 6)
	q.Begin(snapshot.Path, true).End()
	require.Equal(t, 2, q.Status().Files)
	finish(t, q)
	require.Equal(t, []string{
		"fleet/drive_snapshot/drive_snapshot.record.00000", "fleet/drive_snapshot/recording.json",
		"fleet/drive/drive_0.mcap", "fleet/drive/drive_1.mcap", "fleet/drive/metadata.yaml",
		"fleet/drive/recording.json",
	}, objects(s))
	requireSame(t, s, filepath.Join(bag, "drive_1.mcap"), "fleet/drive/drive_1.mcap")
	require.Empty(t, q.Status().String())

	text, _ := s.Content("fleet/drive_snapshot/recording.json")
	var m manifest
	require.NoError(t, json.Unmarshal(text, &m))
	require.EqualValues(t, 3, m.Info.MessageCount)
	require.Equal(t, "drive_snapshot.record.00000", m.Files[0].Path)
	require.NotContains(t, string(text), dir)

	again := newQueue(t, s)
	again.Resume(dir)
	finish(t, again)
	lost := newQueue(t, s)
	for _, name := range []string{"drive", "drive_snapshot.record"} {
		require.NoError(t, os.Remove(filepath.Join(dir, name+spoolSuffix)))
	}
	n, err := lost.Add(dir)
	require.NoError(t, err)
	require.Equal(t, 2, n)
	finish(t, lost)
	require.Subset(t, []string{"fleet/drive/recording.json", "fleet/drive_snapshot/recording.json"},
		objects(s)[6:], "nothing is sent twice")
}

// What one process leaves, another one sends, though the store failed and the clock was set back.
func TestResume(t *testing.T) {
	s, dir := blobtest.New(t), t.TempDir()
	s.Intercept(func(w http.ResponseWriter, _ *http.Request, _ http.Handler) { blobtest.Unavailable(w) })
	ctx, cancel := context.WithCancel(t.Context())
	q := newQueue(t, s)
	done := make(chan struct{})
	go func() {
		q.Run(ctx)
		close(done)
	}()
	first := record(t, filepath.Join(dir, "drive.record.00000"), 0)
	q.Begin(first.Path, false).Completed(first)
	require.Eventually(t, func() bool { return q.Status().Why != "" }, patient, time.Millisecond)
	require.Contains(t, q.Status().String(), "1 file to upload")
	_, err := openSpool(filepath.Join(dir, "drive.record"+spoolSuffix))
	require.ErrorIs(t, err, errBusy)
	cancel()
	<-done

	record(t, filepath.Join(dir, "drive.record.00001"), 3)
	spoolPath := filepath.Join(dir, "drive.record"+spoolSuffix)
	text, err := os.ReadFile(spoolPath)
	require.NoError(t, err)
	var state spool
	require.NoError(t, json.Unmarshal(text, &state))
	state.Files[0].Added = time.Now().Add(1000 * time.Hour)
	text, err = json.Marshal(&state)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(spoolPath, text, 0o666))

	s.Intercept(nil)
	q = newQueue(t, s)
	q.Resume(dir)
	finish(t, q)
	require.Equal(t, []string{"fleet/drive/drive.record.00000", "fleet/drive/drive.record.00001",
		"fleet/drive/recording.json"}, objects(s))
}

// Only what is proven to be in the store is deleted.
func TestDelete(t *testing.T) {
	for name, lies := range map[string]bool{"proven": false, "unproven": true} {
		t.Run(name, func(t *testing.T) {
			s, dir := blobtest.New(t), t.TempDir()
			if lies {
				s.Intercept(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
					next.ServeHTTP(w, r)
					if r.Method == http.MethodPut {
						key := strings.TrimPrefix(r.URL.Path, "/"+blobtest.Bucket+"/")
						content, _ := s.Content(key)
						content = append([]byte(nil), content...)
						content[0]++
						s.Put(key, content)
					}
				})
			}
			q := newQueue(t, s)
			q.Delete = true
			first := record(t, filepath.Join(dir, "drive.record.00000"), 0)
			r := q.Begin(first.Path, false)
			r.Completed(first)
			r.Completed(record(t, filepath.Join(dir, "drive.record.00001"), 3))
			r.End()
			finish(t, q)
			if lies {
				require.FileExists(t, first.Path)
				require.Equal(t, 2, q.Status().Refused)
				path, _, err := q.RemoveOldest()
				require.NoError(t, err)
				require.Empty(t, path)
				return
			}
			entries, err := os.ReadDir(dir)
			require.NoError(t, err)
			require.Empty(t, entries)
			text, _ := s.Content("fleet/drive/recording.json")
			var m manifest
			require.NoError(t, json.Unmarshal(text, &m))
			require.EqualValues(t, 6, m.Info.MessageCount, "of files that were deleted")
			require.Len(t, m.Files, 2)
		})
	}
}

// A file that changed after its upload is not deleted, but uploaded again.
func TestRemoveOldest(t *testing.T) {
	s, dir := blobtest.New(t), t.TempDir()
	q := newQueue(t, s)
	first := record(t, filepath.Join(dir, "drive.record.00000"), 0)
	r := q.Begin(first.Path, false)
	path, _, err := q.RemoveOldest()
	require.NoError(t, err)
	require.Empty(t, path)
	r.Completed(first)
	r.End()
	finish(t, q)
	require.NoError(t, os.WriteFile(first.Path, []byte("other"), 0o666))
	path, _, err = q.RemoveOldest()
	require.NoError(t, err)
	require.Empty(t, path)
	require.FileExists(t, first.Path)

	record(t, filepath.Join(dir, "second.record.00000"), 3)
	q = newQueue(t, s)
	_, err = q.Add(filepath.Join(dir, "second.record.00000"))
	require.NoError(t, err)
	finish(t, q)
	path, _, err = q.RemoveOldest()
	require.NoError(t, err)
	require.Equal(t, filepath.Join(dir, "second.record.00000"), path)
	require.NoFileExists(t, path)
}

// Uploads go on where the spool cannot be written, as on a full disk.
func TestSpoolThatCannotBeWritten(t *testing.T) {
	s, dir := blobtest.New(t), t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "drive.record"+spoolSuffix+".tmp", "x"), 0o777))
	q := newQueue(t, s)
	first := record(t, filepath.Join(dir, "drive.record.00000"), 0)
	q.Begin(first.Path, false).End()
	finish(t, q)
	require.Contains(t, s.Keys(), "fleet/drive/recording.json")
}

func TestSeries(t *testing.T) {
	others := map[string]int64{"drive.mcap": 0, "run.log.active": 0}
	for name, want := range map[string]string{
		"drive.record.00003": "drive.record", "drive.record.00003.20260131081500.active": "drive.record",
		"drive_2.mcap": "drive.mcap", "other_2.mcap": "other_2.mcap", "run_1.log": "run.log", "a.bag": "a.bag",
		"3_drive_2026_01_31-08_15_00.mcap": "drive.mcap",
	} {
		require.Equal(t, want, seriesOf(name, others), name)
	}
}
