package year

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"tapedeck/codec"
	"tapedeck/codec/disktest"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/codec/format/mcap"
	"tapedeck/codec/format/record"
	"tapedeck/codec/series"
	"tapedeck/codec/store"
	"tapedeck/msgs/std_msgs"
)

// contents are the messages of a file.
type contents struct {
	numbers  map[stream][]int
	replayed map[stream][]int
	total    uint64 // messages of all topics, as the file counts them
	complete bool
	damaged  error
	unknown  bool // the file is no recording
}

// read returns the messages of the file with a name. It requires that they are right and in order.
func (w *world) read(t *testing.T, path string, data []byte) *contents {
	sum := sha256.Sum256(data)
	id := filepath.Base(path) + hex.EncodeToString(sum[:])
	if known := w.known[id]; known != nil {
		return known
	}
	c := &contents{numbers: map[stream][]int{}, replayed: map[stream][]int{}}
	w.known[id] = c
	disk := &disktest.Disk{}
	name := filepath.Join("/", filepath.Base(path))
	file, err := disk.Create(name, false)
	require.NoError(t, err)
	_, err = file.WriteAt(data, 0)
	require.NoError(t, err)
	require.NoError(t, file.Close())
	r, err := series.OpenFile(store.On(disk), codec.Formats{record.Format, mcap.Format}, name)
	if errors.Is(err, codec.ErrUnknownFormat) || err != nil && len(data) == 0 {
		c.unknown = true
		return c
	}
	require.NoError(t, err, path)
	defer r.Close()
	info, err := r.Info()
	require.NoError(t, err, path)
	c.complete, c.total = info.Complete, info.MessageCount
	for _, e := range info.Events {
		if e.Kind == codec.EventDamage {
			c.damaged = errors.New(e.Text)
		}
	}
	it, err := r.Read(codec.Query{Damaged: func(err error) { c.damaged = err }})
	require.NoError(t, err, path)
	defer it.Close()
	for {
		m, err := it.Next()
		if errors.Is(err, io.EOF) {
			return c
		}
		require.NoError(t, err, path)
		if strings.HasPrefix(m.Channel.Topic, "/robot/") || strings.HasPrefix(m.Channel.Topic, "/replay/") {
			w.add(t, c, path, m)
		}
	}
}

// add adds a message of a file to its contents.
func (w *world) add(t *testing.T, c *contents, path string, m *codec.Message) {
	var s std_msgs.String
	err := cdr.Unmarshal(m.Data, &s)
	topic, replayed := strings.CutPrefix(m.Channel.Topic, "/replay")
	fields := strings.SplitN(s.Data, " ", 4)
	if err == nil && len(fields) == 4 && fields[1] == topic {
		boot, _ := strconv.Atoi(fields[0])
		n, _ := strconv.Atoi(fields[2])
		from := stream{boot, topic}
		if text(from, n) == s.Data {
			to := c.numbers
			if replayed {
				to = c.replayed
			}
			if w.stepped[boot] { // readers order messages by the clock that was set
				require.NotContains(t, to[from], n, "%s: a message of %v is repeated", path, from)
			} else if list := to[from]; len(list) > 0 {
				require.Greater(t, n, list[len(list)-1], "%s: a message of %v is repeated or late", path, from)
			}
			to[from] = append(to[from], n)
			return
		}
	}
	require.Error(t, c.damaged, "%s: a message on %s is damaged, and the reader has not reported it: %.80q", path,
		m.Channel.Topic, s.Data)
}

// check checks the disk and the store after a boot, and the promises of boots from a number on.
func (w *world) check(t *testing.T, boot int) {
	require.Empty(t, w.wrongs)
	for key := range w.depot.dirty {
		delete(w.inStore, key)
		if content, ok := w.depot.Content(key); ok && isData(key) && w.depot.shrunk[key] == nil {
			c := w.read(t, key, content)
			w.inStore[key] = c
			sum := sha256.Sum256(content)
			if len(c.numbers) > 0 && w.keyOf[sum] != "" { // files without messages may be equal
				require.Equal(t, w.keyOf[sum], key, "a file was uploaded twice")
			}
			w.keyOf[sum] = key
		}
		w.checkManifests(t, path.Dir(key)+"/")
	}
	clear(w.depot.dirty)
	files := w.disk.Files()
	for _, path := range slices.Sorted(maps.Keys(files)) {
		data := files[path]
		switch kind := kind(path); {
		case strings.HasSuffix(path, ".tmp"):
		case kind == "data":
			c := w.read(t, path, data)
			require.False(t, c.unknown, "%s is no recording", path)
			require.True(t, c.complete, "%s is incomplete: %v", path, c.damaged)
			require.NoError(t, c.damaged, path)
			sum := sha256.Sum256(data)
			hash := hex.EncodeToString(sum[:])
			if before, known := w.finals[path]; known {
				require.Equal(t, before, hash, "the complete file %s was changed", path)
			}
			w.finals[path] = hash
		case kind == "active":
			w.read(t, path, data)
		case kind == "list":
			w.checkList(t, path, data, files)
		case kind == "spool":
			w.checkSpool(t, path, data, files)
		default:
			require.Fail(t, "an unexpected file", path)
		}
	}
	maps.DeleteFunc(w.finals, func(path, _ string) bool { return files[path] == nil })
	w.checkPromises(t, boot)
	w.log = append(w.log, w.snapshot(t, files))
}

// snapshot describes the disk in a line of the log. It leaves out the contents of unfinished files, which depend on
// what was first at the same simulated instant.
func (w *world) snapshot(t *testing.T, files map[string][]byte) string {
	var list []string
	for _, path := range slices.Sorted(maps.Keys(files)) {
		text := path
		if kind(path) == "data" {
			for _, topic := range topics {
				for s, list := range w.read(t, path, files[path]).numbers { // of one boot
					if s.topic == topic {
						text += fmt.Sprintf(", %d messages %d to %d on %s", len(list), list[0], list[len(list)-1], topic)
					}
				}
			}
		}
		list = append(list, text)
	}
	return "  " + strings.Join(list, "\n  ")
}

// checkList checks that a metadata.yaml lists only complete files, with no more messages than they have.
func (w *world) checkList(t *testing.T, path string, data []byte, files map[string][]byte) {
	var list struct {
		Bag struct {
			Messages uint64   `yaml:"message_count"`
			Paths    []string `yaml:"relative_file_paths"`
		} `yaml:"rosbag2_bagfile_information"`
	}
	require.NoError(t, yaml.Unmarshal(data, &list), path)
	var messages uint64
	for _, name := range list.Bag.Paths {
		file := filepath.Join(filepath.Dir(path), name)
		if files[file] == nil && w.uploaded(file) {
			return // deleted after its upload
		}
		require.Contains(t, files, file, "%s lists it", path)
		messages += w.read(t, file, files[file]).total
	}
	require.LessOrEqual(t, list.Bag.Messages, messages, "%s\n%s\n%s", path, data, w.snapshot(t, files))
}

// uploaded reports whether the store has an object for a file.
func (w *world) uploaded(path string) bool {
	for key := range w.inStore {
		if strings.HasSuffix(path, strings.TrimPrefix(key, "fleet")) {
			return true
		}
	}
	return false
}

// spool is the part of NAME.upload.json that is checked.
type spool struct {
	Name, Recording string
	Ended, Done     bool
	Files           []struct {
		Name, CRC32C  string
		Size          int64
		Deleted, Lost bool
	}
}

// checkSpool checks that the store has what a spool calls proven, and that it knows what became of missing files.
func (w *world) checkSpool(t *testing.T, path string, data []byte, files map[string][]byte) {
	var s spool
	require.NoError(t, json.Unmarshal(data, &s), path)
	for _, f := range s.Files {
		key := "fleet/" + s.Name + "/" + strings.TrimPrefix(f.Name, s.Recording+"/")
		if f.CRC32C != "" {
			w.requireObject(t, path, key, f.Size, f.CRC32C)
			continue
		}
		require.False(t, f.Deleted, "%s: %s was deleted without a proof", path, f.Name)
		local := filepath.Join(folder, f.Name)
		if !f.Lost && !strings.HasSuffix(f.Name, codec.ActiveSuffix) && !w.trimmed[local] {
			require.True(t, files[local] != nil, "%s: what became of %s?", path, local)
		}
	}
	require.True(t, !s.Done || s.Ended, path)
}

// requireObject requires an object with a size and a sum.
func (w *world) requireObject(t *testing.T, by, key string, size int64, crc string) {
	content, ok := w.depot.Content(key)
	require.True(t, ok, "%s: %s is not in the store", by, key)
	require.EqualValues(t, size, len(content), "%s: %s", by, key)
	sum := binary.BigEndian.AppendUint32(nil, crc32.Checksum(content, crc32.MakeTable(crc32.Castagnoli)))
	require.Equal(t, crc, base64.StdEncoding.EncodeToString(sum), "%s: %s", by, key)
}

// checkManifests checks that the recordings in a folder of the store have what their manifests list.
func (w *world) checkManifests(t *testing.T, folder string) {
	for _, key := range w.depot.Keys() {
		if !strings.HasPrefix(key, folder) || path.Base(key) != "recording.json" || w.depot.shrunk[key] != nil {
			continue
		}
		var m struct {
			Files []struct {
				Path, CRC32C string
				Size         int64
			}
		}
		content, _ := w.depot.Content(key)
		require.NoError(t, json.Unmarshal(content, &m), key)
		for _, f := range m.Files {
			w.requireObject(t, key, path.Dir(key)+"/"+f.Path, f.Size, f.CRC32C)
		}
	}
}

// checkPromises checks that the promised messages of boots from a number on are on the disk or in the store.
func (w *world) checkPromises(t *testing.T, boot int) {
	have := map[stream]map[int]bool{}
	add := func(c *contents) {
		for s, list := range c.numbers {
			if s.boot < boot {
				continue
			}
			if have[s] == nil {
				have[s] = map[int]bool{}
			}
			for _, n := range list {
				have[s][n] = true
			}
		}
	}
	for path, data := range w.disk.Files() {
		if isData(path) {
			add(w.read(t, path, data))
		}
	}
	for _, c := range w.inStore {
		add(c)
	}
	for _, c := range w.copied {
		add(c)
	}
	for s, list := range w.sent {
		for n, m := range list {
			if s.boot >= boot && m.promised && !have[s][n] && !w.released[s][n] {
				require.Fail(t, "a promised message is missing", "number %d of %v, received after %v; boot %d of %d\n%s", n,
					s, m.at, s.boot, w.boots, strings.Join(w.log[max(0, len(w.log)-8):], "\n"))
			}
		}
	}
}

// checkRemoval checks that the recorder may delete a complete file.
func (b *running) checkRemoval(path string) {
	w := b.world
	w.trimmed[path] = b.deletes
	data, ok := w.disk.Files()[filepath.Clean(path)]
	if !ok || w.depot.holds(data) {
		return
	}
	if !b.deletes {
		w.wrong("%s is deleted, but not in the store", path)
		return
	}
	for s, list := range w.read(w.t, path, data).numbers {
		if w.released[s] == nil {
			w.released[s] = map[int]bool{}
		}
		for _, n := range list {
			w.released[s][n] = true
		}
	}
}

// clear takes recordings from the disk at the depot. Those that are not uploaded are copied by hand.
func (w *world) clear(t *testing.T) {
	files := w.disk.Files()
	for _, path := range slices.Sorted(maps.Keys(files)) {
		if isData(path) && !w.depot.holds(files[path]) {
			w.left[kind(path)]++
			w.copied = append(w.copied, w.read(t, path, files[path]))
		}
	}
	require.NoError(t, w.disk.RemoveAll(folder))
	require.NoError(t, w.disk.MkdirAll(folder))
	w.disk = w.disk.Killed()
	clear(w.finals)
	clear(w.trimmed)
}
