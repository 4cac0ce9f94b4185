package power

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/store/storetest"
	"tapedeck/test/internal/process"
)

// uploadRun records two recordings and uploads them to a store, which is not on the disk. The first recorder is killed.
type uploadRun struct {
	recorderRun
	guarded bool // delete files only when the disk is nearly full, not after each upload
}

// uploads are runs of the recorder with uploads.
var uploads = []scenario{
	uploadRun{recorderRun: recorderRun{storage: "record"}}.scenario("record uploads"),
	uploadRun{recorderRun: recorderRun{storage: "mcap-file"}, guarded: true}.scenario("mcap-file uploads full"),
	uploadRun{recorderRun: recorderRun{storage: "rosbag2"}}.scenario("rosbag2 uploads"),
}

// uploadFact is a promise of a recorder that uploads, or a fact about the store.
type uploadFact struct {
	Complete string `json:",omitzero"` // path of a complete file on the disk
	Key      string `json:",omitzero"` // of an object that the store has from now on
	Content  []byte `json:",omitzero"` // of this object
	Final    bool   `json:",omitzero"` // the object is part of the store at the end, which is known from the beginning
}

const depot = "fleet" // folder in the store

func (ur uploadRun) scenario(name string) scenario {
	ur.streams = []stream{textStream("/small", 10*time.Millisecond, 100),
		textStream("/large", 80*time.Millisecond, 40_000)}
	return scenario{name, ur.run, ur.check}
}

func (ur uploadRun) run(r *run) {
	length := 2 * time.Second
	if *cuts > 0 {
		length = 8 * time.Second
	}
	store := storetest.Start(r.T)
	defer store.Close()
	store.Slow(20*time.Millisecond, 0) // so that power cuts come between request and answer
	store.Intercept(r.remember(store))
	played := ur.generate(r, length)
	ur.record(r, store, played, "drive1", true)
	ur.record(r, store, played, "drive2", false)
	final := goodsOf(store)
	left := dataFiles(r.T, r.dir)
	for name, content := range left {
		require.True(r, ur.guarded && bytes.Equal(content, final.of(name)), "%s is left", name)
	}
	data := 0
	kept := filepath.Join(r.temp, "kept")
	require.NoError(r, os.Mkdir(kept, 0o777))
	for key, content := range final {
		text, err := json.Marshal(uploadFact{Key: key, Content: content, Final: true})
		require.NoError(r, err)
		r.know("%s", text)
		if !isData(key) {
			continue
		}
		data++
		copied := filepath.Join(kept, path.Base(key))
		require.NoError(r, os.WriteFile(copied, content, 0o666))
		info, err := ur.readFile(copied, map[string][]arrival{})
		require.NoError(r, err)
		require.True(r, info.Complete || !ur.complete(copied), "%s in the store is not complete", key)
	}
	require.Less(r, len(left), data, "nothing was deleted")
}

// record records what a player publishes. The recorder is killed when it has uploaded some files, or uploads all.
func (ur uploadRun) record(r *run, store *storetest.Server, played, name string, kill bool) {
	domain := process.Domain()
	start := func(program string, args ...string) *process.Process {
		cmd := node(exec.Command(filepath.Join(bin, program), args...), r.temp, domain)
		cmd.Env = append(cmd.Env, store.Environment()...)
		return process.Start(r.T, cmd)
	}
	args := []string{"--output", filepath.Join(r.dir, name), "-s", ur.storage, "--sync-interval",
		syncInterval.String(), "--max-bag-size", "150kB", "--upload", store.URL(depot)}
	if ur.guarded {
		free, _, err := codec.OS{}.Space(r.dir)
		require.NoError(r, err)
		args = append(args, "--low-space-action", "delete-uploaded", "--min-space", fmt.Sprint(free-600_000))
	} else {
		args = append(args, "--delete-after-upload")
	}
	for _, s := range ur.streams {
		args = append(args, s.topic)
	}
	splits := start("recorder", "echo", "/events/write_split", "--json")
	recorder := start("recorder", args...)
	stop, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		r.watch(splits, stop)
	}()
	player := start("player", append([]string{played, "--wait-for-subscribers"}, process.Patient...)...)
	if kill {
		process.Await(r.T, func() bool {
			return len(slices.DeleteFunc(store.Keys(), func(key string) bool { return !isData(key) })) > 4
		})
		recorder.Kill()
		player.Kill()
	} else {
		player.Wait(0)
		recorder.Interrupt()
	}
	close(stop)
	<-watched
	splits.Interrupt()
}

// watch promises the files that a recorder announces, until stop is closed.
func (r *run) watch(splits *process.Process, stop chan struct{}) {
	for printed, stopped := 0, false; !stopped; time.Sleep(10 * time.Millisecond) {
		select {
		case <-stop:
			stopped = true
		default:
		}
		lines := strings.SplitAfter(splits.Stdout(), "\n")
		for _, line := range lines[printed : len(lines)-1] {
			var event struct {
				Message struct {
					Closed string `json:"closed_file"`
				}
			}
			if json.Unmarshal([]byte(line), &event) == nil {
				text, _ := json.Marshal(uploadFact{Complete: r.name(event.Message.Closed)})
				r.promise("%s", text)
			}
		}
		printed = len(lines) - 1
	}
}

// interceptor handles a request to a store.
type interceptor func(w http.ResponseWriter, q *http.Request, next http.Handler)

// remember notes each object at the position of the disk when the store has it, before the store answers.
func (r *run) remember(store *storetest.Server) interceptor {
	return onObjects(store, func(key string, before, content []byte) {
		if before != nil && !bytes.Equal(before, content) && path.Base(key) != "recording.json" {
			r.Errorf("%s was uploaded twice with different contents", key)
		}
		text, _ := json.Marshal(uploadFact{Key: key, Content: content})
		r.promise("%s", text)
	})
}

// onObjects returns an interceptor that calls note when the store has a new object, with the content that it had under
// this key before, and then answers.
func onObjects(store *storetest.Server, note func(key string, before, content []byte)) interceptor {
	var mu sync.Mutex
	return func(w http.ResponseWriter, q *http.Request, next http.Handler) {
		if q.Method == http.MethodGet || q.Method == http.MethodHead {
			next.ServeHTTP(w, q)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		key := strings.TrimPrefix(q.URL.Path, "/"+storetest.Bucket+"/")
		before, _ := store.Content(key)
		answer := httptest.NewRecorder()
		next.ServeHTTP(answer, q)
		content, ok := store.Content(key)
		if ok && answer.Code == http.StatusOK {
			note(key, before, content)
		}
		for name, values := range answer.Header() {
			w.Header()[name] = values
		}
		w.WriteHeader(answer.Code)
		_, _ = w.Write(answer.Body.Bytes())
	}
}

// isData reports whether a key or a path names a file with messages. The names of record files end with a number.
func isData(name string) bool {
	base := strings.TrimSuffix(path.Base(name), codec.ActiveSuffix)
	return strings.HasPrefix(base, "drive") && (strings.HasSuffix(base, ".mcap") ||
		strings.Contains(base, ".record") && !strings.Contains(base, ".json"))
}

// dataFiles returns the contents of the files with messages, by path below a folder.
func dataFiles(t require.TestingT, dir string) map[string][]byte {
	files := map[string][]byte{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !isData(path) {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err == nil {
			files[name], err = os.ReadFile(path)
		}
		return err
	}))
	return files
}

// goods is a store at a time.
type goods map[string][]byte // by key

// goodsOf returns all objects of a store.
func goodsOf(store *storetest.Server) goods {
	g := goods{}
	for _, key := range store.Keys() {
		g[key], _ = store.Content(key)
	}
	return g
}

// of returns the content of the object for a file of the disk: its key ends like the file's path.
func (g goods) of(name string) []byte {
	for key, content := range g {
		if path.Base(key) == path.Base(name) && isData(key) {
			return content
		}
	}
	return nil
}

func (ur uploadRun) check(c *cut) {
	stored, final := goods{}, goods{}
	var complete []string
	for _, text := range c.promises {
		var f uploadFact
		require.NoError(c, json.Unmarshal([]byte(text), &f))
		switch {
		case f.Complete != "":
			complete = append(complete, f.Complete)
		case f.Final:
			final[f.Key] = f.Content
		default:
			stored[f.Key] = f.Content
		}
	}
	deleted := map[string]bool{}
	spools, err := filepath.Glob(filepath.Join(c.dir, "*.upload.json"))
	require.NoError(c, err)
	for _, path := range spools {
		c.checkSpool(path, stored, deleted)
	}
	files := dataFiles(c, c.dir)
	// With data=writeback, ext4 overwrites files whose deletion is not durable.
	maps.DeleteFunc(files, func(name string, _ []byte) bool { return deleted[name] })
	for _, name := range complete {
		content := final.of(name)
		require.NotNil(c, content, "%s never reached the store", name)
		if local, exists := files[name]; exists {
			require.True(c, bytes.Equal(content, local), "%s has other bytes than were uploaded", name)
		} else {
			require.True(c, bytes.Equal(content, stored.of(name)), "%s is deleted, but not in the store", name)
		}
	}
	if c.Number%3 != 0 || len(spools) == 0 {
		return
	}
	for name := range files {
		messages := map[string][]arrival{}
		_, err := ur.readFile(filepath.Join(c.dir, name), messages)
		require.NoError(c, err)
		if len(messages) == 0 {
			delete(files, name)
		}
	}
	for _, name := range complete {
		if files[name] == nil {
			files[name] = final.of(name)
		}
	}
	ur.goOn(c, stored, files, spools)
}

// checkSpool requires that the store has what a spool calls proven, and that the disk has what the spool calls neither
// proven nor lost. It adds the names of deleted files.
func (c *cut) checkSpool(path string, stored goods, deleted map[string]bool) {
	text, err := os.ReadFile(path)
	require.NoError(c, err)
	var s struct {
		Name, Recording string
		Done            bool
		Files           []struct {
			Name, CRC32C  string
			Size          int64
			Deleted, Lost bool
		}
	}
	require.NoError(c, json.Unmarshal(text, &s), "%s is damaged: %q", path, text)
	folder := depot + "/" + s.Name + "/"
	for _, f := range s.Files {
		deleted[f.Name] = f.Deleted
		if f.CRC32C != "" {
			key := folder + strings.TrimPrefix(f.Name, s.Recording+"/")
			require.EqualValues(c, f.Size, len(stored[key]), "%s calls %s proven", path, f.Name)
			require.Equal(c, f.CRC32C, castagnoli(stored[key]), "%s calls %s proven", path, f.Name)
			continue
		}
		_, err := os.Stat(filepath.Join(c.dir, f.Name))
		require.NoError(c, err, "%s does not call the missing %s proven", path, f.Name)
		require.False(c, f.Deleted || f.Lost, "%s calls the unproven %s deleted or lost", path, f.Name)
	}
	require.True(c, !s.Done || stored[folder+"recording.json"] != nil, "%s is done without a manifest", path)
}

// castagnoli returns the CRC32C of data as S3 writes it.
func castagnoli(data []byte) string {
	sum := crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli))
	return base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint32(nil, sum))
}

// goOn starts a recorder, or 'recorder upload', on the disk and the store as they are. Everything must reach the store
// once, without a person: files are the complete ones, on the disk or not, and unfinished ones with messages.
func (ur uploadRun) goOn(c *cut, stored goods, files map[string][]byte, spools []string) {
	store := storetest.Start(c.t)
	defer store.Close()
	for key, content := range stored {
		store.Put(key, content)
	}
	var twice []string
	store.Intercept(onObjects(store, func(key string, before, content []byte) {
		if before != nil && !bytes.Equal(before, content) && path.Base(key) != "recording.json" {
			twice = append(twice, key)
		}
	}))
	before := dataFiles(c, c.dir)
	c.env = store.Environment()
	var args []string
	if !ur.guarded {
		args = append(args, "--delete-after-upload")
	}
	if c.Number%2 == 0 {
		cmd := exec.CommandContext(c.ctx, filepath.Join(bin, "recorder"),
			append([]string{"upload", c.dir, store.URL(depot)}, args...)...)
		cmd.Env = append(os.Environ(), c.env...)
		out, err := cmd.CombinedOutput()
		require.NoError(c, err, "recorder upload: %s", out)
	} else {
		maps.DeleteFunc(files, func(name string, _ []byte) bool { // the recording had just begun
			recording := name[:len("drive1")]
			return !slices.ContainsFunc(spools, func(path string) bool {
				return strings.HasPrefix(filepath.Base(path), recording)
			})
		})
		c.startRecorder(append(args, "--output-prefix", filepath.Join(c.dir, "next"), "-s", ur.storage,
			"--upload", store.URL(depot))...)
	}
	require.Empty(c, twice, "objects were uploaded twice with different contents")
	now := goodsOf(store)
	names := map[string]string{} // keys by the name of the file
	for key := range now {
		if isData(key) {
			name := strings.TrimSuffix(path.Base(key), codec.ActiveSuffix)
			require.Empty(c, names[name], "%s is in the store twice", key)
			names[name] = key
		}
	}
	for name, content := range files {
		require.True(c, bytes.Equal(content, now.of(name)), "%s is not in the store after the next start", name)
	}
	for name, content := range dataFiles(c, c.dir) {
		left := ur.guarded || files[name] == nil // a recording that had just begun
		require.True(c, left && bytes.Equal(content, before[name]), "%s is left or changed", name)
	}
	now.check(c)
}

// check requires that the manifests of the recordings list all their objects.
func (g goods) check(c *cut) {
	listed := map[string]bool{}
	for key, content := range g {
		if path.Base(key) != "recording.json" {
			continue
		}
		listed[key] = true
		var m struct {
			Files []struct {
				Path, CRC32C string
				Size         int64
			}
			Lost []string
		}
		require.NoError(c, json.Unmarshal(content, &m), key)
		require.Empty(c, m.Lost, key)
		for _, f := range m.Files {
			file := path.Join(path.Dir(key), f.Path)
			require.EqualValues(c, f.Size, len(g[file]), "%s lists %s", key, file)
			require.Equal(c, f.CRC32C, castagnoli(g[file]), "%s lists %s", key, file)
			listed[file] = true
		}
	}
	for key := range g {
		require.True(c, listed[key], "no manifest lists %s", key)
	}
}
