package manifest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestClaims(t *testing.T) {
	folder := t.TempDir()
	in, out := filepath.Join(folder, "a.bag"), filepath.Join(folder, "sub/a.mcap")
	write := func(path, text string) {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o777))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o666))
	}
	write(in, "bag")
	options := map[string]string{"to": "mcap"}
	take := func() (*Claim, error) {
		state, err := Stat(in)
		require.NoError(t, err)
		return Take(folder, "sub/a.mcap", Conversion{Input: state, Options: options}, false)
	}
	claim := func(done, ours bool) *Claim {
		c, err := take()
		require.NoError(t, err)
		require.Equal(t, []bool{done, ours}, []bool{c.Done, c.Ours})
		return c
	}

	write(out, "of somebody else")
	require.NoError(t, claim(false, false).Release())
	require.NoError(t, claim(false, false).Release(), "a failure makes nothing ours")
	require.NoError(t, os.Remove(out))

	c := claim(false, false)
	_, err := take()
	require.ErrorIs(t, err, ErrBusy)
	require.NoError(t, c.file.Close(), "as if the process was killed")
	write(out, "half")
	c = claim(false, true)
	write(out, "whole")
	require.NoError(t, c.Finish([]string{out}))
	require.NoError(t, claim(true, true).Release())

	options = map[string]string{"to": "bag"}
	_, err = take()
	require.ErrorContains(t, err, "was converted with other options")
	options = map[string]string{"to": "mcap"}
	write(out, "cut")
	_, err = take()
	require.ErrorContains(t, err, "is not as the conversion left it")
	require.NoError(t, os.Remove(out))
	require.NoError(t, claim(false, true).Release(), "a failure leaves the entry")
	write(out, "whole")
	require.NoError(t, claim(true, true).Release())

	write(in, "a longer bag")
	c = claim(false, true)
	require.NoError(t, c.Finish([]string{out}))
	require.NoError(t, claim(true, true).Release())

	entry := filepath.Join(folder, Folder, "sub/a.mcap.json")
	text, err := os.ReadFile(entry)
	require.NoError(t, err)
	for n := 1; n < len(text)-2; n++ {
		write(entry, string(text[:n]))
		require.NoError(t, claim(false, true).file.Close(), "cut at %d", n)
	}
}
