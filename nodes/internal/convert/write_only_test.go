package convert

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/config"
	"tapedeck/nodes/internal/formats"
)

// listFormat is for these tests: a file NAME.list, or a folder with a file list.list, that has a line for each message.
var listFormat = codec.Format{
	Name:  "list",
	Named: func(path string) bool { return filepath.Ext(path) == ".list" },
	Create: func(path string, _ codec.CreateOptions) (codec.Writer, error) {
		if filepath.Ext(path) != ".list" {
			if err := os.Mkdir(path, 0o777); err != nil {
				return nil, err
			}
			path = filepath.Join(path, "list.list")
		}
		file, err := os.Create(path)
		return &listWriter{Writer: file, Closer: file}, err
	},
	Stream: func(w io.Writer, _ codec.CreateOptions) (codec.Writer, error) {
		return &listWriter{Writer: w, Closer: io.NopCloser(nil)}, nil
	},
	Accepts: func(c *codec.Channel) error {
		if c.Type != "std_msgs/msg/UInt32" {
			return errors.New("they are no numbers")
		}
		return nil
	},
	Files: []string{".list"},
	Keeps: codec.Keeps{Encodings: []string{codec.EncodingCDR}, PublishTime: true},
}

type listWriter struct {
	codec.NoSplits
	io.Writer
	io.Closer
}

func (w *listWriter) Declare(*codec.Channel) error { return nil }
func (w *listWriter) Sync() error                  { return nil }
func (w *listWriter) Losses() []codec.Loss {
	return []codec.Loss{{Topic: "/n", What: "everything but the number", Messages: 3}}
}

func (w *listWriter) Write(m *codec.Message) error {
	_, err := fmt.Fprintln(w.Writer, m.Data[4])
	return err
}

func TestWriteOnly(t *testing.T) {
	list := append(formats.All(), formats.Format{Format: listFormat})
	in := write(t, "in.mcap", append(numbers(t, channel(t, "/n", "std_msgs/msg/UInt32"), 3), codec.Message{
		Channel: channel(t, "/s", "std_msgs/msg/String"), LogTime: second, Data: make([]byte, 9)})...)
	job := func(output, to string) *Job {
		o := DefaultOptions()
		o.To = to
		return &Job{Formats: list, Inputs: []string{in}, Output: output, Options: o}
	}
	out := filepath.Join(t.TempDir(), "out")
	for _, c := range []struct{ output, to, file string }{
		{out + ".list", "", out + ".list"}, {out, "list", out + "/list.list"},
	} {
		r, err := job(c.output, c.to).Run(t.Context())
		require.NoError(t, err)
		require.Equal(t, "topics that list cannot hold: they are no numbers (1 message on /s)\n"+
			"everything but the number (3 messages on /n)\n", texts(r.Losses))
		text, err := os.ReadFile(c.file)
		require.NoError(t, err)
		require.Equal(t, "0\n1\n2\n", string(text))

		_, err = list.Open(nil, c.output)
		require.ErrorIs(t, err, codec.ErrUnknownFormat)
		require.ErrorContains(t, err, "looks like an output of the format list, which can only be written")
		again := job(c.output, c.to)
		_, err = again.Run(t.Context())
		require.ErrorContains(t, err, "exists; name another output or use --overwrite")
		again.Options.Overwrite = true
		_, err = again.Run(t.Context())
		require.NoError(t, err)
	}

	require.NoError(t, os.WriteFile(out+"/other.txt", nil, 0o666))
	_, err := list.Open(nil, out)
	require.ErrorContains(t, err, "the folder holds no metadata.yaml")
	again := job(out, "list")
	again.Options.Overwrite = true
	_, err = again.Run(t.Context())
	require.ErrorContains(t, err, "holds more than a recording")

	strict := job(filepath.Join(t.TempDir(), "out"), "list")
	strict.Options.Strict = true
	_, err = strict.Run(t.Context())
	require.ErrorContains(t, err, "topics that list cannot hold: they are no numbers")
}

func TestStandardOutput(t *testing.T) {
	list := append(formats.All(), formats.Format{Format: listFormat})
	in := write(t, "in.mcap", numbers(t, channel(t, "/n", "std_msgs/msg/UInt32"), 3)...)
	for _, c := range []struct{ to, want string }{
		{"list", ""},
		{"", "recordings of the format rosbag2 cannot be written to standard output, only those of "},
		{"mcap", "recordings of the format mcap cannot be written to standard output, only those of "},
		{"lerobot", "recordings of the format lerobot cannot be written to standard output, only those of "},
	} {
		t.Run(c.to, func(t *testing.T) {
			t.Chdir(t.TempDir())
			var stdout bytes.Buffer
			o := DefaultOptions()
			o.To = c.to
			job := &Job{Formats: list, Inputs: []string{in}, Output: "-", Options: o, Stdout: &stdout}
			r, err := job.Run(t.Context())
			files, readErr := os.ReadDir(".")
			require.NoError(t, readErr)
			require.Empty(t, files)
			if c.want != "" {
				require.ErrorIs(t, err, config.ErrUsage)
				require.ErrorContains(t, err, c.want)
				return
			}
			require.NoError(t, err)
			require.Equal(t, uint64(3), r.Messages)
			require.Equal(t, 3, strings.Count(stdout.String(), "\n"))
		})
	}
}

// TestTopicWithoutName skips a topic that the format cannot name.
func TestTopicWithoutName(t *testing.T) {
	a, none := channel(t, "/a", "std_msgs/msg/UInt32"), channel(t, "", "std_msgs/msg/UInt32")
	in := write(t, "in.mcap", append(numbers(t, a, 2), numbers(t, none, 3)...)...)
	result, err := run(t, DefaultOptions(), filepath.Join(t.TempDir(), "out.record"), in)
	require.NoError(t, err)
	require.EqualValues(t, 2, result.Messages)
	require.Contains(t, texts(result.Losses), "topics that record cannot hold: a topic without a name (3 messages")
	result, err = run(t, DefaultOptions(), filepath.Join(t.TempDir(), "out.mcap"), in)
	require.NoError(t, err)
	require.EqualValues(t, 5, result.Messages)
	require.Empty(t, result.Losses)
}
