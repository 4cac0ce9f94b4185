package convert

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/nodes/internal/formats/allformats"
)

func TestOutputThatAppearsMeanwhile(t *testing.T) {
	for _, other := range []string{"out.mcap", "out_1.mcap"} {
		t.Run(other, func(t *testing.T) {
			folder := t.TempDir()
			path := filepath.Join(folder, "out.mcap")
			format, err := FormatOf(allformats.List(), path, "")
			require.NoError(t, err)
			out, err := newOutput(path, allformats.List(), format, false, nil)
			require.NoError(t, err)
			w, err := out.create(codec.CreateOptions{})
			require.NoError(t, err)
			require.NoError(t, w.(codec.Splitter).Split())
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

func TestOverwriteShorter(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "drive.record")
	format, err := FormatOf(allformats.List(), path, "")
	require.NoError(t, err)
	create := func(splits int, read ...*codec.Info) ([]string, error) {
		out, err := newOutput(path, allformats.List(), format, true, read)
		require.NoError(t, err)
		defer out.Close()
		w, err := out.create(codec.CreateOptions{})
		require.NoError(t, err)
		for range splits {
			require.NoError(t, w.(codec.Splitter).Split())
		}
		require.NoError(t, w.Close())
		return out.commit(t.Context())
	}
	long, err := create(4)
	require.NoError(t, err)
	require.Len(t, long, 5)
	unlike := filepath.Join(folder, "drive.record.00009") // behind a gap
	require.NoError(t, os.WriteFile(unlike, nil, 0o644))

	short, err := create(1)
	require.NoError(t, err)
	require.Equal(t, long[:2], short)
	left, err := filepath.Glob(path + "*")
	require.NoError(t, err)
	require.Equal(t, append(short, unlike), left, "the rest of the longer one is gone")

	// Nothing that is read goes.
	_, err = create(1, &codec.Info{Path: short[1]})
	require.ErrorContains(t, err, short[1]+" is an input; the output was written to ")
	require.FileExists(t, short[1])
}
