package convert

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/nodes/internal/formats"
)

func TestOutputThatAppearsMeanwhile(t *testing.T) {
	for _, other := range []string{"out.mcap", "out_1.mcap"} {
		t.Run(other, func(t *testing.T) {
			folder := t.TempDir()
			path := filepath.Join(folder, "out.mcap")
			format, err := FormatOf(formats.All(), path, "")
			require.NoError(t, err)
			out, err := newOutput(&Job{Output: path, Formats: formats.All()}, format, false, nil)
			require.NoError(t, err)
			w, err := out.create(codec.CreateOptions{})
			require.NoError(t, err)
			require.NoError(t, w.Split())
			require.NoError(t, w.Close())
			require.NoError(t, os.WriteFile(filepath.Join(folder, other), []byte("other"), 0o644))
			_, err = out.commit(t.Context())
			require.ErrorContains(t, err, other+" exists by now; the output was written to "+path+".part/"+other)
			require.NoError(t, out.Close())
			require.FileExists(t, path+".part/out.mcap")
			require.FileExists(t, path+".part/out_1.mcap")
			data, err := os.ReadFile(filepath.Join(folder, other))
			require.NoError(t, err)
			require.Equal(t, "other", string(data))
			entries, err := os.ReadDir(folder)
			require.NoError(t, err)
			require.Len(t, entries, 2)
		})
	}
}

// A folder with the name of a further file of the output is not part of the output, and stays. The old first file does
// not, because readers would take the new second file for its continuation.
func TestOverwriteSparesFolders(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "out.mcap")
	require.NoError(t, os.WriteFile(path, []byte("old"), 0o644))
	format, err := FormatOf(formats.All(), path, "")
	require.NoError(t, err)
	out, err := newOutput(&Job{Output: path, Formats: formats.All()}, format, true, nil)
	require.NoError(t, err)
	w, err := out.create(codec.CreateOptions{})
	require.NoError(t, err)
	require.NoError(t, w.Split())
	require.NoError(t, w.Close())
	other := filepath.Join(folder, "out_1.mcap", "notes")
	require.NoError(t, os.Mkdir(filepath.Dir(other), 0o755))
	require.NoError(t, os.WriteFile(other, nil, 0o644))
	_, err = out.commit(t.Context())
	require.ErrorContains(t, err, "move "+path+".part/out_1.mcap to "+filepath.Dir(other)+": ")
	require.NoError(t, out.Close())
	require.FileExists(t, other)
	require.NoFileExists(t, path)
	require.FileExists(t, path+".part/out.mcap")
	require.FileExists(t, path+".part/out_1.mcap")
}

func TestOverwriteShorter(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "drive.record")
	format, err := FormatOf(formats.All(), path, "")
	require.NoError(t, err)
	create := func(splits int, read ...*codec.Info) ([]string, error) {
		out, err := newOutput(&Job{Output: path, Formats: formats.All()}, format, true, read)
		require.NoError(t, err)
		defer out.Close()
		w, err := out.create(codec.CreateOptions{})
		require.NoError(t, err)
		for range splits {
			require.NoError(t, w.Split())
		}
		require.NoError(t, w.Close())
		return out.commit(t.Context())
	}
	long, err := create(4)
	require.NoError(t, err)
	require.Len(t, long, 5)
	require.Equal(t, path+".00000", long[0])
	unlike := filepath.Join(folder, "drive.record.9")
	for _, name := range []string{unlike, path + ".00009", path + ".00010.20260131081500", path + ".00011.active"} {
		require.NoError(t, os.WriteFile(name, nil, 0o644))
	}

	short, err := create(1)
	require.NoError(t, err)
	require.Equal(t, long[:2], short)
	left, err := filepath.Glob(path + "*")
	require.NoError(t, err)
	require.Equal(t, append(short, unlike), left, "the rest of the longer one is gone")

	// NAME.record means the new recording, whether it is one file or several.
	for _, splits := range []int{0, 2, 0} {
		files, err := create(splits)
		require.NoError(t, err)
		left, err := filepath.Glob(path + "*")
		require.NoError(t, err)
		require.Equal(t, append(files, unlike), left)
		r, err := formats.All().Open(nil, path)
		require.NoError(t, err)
		info, err := r.Info()
		require.NoError(t, err)
		require.Len(t, info.Files, 1+splits)
		require.NoError(t, r.Close())
	}
	_, err = create(1)
	require.NoError(t, err)
	_, err = newOutput(&Job{Output: path, Formats: formats.All()}, format, false, nil)
	require.EqualError(t, err, path+".00000 exists; name another output or use --overwrite")
	for _, name := range short {
		_, err = newOutput(&Job{Output: path, Formats: formats.All()}, format, true, []*codec.Info{{Path: name}})
		require.EqualError(t, err, name+" is an input; name another output")
	}
	active, err := os.Create(path + ".00002.active")
	require.NoError(t, err)
	defer active.Close()
	require.NoError(t, codec.Lock(active))
	_, err = newOutput(&Job{Output: path, Formats: formats.All()}, format, true, nil)
	require.EqualError(t, err, active.Name()+" is being written; name another output")
}

// If a further file would replace an input or another file, the conversion fails and leaves no files.
func TestSplitsInTheWay(t *testing.T) {
	for _, name := range []string{"out_1.mcap", "out.record.00001"} {
		path := write(t, name, numbers(t, channel(t, "/n", "std_msgs/msg/UInt32"), 3)...)
		o := DefaultOptions()
		o.MaxBagMessages = 1
		for overwrite, want := range map[bool]string{
			false: " exists; name another output or use --overwrite", true: " is an input; name another output",
		} {
			o.Overwrite = overwrite
			output := regexp.MustCompile(`[._]0*1`).ReplaceAllString(path, "")
			input := path
			if !overwrite {
				input = write(t, "in.mcap", numbers(t, channel(t, "/n", "std_msgs/msg/UInt32"), 3)...)
			}
			_, err := run(t, o, output, input)
			require.EqualError(t, err, path+want)
			left, err := filepath.Glob(filepath.Dir(path) + "/*")
			require.NoError(t, err)
			require.Equal(t, []string{path}, left)
		}
	}
}

func TestNames(t *testing.T) {
	format, err := FormatOf(formats.All(), "", "mcap")
	require.NoError(t, err)
	for name, test := range map[string]struct {
		paths, folders []string
		split          bool
		want           []string
	}{
		"formats": {[]string{"/d/drive.record.00000", "a.bag", "b/", "b.record.00001", "x.bag", "x.mcap",
			"night.log.active"}, nil, false, []string{"drive.mcap", "a.mcap", "b.mcap", "b.record.00001.mcap",
			"x.bag.mcap", "x.mcap.mcap", "night.mcap"}},
		"parts": {[]string{"drive.bag", "drive_1.bag", "other_1.bag"}, nil, false,
			[]string{"drive.mcap", "drive_1.mcap", "other_1.mcap"}},
		"parts of a split": {[]string{"drive.bag", "drive_1.bag", "other_1.bag"}, nil, true,
			[]string{"drive.mcap", "drive_1.bag.mcap", "other_1.mcap"}},
		"searched": {[]string{"/d/x/a.bag", "/d/y/a.bag", "/d/y/a.record"}, []string{"x", "y", "y"}, false,
			[]string{"x/a.mcap", "y/a.bag.mcap", "y/a.record.mcap"}},
		"same names": {[]string{"/d/car1/log/a.bag", "/d/car2/log/a.bag", "/d/b.bag"}, nil, false,
			[]string{"car1/log/a.mcap", "car2/log/a.mcap", "b.mcap"}},
		"same names, twice": {[]string{"/d/car1/a.bag", "/d/car2/a.bag", "/d/car2/a.mcap"}, nil, false,
			[]string{"car1/a.mcap", "car2/a.bag.mcap", "car2/a.mcap.mcap"}},
		"one above another": {[]string{"/d/a.bag", "/d/x/a.bag"}, nil, false, []string{"a.mcap", "x/a.mcap"}},
		"searched in two": {[]string{"/d/1/x/a.bag", "/d/2/x/a.bag"}, []string{"x", "x"}, false,
			[]string{"x/1/x/a.mcap", "x/2/x/a.mcap"}},
	} {
		folders := test.folders
		if folders == nil {
			folders = make([]string, len(test.paths))
		}
		names, err := OutputNames(test.paths, folders, format, test.split)
		require.NoError(t, err, name)
		require.Equal(t, test.want, names, name)
	}
	for want, paths := range map[string][]string{
		"s3://b/../../x/a.bag would become ../../x/a.mcap, outside": {"s3://b/../../x/a.bag", "s3://b/y/a.bag"},
		"s3://b/a//x.bag and s3://b/a/x.bag would both become":      {"s3://b/a//x.bag", "s3://b/a/x.bag"},
		"x.bag and x.bag.bag would both become x.bag.mcap":          {"x.bag", "x.mcap", "x.bag.bag"},
	} {
		_, err := OutputNames(paths, make([]string, len(paths)), format, false)
		require.ErrorContains(t, err, want)
	}
}
