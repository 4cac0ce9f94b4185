package codec

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOpenPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	_, err := Formats{}.Open(path)
	require.EqualError(t, err, "open "+path+": neither a file nor a folder")
}

func TestFormatAccepts(t *testing.T) {
	one, several := Format{Name: "one"}, Format{Name: "several", Storages: []string{"a", "b"}}
	for _, test := range []struct {
		format  Format
		options CreateOptions
		want    string
	}{
		{one, CreateOptions{}, ""},
		{one, CreateOptions{Storage: "one", CompressionMode: "none"}, ""},
		{one, CreateOptions{Storage: "a"}, `format one has no choice of storage, and so none of "a"`},
		{one, CreateOptions{Version: 4}, "format one has no choice of version, and so none of 4"},
		{one, CreateOptions{CompressionMode: "file"}, `format one has no compression mode "file"`},
		{several, CreateOptions{Version: 4, CompressionMode: "file"}, ""},
		{several, CreateOptions{Storage: "b"}, ""},
		{several, CreateOptions{Storage: "several"}, `format several has no storage "several"; it has a and b`},
	} {
		err := test.format.accepts(test.options)
		if test.want == "" {
			require.NoError(t, err)
		} else {
			require.EqualError(t, err, test.want)
		}
	}
}
