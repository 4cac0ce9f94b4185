package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/msgs/std_msgs"
	"tapedeck/test/samples/generate"
)

var (
	onePlural = regexp.MustCompile(`\b1 [a-z]+s\b`)
	verbs     = regexp.MustCompile(`\b1 (is|was|has|differs)\b`)
	libraries = regexp.MustCompile(`proto:|sql:|SQL logic|%!|<nil>|runtime error|strconv\.|EOF$|\bEOF\b`)
	word      = regexp.MustCompile(`[A-Za-z]+|[^A-Za-z]+`)
	// apart matches lines that are not checked: lines in the form of Apollo's tool, and lines with values.
	apart = regexp.MustCompile(`^ +/.* messages: |[A-Za-z_.]+ is .* in A, `)
)

// wrong returns a word that a report must not contain, "" if there is none.
func wrong(report string) string {
	for line := range strings.Lines(report) {
		line = strings.TrimSpace(line)
		if apart.MatchString(line) {
			continue
		}
		if m := onePlural.FindString(verbs.ReplaceAllString(line, "")); m != "" {
			return fmt.Sprintf("%q: %s", m, line)
		}
		if m := libraries.FindString(line); m != "" {
			return fmt.Sprintf("%q: %s", m, line)
		}
		words := word.FindAllString(line, -1)
		for i := 2; i < len(words); i++ {
			if words[i] == words[i-2] && words[i-1] == " " {
				return fmt.Sprintf("%q twice: %s", words[i], line)
			}
		}
		if said := twice(line); said != "" {
			return fmt.Sprintf("%q twice: %s", said, line)
		}
	}
	return ""
}

// twice returns a phrase between colons that an error has more than once.
func twice(line string) string {
	seen := map[string]bool{}
	for _, part := range strings.FieldsFunc(line, func(r rune) bool { return r == ';' || r == ':' }) {
		part = strings.TrimSpace(part)
		if strings.Contains(part, " ") && seen[part] {
			return part
		}
		seen[part] = true
	}
	return ""
}

func TestWrongWords(t *testing.T) {
	for _, report := range []string{"1 messages", "read: proto:\u00a0x", "the the file", "bad page: bad page",
		"x 1 bytes"} {
		require.NotEmpty(t, wrong(report), report)
	}
	for _, report := range []string{"1 message", "message 1 differs", "11 messages", "a: b: c", "that, that is"} {
		require.Empty(t, wrong(report), report)
	}
}

// damages returns damaged copies of a file.
func damages(data []byte, random *rand.Rand, n int) (all [][]byte) {
	for i := range n {
		b := bytes.Clone(data)
		at := random.IntN(len(b))
		switch i % 4 {
		case 0:
			b = b[:at]
		case 1:
			clear(b[at:min(at+48, len(b))])
		case 2:
			for range 6 {
				b[random.IntN(len(b))] ^= 1 << random.IntN(8)
			}
		case 3:
			b[at] = byte(random.Uint32())
		}
		all = append(all, b)
	}
	return all
}

// Reports about small and damaged recordings of all formats use the singular for one thing, name no library, and repeat
// no phrase.
func TestWordsOfReports(t *testing.T) {
	lines := writeLines(t, "one.lines", append(poses(t)[:1], typed(t, "/text", 2e9, &std_msgs.String{Data: "x"})))
	var parts []codec.Message // a message, and one with more bytes, each on its own topic
	whole := append(poses(t)[0].Data, 0)
	for n := range len(whole) + 1 {
		c := *poseChannel
		c.Topic = fmt.Sprintf("/pose/part_%d", n)
		parts = append(parts, codec.Message{Channel: &c, LogTime: int64(n + 1), Data: whole[:n]})
	}
	cut := writeLines(t, "cut.lines", parts)
	session := generate.Path(t, "session/easyteleop_reference/temp/20261121_082214")
	for name, from := range map[string]struct {
		in   string
		args []string
	}{
		"one.record": {lines, nil}, "one.mcap": {lines, nil}, "one.bag": {lines, nil},
		"proto.record": {lines, []string{"--encoding", "protobuf"}}, "cut.mcap": {cut, nil},
		"bag":     {lines, []string{"--to", "rosbag2"}},
		"db":      {lines, []string{"--to", "rosbag2", "--storage", "sqlite3"}},
		"a.log":   {carlaLog(t), nil},
		"session": {session, []string{"--to", "session", "--start", "0", "--end", "0.5"}},
		"x.hdf5":  {session, []string{"--end", "0.5"}},
		"lerobot": {session, []string{"--to", "lerobot", "--timeline", "fixed:5", "--end", "0.5"}},
	} {
		few := []string{"one.mcap", "one.record", "cut.mcap", "a.log", "session"}
		if testing.Short() && !slices.Contains(few, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			check := func(args ...string) {
				stdout, stderr, err := run(t, args...)
				report := stdout + stderr
				if err != nil {
					report += err.Error()
				}
				require.Empty(t, wrong(report), args)
			}
			whole := filepath.Join(folder, name)
			_, _, err := run(t, append([]string{from.in, whole}, from.args...)...)
			require.NoError(t, err)
			n := 4 // each kind of damage
			if name == "x.hdf5" {
				n = 2 // each reading of it starts a process
			}
			if testing.Short() {
				n = 0
				if name == "one.mcap" {
					n = 4
				}
			}
			random := rand.New(rand.NewPCG(1, 1))
			inspect := func(path string) {
				out := t.TempDir()
				check("info", path)
				check("info", "-v", path)
				check("diff", whole, path)
				check("recover", path, filepath.Join(out, name))
				check(path, filepath.Join(out, "x.mcap"))
				check(path, filepath.Join(out, "x.bag"))
				check(path, filepath.Join(out, "x.record"), "--encoding", "protobuf")
				check("echo", path, "/pose")
				check("echo", path, "/pose/part_1")
			}
			inspect(whole)
			var files []string
			require.NoError(t, filepath.Walk(whole, func(path string, info os.FileInfo, err error) error {
				if err == nil && !info.IsDir() && (info.Size() > 0) && len(files) < 8 {
					files = append(files, path)
				}
				return err
			}))
			for _, file := range files {
				data, err := os.ReadFile(file)
				require.NoError(t, err)
				for i, damaged := range damages(data, random, min(n, max(n/len(files), 1))) {
					copied := filepath.Join(folder, fmt.Sprint("damaged", i), name)
					require.NoError(t, os.RemoveAll(filepath.Dir(copied)))
					require.NoError(t, os.MkdirAll(filepath.Dir(copied), 0o755))
					relative, err := filepath.Rel(whole, file)
					require.NoError(t, err)
					if relative != "." {
						require.NoError(t, os.CopyFS(copied, os.DirFS(whole)))
					}
					require.NoError(t, os.WriteFile(filepath.Join(copied, relative), damaged, 0o644))
					inspect(copied)
				}
			}
		})
	}
}

// A warning names topics to which --remap gives the name of a topic with another type.
func TestRemapOntoAnotherType(t *testing.T) {
	dir := t.TempDir()
	drive(t, filepath.Join(dir, "a.mcap"), 1, 2) // /n and /map
	for rule, want := range map[string]string{
		"/n:=/map": "warning: --remap: /map has messages of several types: std_msgs/msg/Empty, std_msgs/msg/Float64\n",
		"/n:=/m":   "",
	} {
		_, stderr, err := run(t, filepath.Join(dir, "a.mcap"), filepath.Join(dir, "b.mcap"), "--remap", rule,
			"--overwrite")
		require.NoError(t, err)
		require.Equal(t, want, stderr)
	}
}
