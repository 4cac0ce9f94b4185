package formats

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge/recordings/all"
	"tapedeck/codec"
	"tapedeck/codec/series"
	"tapedeck/codec/store"
	"tapedeck/codec/store/storetest"
)

func TestSearch(t *testing.T) {
	root := t.TempDir()
	for path, text := range map[string]string{
		"a.mcap": "", "b.bag": "", "notes.txt": "", "table.parquet": "", "text.log": "a line\n", "x.mcap.active": "",
		"real.log": "\x01\x00\x0e\x00CARLA_RECORDER", ".hidden/c.mcap": "", "d.mcap.part/d.mcap": "",
		"car1/drive.record.00000": "", "car1/drive.record.00001": "", "car1/other.record": "",
		"car1/other.record.00001": "", "car2/bag/metadata.yaml": "", "car2/bag/bag_0.mcap": "",
		"car2/loose/e.db3.zstd": "", "car2/loose/f.db3": "", "flights/g.tlog": "", "flights/h.ULG": "",
		"takes/one/frames/camera_a/0.jpg": "", "takes/two/frames/camera_a/0.jpg": "", "takes/i.mcap": "",
		"set/meta/info.json": `{"codebase_version": "v3.0"}`, "set/data/chunk-000/file-000.parquet": "",
	} {
		path = filepath.Join(root, path)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o777))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o666))
	}
	require.NoError(t, os.Symlink("../a.mcap", filepath.Join(root, "car1/link.mcap")))
	require.NoError(t, os.Symlink("..", filepath.Join(root, "car1/loop")))
	search := func(folder string) (found []string) {
		paths, err := series.Search(nil, all.Formats(), filepath.Join(root, folder))
		require.NoError(t, err)
		for _, path := range paths {
			path, err = filepath.Rel(root, path)
			require.NoError(t, err)
			found = append(found, path)
		}
		return found
	}
	require.Equal(t, []string{"a.mcap", "b.bag", "car1/drive.record", "car1/link.mcap", "car1/other.record",
		"car1/other.record.00001", "car2/bag", "car2/loose/e.db3.zstd", "car2/loose/f.db3", "flights/g.tlog",
		"flights/h.ULG", "real.log", "set", "takes/i.mcap", "takes/one", "takes/two"}, search(""))
	require.Equal(t, []string{"car2/bag"}, search("car2/bag"))
	require.Equal(t, []string{"takes/one"}, search("takes/one"))
	require.Equal(t, []string{"notes.txt"}, search("notes.txt"))
	require.Empty(t, search("set/data"))
	_, err := series.Search(nil, all.Formats(), filepath.Join(root, "nowhere"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

// A folder that is read as one recording must not have another recording.
func TestOpenFolder(t *testing.T) {
	for _, test := range []struct {
		files []string
		want  string // "" if the folder is opened
	}{
		{[]string{"a.record.00000", "a.record.00001", "b.record", "notes.txt", ".hidden.bag", "pictures/a.jpg"}, ""},
		{[]string{"a.record", "a.record.recover"}, "a.record: a.record.recover"},
		{[]string{"a.record.00000", "b.mcap", "c.bag"}, "a.record.00000: b.mcap, c.bag"},
		{[]string{"a.record.00000", "old/a.record.00000", "old/b.mcap"}, "a.record.00000: old/a.record, old/b.mcap"},
		{[]string{"a_0.mcap", "a_1.mcap"}, ""},
		{[]string{"a_0.mcap", "a_0.mcap.zstd"}, ""}, // the recorder was killed before it removed the first
		{[]string{"a_0.mcap", "a_1.mcap", "b.record.00000/c.bag"}, "a_0.mcap: b.record.00000/c.bag"},
		{[]string{"a_0.mcap", "c.bag", "metadata.yaml"}, ""},
	} {
		dir := filepath.Join(t.TempDir(), "logs")
		for _, name := range test.files {
			path := filepath.Join(dir, name)
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o777))
			format := codec.CreateOptions{Format: "mcap"}
			if strings.HasPrefix(filepath.Base(path), "a.record") {
				format.Format = "record"
			}
			w, err := all.Formats().Create(path, format)
			require.NoError(t, err)
			require.NoError(t, w.Close())
		}
		r, err := All().Open(nil, dir+"/")
		if test.want == "" {
			require.NoError(t, err, test.files)
			require.NoError(t, r.Close())
			continue
		}
		require.EqualError(t, err, "open "+dir+": the folder holds other recordings beside "+test.want+
			"; name the ones to read; 'converter "+dir+" --output-folder FOLDER --to FORMAT' converts each by itself",
			test.files)
	}
}

// A key that cannot be a path is named in the error. Recordings at other keys are found.
func TestSearchBesideOddKeys(t *testing.T) {
	s := storetest.New(t)
	for _, key := range []string{"d/a.mcap", "d//b.mcap", "d/e/c.mcap", "d/e/../f.mcap", "d/z.mcap"} {
		s.Put(key, nil)
	}
	paths, err := series.Search(s.Files(), all.Formats(), s.URL("d"))
	require.Equal(t, []string{s.URL("d/a.mcap"), s.URL("d/e/c.mcap"), s.URL("d/z.mcap")}, paths)
	require.ErrorIs(t, err, store.ErrKey)
	require.ErrorContains(t, err, `search `+s.URL("d")+`: the key "d//" cannot be a path`)
	require.ErrorContains(t, err, `search `+s.URL("d/e")+`: the key "d/e/../" cannot be a path`)
}
