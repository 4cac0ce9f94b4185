package e2e

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/test/e2e/toy"
	"tapedeck/test/internal/process"
	"tapedeck/test/samples/generate"
)

// buildWithToy builds the executables with the format toy and returns their folder. Besides its package, a format needs
// an entry in the list of all formats. If the recorder writes the format, the recorder's list needs an entry, too.
func buildWithToy(t *testing.T) string {
	const list = "codec.Formats{carla.Format, "
	edited := map[string]string{}
	edit := func(name string, pairs ...string) {
		path := filepath.Join(process.Root(), name)
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		for i := 0; i < len(pairs); i += 2 {
			require.Contains(t, string(text), pairs[i])
		}
		edited[path] = strings.NewReplacer(pairs...).Replace(string(text))
	}
	const session = "\t\"tapedeck/codec/format/session\"\n"
	edit("bridge/recordings/all/all.go", session, session+"\t\"tapedeck/test/e2e/toy\"\n", list, list+"toy.Format, ")
	const recorded = "\treturn []*Format{\n"
	edit("nodes/internal/formats/live/live.go", session, session+"\t\"tapedeck/test/e2e/toy\"\n",
		recorded, recorded+"\t\t{Format: toy.Format, Storage: \"toy\", First: \".toy\"},\n")
	return process.BuildEdited(t, edited, "recorder", "player", "converter")
}

// TestNewFormat adds a format. It checks that convert, diff, play, record, info and recover work with it.
func TestNewFormat(t *testing.T) {
	t.Parallel()
	g := isolate(t)
	g.bin = buildWithToy(t)
	original := generate.Path(t, "rosbag2/rosbags_rs/test_bag_mcap")
	topics := topicsOf(t, original)

	require.NotContains(t, g.run(0, "converter", original, "a.toy"), "lost: topics")
	g.run(0, "converter", "diff", original, "a.toy")
	g.run(0, "converter", "a.toy", "b.mcap")
	g.run(0, "converter", "diff", original, "b.mcap")

	recorder := g.start("recorder", append([]string{"-o", "drive", "-s", "toy"}, topics...)...)
	g.run(0, "player", "a.toy", "--wait-for-subscribers", "--rate", "8")
	recorder.Interrupt()
	var selected []string
	for _, topic := range topics {
		selected = append(selected, "--topics", topic)
	}
	g.run(0, "converter", append([]string{"diff", original, "drive.toy"}, selected...)...)
	require.Regexp(t, `Format: +toy`, g.run(0, "converter", "info", "drive.toy"))

	text, err := os.ReadFile(g.path("a.toy"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(g.path("a.toy"), bytes.Replace(text, []byte(`"Data":"AA`), []byte(`"Data":"??`), 1),
		0o666))
	require.Contains(t, g.run(0, "converter", "a.toy", "c.mcap"), "left out what is damaged: read a.toy: line ")
	require.Contains(t, g.run(1, "converter", "a.toy", "d.mcap", "--strict"), "read a.toy: line ")
	require.Contains(t, g.run(0, "converter", "recover", "a.toy", "saved.toy"), "1 damaged place")
	info := func(path string) *codec.Info {
		r, err := codec.Formats{toy.Format}.Open(g.path(path))
		require.NoError(t, err)
		defer r.Close()
		info, err := r.Info()
		require.NoError(t, err)
		return info
	}
	require.True(t, info("saved.toy").Complete)
	require.Equal(t, info("a.toy").MessageCount, info("saved.toy").MessageCount)
}
