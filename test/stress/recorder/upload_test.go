package recorder

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/format/mcap"
	"tapedeck/codec/store/storetest"
	"tapedeck/test/internal/disk"
	"tapedeck/test/internal/process"
)

// requireUploaded requires that the store has each file below dir, that the objects match the manifests of that many
// recordings, and that no object but manifests was made twice.
func requireUploaded(t *testing.T, s *storetest.Server, dir string, recordings int) {
	made := map[string]int{}
	for _, r := range s.Requests() {
		uploadsPart := strings.Contains(r.Query, "partNumber=")
		completes := r.Method == http.MethodPost && strings.Contains(r.Query, "uploadId=")
		if r.Status == http.StatusOK && (r.Method == http.MethodPut && !uploadsPart || completes) {
			made[r.Key]++
		}
	}
	objects := map[string][]byte{}
	manifests := 0
	for _, key := range s.Keys() {
		content, ok := s.Content(key)
		require.True(t, ok)
		objects[key] = content
		if !strings.HasSuffix(key, "/recording.json") {
			require.LessOrEqual(t, made[key], 1, key)
		}
	}
	for key, text := range objects {
		folder, ok := strings.CutSuffix(key, "recording.json")
		if !ok {
			continue
		}
		manifests++
		var m struct {
			Files []struct {
				Path, CRC32C string
				Size         int64
			}
		}
		require.NoError(t, json.Unmarshal(text, &m))
		require.NotEmpty(t, m.Files, key)
		for _, f := range m.Files {
			content, ok := objects[folder+f.Path]
			require.True(t, ok, folder+f.Path)
			require.EqualValues(t, f.Size, len(content))
			sum := binary.BigEndian.AppendUint32(nil, crc32.Checksum(content, crc32.MakeTable(crc32.Castagnoli)))
			require.Equal(t, f.CRC32C, base64.StdEncoding.EncodeToString(sum), folder+f.Path)
		}
	}
	require.Equal(t, recordings, manifests)
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.Contains(path, ".upload.json") ||
			d.Name() == "metadata.yaml.tmp" { // left by a kill
			return err
		}
		found := false
		want, err := os.ReadFile(path)
		require.NoError(t, err)
		for key, content := range objects {
			found = found || filepath.Base(key) == filepath.Base(path) && string(content) == string(want)
		}
		require.True(t, found, "%s is not in the store", path)
		return nil
	}))
}

// unreliable returns an interceptor for a store that is sometimes unavailable, on a network that sometimes breaks:
// while a request is sent, or before the response.
func unreliable(seed uint64) func(w http.ResponseWriter, r *http.Request, next http.Handler) {
	var mu sync.Mutex
	random := rand.New(rand.NewPCG(seed, 0))
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		mu.Lock()
		fate := random.IntN(20)
		mu.Unlock()
		switch fate {
		case 0:
			storetest.Unavailable(w)
		case 1:
			_, _ = io.CopyN(io.Discard, r.Body, 10_000)
			panic(http.ErrAbortHandler)
		case 2:
			next.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		default:
			next.ServeHTTP(w, r)
		}
	}
}

// setClockBack sets the times of all spools to 50 years later, as if the clock had been set back since.
func setClockBack(t *testing.T, g *graph) {
	found, err := filepath.Glob(g.path("*.upload.json"))
	require.NoError(t, err)
	for _, path := range found {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		text = regexp.MustCompile(`("added": ")20\d\d`).ReplaceAll(text, []byte("${1}2076"))
		require.NoError(t, os.WriteFile(path, text, 0o666))
	}
}

// TestUploadOfKilledRecorders kills recorders that upload. It checks that the next recorders and 'recorder upload' send
// the rest, though the store fails, the clock is set back and the disk has no room for a spool.
func TestUploadOfKilledRecorders(t *testing.T) {
	for name, flags := range map[string][]string{"kept": nil, "deleted": {"--delete-after-upload"}} {
		t.Run(name, func(t *testing.T) {
			s := storetest.New(t)
			s.Slow(5*time.Millisecond, 0)
			s.Intercept(unreliable(*seed))
			g := newGraph(t)
			g.startPublishers(load{mixed, time.Hour})
			var full atomic.Bool
			hook := func(c disk.Call) error {
				if full.Load() && strings.HasSuffix(c.Path, ".upload.json.tmp") {
					return syscall.ENOSPC
				}
				return nil
			}
			for i := range *tries {
				full.Store(false)
				recorder := g.startOn(hook, append([]string{"--all", "-o", fmt.Sprint("drive", i),
					"-s", storages[i%len(storages)], "--max-bag-size", fmt.Sprint(64_000 + g.rand.IntN(300_000)),
					"--upload", s.URL("fleet")}, flags...)...)
				process.Await(t, func() bool {
					found, err := filepath.Glob(g.path(fmt.Sprintf("drive%d*.upload.json", i)))
					return err == nil && len(found) > 0
				})
				full.Store(g.rand.IntN(4) == 0)
				time.Sleep(g.between(0, 2*time.Second))
				recorder.Kill()
				if g.rand.IntN(4) == 0 {
					setClockBack(t, g)
				}
			}
			found, err := filepath.Glob(g.path("*.upload.json"))
			require.NoError(t, err)
			require.NotEmpty(t, found)
			out := g.start("recorder", "upload", ".").Wait(0)
			require.Contains(t, out, "are in the store")
			requireUploaded(t, s, g.dir, *tries)
		})
	}
}

// TestKilledUpload kills 'recorder upload' while it sends a file, and checks that the next one sends the rest.
func TestKilledUpload(t *testing.T) {
	s := storetest.New(t)
	g := newGraph(t)
	w, err := codec.Formats{mcap.Format}.Create(g.path("large.mcap"), codec.CreateOptions{})
	require.NoError(t, err)
	c := &codec.Channel{Topic: "/n", Type: "std_msgs/msg/UInt32", Encoding: codec.EncodingCDR}
	for i := range 40 {
		data := make([]byte, 1<<20)
		for j := 0; j < len(data); j += 8 {
			binary.LittleEndian.PutUint64(data[j:], g.rand.Uint64())
		}
		require.NoError(t, w.Write(&codec.Message{Channel: c, LogTime: 1e18 + int64(i), Data: data}))
	}
	require.NoError(t, w.Close())
	s.Intercept(unreliable(*seed))
	for range *tries {
		upload := g.start("recorder", "upload", ".", s.URL("fleet"), "--upload-rate", "20MB", "--parallel", "2")
		before := len(s.Requests())
		process.Await(t, func() bool { return len(s.Requests()) > before+2 || objectExists(s, "fleet/large/recording.json") })
		time.Sleep(g.between(0, 500*time.Millisecond))
		upload.Kill()
	}
	g.start("recorder", "upload", ".").Wait(0)
	requireUploaded(t, s, g.dir, 1)
}

// objectExists reports whether the store has the object.
func objectExists(s *storetest.Server, key string) bool {
	_, ok := s.Content(key)
	return ok
}

// TestUploadAfterTheRecording interrupts recorders that upload. It checks that they send the rest, or stop after
// upload_timeout or a second interrupt, and that 'recorder upload' sends the rest.
func TestUploadAfterTheRecording(t *testing.T) {
	s := storetest.New(t)
	g := newGraph(t)
	g.startPublishers(load{mixed, time.Hour})
	record := func(name string, flags ...string) *process.Process {
		recorder := g.start("recorder", append([]string{"--all", "-o", name, "-s", "mcap", "--max-bag-size", "100kB",
			"--upload", s.URL("fleet")}, flags...)...)
		process.Await(t, func() bool {
			found, err := filepath.Glob(g.path(name + "/*_1.mcap"))
			return err == nil && len(found) > 0
		})
		return recorder
	}
	recorder := record("first")
	require.Contains(t, g.start("recorder", "uploads").Wait(0), "upload")
	recorder.Interrupt()
	requireUploaded(t, s, g.dir, 1)

	s.Intercept(func(w http.ResponseWriter, _ *http.Request, _ http.Handler) { storetest.Unavailable(w) })
	text := record("second", "--upload-timeout", "1s").Stop()
	require.Contains(t, text, "recorded second")
	require.Contains(t, text, "not uploaded: ")
	require.Contains(t, text, "'recorder upload FOLDER'")
	third := record("third")
	third.Signal(os.Interrupt)
	third.Prints("recorded third")
	time.Sleep(1100 * time.Millisecond) // a second interrupt counts a second after the first one
	third.Signal(os.Interrupt)
	require.Contains(t, third.Wait(1), "not uploaded: ")
	s.Intercept(nil)
	g.start("recorder", "upload", ".").Wait(0)
	requireUploaded(t, s, g.dir, 3)
}
