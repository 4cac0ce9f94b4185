package confine

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPath(t *testing.T) {
	folder := t.TempDir()
	inside := filepath.Join(folder, "inside")
	require.NoError(t, os.MkdirAll(filepath.Join(inside, "bag"), 0o755))
	require.NoError(t, os.MkdirAll(filepath.Join(inside, "dataset"), 0o755))
	require.NoError(t, os.MkdirAll(filepath.Join(inside, "leaky"), 0o755))
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "outside"), 0o755))
	for _, file := range []string{"inside/file", "inside/bag/0.mcap", "outside/secret"} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, file), nil, 0o600))
	}
	for link, target := range map[string]string{
		"out": "../outside", "absolute": "/etc", "secret": "../outside/secret", "gone": "../outside/none",
		"in": "bag", "bag/1.mcap": "../file", "leaky/0.mcap": "../../outside/secret", "loop": "loop",
		"dataset/videos": "../bag",
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
		"loop": "service_root", "bag/../file": "is not below", "none/../secret": "is not below",
		"dataset": `"dataset/videos" is a link to a folder`,
	} {
		_, err := In(inside).Path(t.Context(), path)
		require.ErrorContains(t, err, want, path)
		got, err := ServiceRoot("/").Path(t.Context(), path)
		require.NoError(t, err)
		require.Equal(t, path, got)
	}
	for _, path := range []string{
		"new", "new/deep", "file", "file/x", "bag", "bag/", "in", "in/0.mcap", "dataset/videos", "in/new",
	} {
		got, err := In(inside).Path(t.Context(), path)
		require.NoError(t, err, path)
		require.Equal(t, inside+"/"+path, got)
	}
	got, err := In("/").Path(t.Context(), "etc/passwd")
	require.NoError(t, err)
	require.Equal(t, "/etc/passwd", got)
	_, err = In("/").Path(t.Context(), "/etc/passwd")
	require.ErrorContains(t, err, "is not below /")
	require.NoError(t, In(inside).Holds(t.Context(), filepath.Join(inside, "bag/0.mcap")))
	require.ErrorContains(t, In(inside).Holds(t.Context(), filepath.Join(inside, "bag/../../outside/secret")),
		"is not below")
	require.ErrorContains(t, In(inside).Holds(t.Context(), filepath.Join(inside, "secret")), "escapes")
	require.NoError(t, ServiceRoot("/").Holds(t.Context(), filepath.Join(inside, "secret")))
	for _, url := range []string{"s3://bucket/bag/0.mcap", "https://example.org/0.mcap", "file:///etc/passwd"} {
		for _, root := range []string{inside, "."} {
			require.ErrorContains(t, In(root).Holds(t.Context(), url), "is not below "+root)
			_, err := In(root).Path(t.Context(), url)
			require.ErrorContains(t, err, "is not below "+root)
		}
		require.NoError(t, ServiceRoot("/").Holds(t.Context(), url))
	}
	t.Chdir(inside)
	got, err = ServiceRoot("").Path(t.Context(), "bag")
	require.NoError(t, err)
	require.Equal(t, "bag", got)
	got, err = In("none").Path(t.Context(), "drive")
	require.NoError(t, err)
	require.Equal(t, "none/drive", got)
}

func TestPathEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := In(t.TempDir()).Path(ctx, ".")
	require.ErrorIs(t, err, context.Canceled)
}
