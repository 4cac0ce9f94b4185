package manifest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/store/storetest"
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
		state, err := Stat(nil, in)
		require.NoError(t, err)
		return Take(nil, folder, "sub/a.mcap", Conversion{Input: state, Options: options}, false)
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
	require.ErrorIs(t, err, codec.ErrLocked)
	require.NoError(t, c.entry.Close(), "as if the process was killed")
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
		require.NoError(t, claim(false, true).entry.Close(), "cut at %d", n)
	}
}

// TestLongEntry keeps an entry of more than a megabyte, such as the entry of a conversion to ten thousand files.
func TestLongEntry(t *testing.T) {
	folder := t.TempDir()
	out := filepath.Join(folder, "a.mcap")
	want := Conversion{Options: map[string]string{"topics": strings.Repeat("/a ", 1<<20)}}
	c, err := Take(nil, folder, "a.mcap", want, false)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(out, []byte("whole"), 0o666))
	require.NoError(t, c.Finish([]string{out}))
	c, err = Take(nil, folder, "a.mcap", want, false)
	require.NoError(t, err)
	require.True(t, c.Done)
	require.NoError(t, c.Release())
}

// TestStore keeps the manifest and the outputs in a store.
func TestStore(t *testing.T) {
	s := storetest.New(t)
	files := s.Files()
	folder, out := s.URL("new"), s.URL("new/sub/a.mcap")
	s.Put("logs/a.bag", []byte("bag"))
	claim := func(done, ours bool) *Claim {
		state, err := Stat(files, s.URL("logs/a.bag"))
		require.NoError(t, err)
		require.NotEmpty(t, state.ETag)
		c, err := Take(files, folder, "sub/a.mcap", Conversion{Input: state}, false)
		require.NoError(t, err)
		require.Equal(t, []bool{done, ours}, []bool{c.Done, c.Ours})
		return c
	}
	s.Put("new/sub/a.mcap", []byte("of somebody else"))
	require.NoError(t, claim(false, false).Release())
	require.NoError(t, claim(false, false).Release(), "a failure makes nothing ours")
	require.NoError(t, files.Remove(t.Context(), out))
	claim(false, false) // as if the process was killed
	s.Put("new/sub/a.mcap", []byte("whole"))
	require.NoError(t, claim(false, true).Finish([]string{out}))
	require.NoError(t, claim(true, true).Release())
	s.Put("logs/a.bag", []byte("gab")) // equal size, other content
	require.NoError(t, claim(false, true).Finish([]string{out}))
	s.Put("logs/a.bag", []byte("gab")) // other time, equal content
	require.NoError(t, claim(true, true).Release())
	s.Put("new/sub/a.mcap", []byte("cut"))
	_, err := Take(files, folder, "sub/a.mcap", Conversion{}, false)
	require.ErrorContains(t, err, out+" is not as the conversion left it")
	require.NoError(t, files.Remove(t.Context(), out))
	require.NoError(t, claim(false, true).Release())
	require.Equal(t, []string{"logs/a.bag", "new/" + Folder + "/sub/a.mcap.json"}, s.Keys())
}

// Folders with links are noted, and links are followed to inputs.
func TestLinks(t *testing.T) {
	folder := t.TempDir()
	c, err := Take(nil, folder, "out", Conversion{}, false)
	require.NoError(t, err)
	out := filepath.Join(folder, "out")
	require.NoError(t, os.MkdirAll(filepath.Join(out, "images"), 0o777))
	image, link := filepath.Join(out, "images/0.png"), filepath.Join(folder, "link")
	require.NoError(t, os.WriteFile(image, []byte("four"), 0o666))
	require.NoError(t, os.Symlink("0.png", filepath.Join(out, "images/1.png")))
	require.NoError(t, os.Symlink("nowhere", filepath.Join(out, "images/2.png")))
	require.NoError(t, c.Finish([]string{out}))
	c, err = Take(nil, folder, "out", Conversion{}, false)
	require.NoError(t, err)
	require.True(t, c.Done)
	require.NoError(t, c.Release())

	require.NoError(t, os.Symlink(image, link))
	state, err := Stat(nil, link)
	require.NoError(t, err)
	require.Equal(t, []any{"link", int64(4)}, []any{state.Name, state.Size})
	require.NoError(t, os.Remove(link))
	require.NoError(t, os.Symlink(filepath.Dir(image), link))
	state, err = Stat(nil, link)
	require.NoError(t, err)
	require.Equal(t, int64(4+4+len("nowhere")), state.Size)
	several, err := Stat(nil, "series", image, image)
	require.NoError(t, err)
	require.Equal(t, []any{"series", int64(8)}, []any{several.Name, several.Size})
	again := several
	require.True(t, several.Equal(again))
	require.False(t, several.Equal(state))
	_, err = Stat(nil, filepath.Join(folder, "missing"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

// An entry that cannot be replaced, for example on a full disk, is not lost.
func TestEntryThatCannotBeReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "entry")
	require.NoError(t, os.WriteFile(path, []byte("before"), 0o666))
	file, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND, 0) // WriteAt fails
	require.NoError(t, err)
	defer file.Close()
	require.Error(t, fileEntry{file}.replace([]byte("after")))
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "before", string(text))
}
