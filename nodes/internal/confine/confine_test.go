package confine

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPath(t *testing.T) {
	folder := t.TempDir()
	inside := filepath.Join(folder, "inside")
	require.NoError(t, os.MkdirAll(filepath.Join(inside, "bag"), 0o755))
	require.NoError(t, os.MkdirAll(filepath.Join(inside, "leaky"), 0o755))
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "outside"), 0o755))
	for _, file := range []string{"inside/file", "inside/bag/0.mcap", "outside/secret"} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, file), nil, 0o600))
	}
	for link, target := range map[string]string{
		"out": "../outside", "absolute": "/etc", "secret": "../outside/secret", "gone": "../outside/none",
		"in": "bag", "bag/1.mcap": "../file", "leaky/0.mcap": "../../outside/secret", "loop": "loop",
	} {
		require.NoError(t, os.Symlink(target, filepath.Join(inside, link)))
	}
	for path, want := range map[string]string{
		"/etc/passwd": "is not below " + inside +
			": services take relative paths without .., unless service_root",
		"../outside/secret": "is not below", "bag/../../outside/secret": "is not below", "": "is not below",
		"s3://bucket/key": "is not below", "https://host/x": "is not below",
		"a\x1b[2Jb": "characters that cannot be printed", "a\nb": "cannot be printed", "a\x00b": "cannot be printed",
		"\u202etxt": "cannot be printed",
		"out":       "service_root", "out/secret": "service_root", "out/new": "service_root",
		"absolute/passwd": "escapes", "secret": "escapes", "gone": "escapes", "leaky": "escapes",
		"leaky/0.mcap": "escapes", ".": "escapes",
		"loop": "service_root",
	} {
		_, err := In(inside).Path(path)
		require.ErrorContains(t, err, want, path)
		got, err := ServiceRoot("/").Path(path)
		require.NoError(t, err)
		require.Equal(t, path, got)
	}
	for _, path := range []string{"new", "new/deep", "file", "file/x", "bag", "bag/", "in", "in/0.mcap", "in/new"} {
		got, err := In(inside).Path(path)
		require.NoError(t, err, path)
		require.Equal(t, inside+"/"+path, got)
	}
	got, err := In("/").Path("etc/passwd")
	require.NoError(t, err)
	require.Equal(t, "/etc/passwd", got)
	_, err = In("/").Path("/etc/passwd")
	require.ErrorContains(t, err, "is not below /")
	require.NoError(t, In(inside).Holds(filepath.Join(inside, "bag/0.mcap")))
	require.ErrorContains(t, In(inside).Holds(filepath.Join(inside, "bag/../../outside/secret")), "is not below")
	require.ErrorContains(t, In(inside).Holds(filepath.Join(inside, "secret")), "escapes")
	require.NoError(t, ServiceRoot("/").Holds(filepath.Join(inside, "secret")))
	t.Chdir(inside)
	got, err = ServiceRoot("").Path("bag")
	require.NoError(t, err)
	require.Equal(t, "bag", got)
	got, err = In("none").Path("drive")
	require.NoError(t, err)
	require.Equal(t, "none/drive", got)
}
