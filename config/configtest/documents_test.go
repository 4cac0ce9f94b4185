package configtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/config"
)

type Lens struct {
	Width int  `param:"width" group:"Lens" min:"1" max:"4096"`
	Debug bool `param:"debug" flag:"-" group:"Lens"`
}

type options struct {
	Topics  []string      `param:"topics" group:"Topics"`
	All     bool          `param:"all" short:"a" group:"Topics"`
	Storage string        `param:"storage" short:"s" group:"Output" options:"record|mcap"`
	Length  time.Duration `param:"length"`
	Size    config.Size   `param:"size"`
	Kinds   []string      `param:"kinds"`
	Lens
	Camera Lens             `param:"camera"`
	Lenses map[string]*Lens `param:"lenses" group:"Lens"`
}

func (*options) OptionTexts() string {
	return "[options]\ntopics\n\tRecord this topic.\nall\n\tRecord every topic.\nstorage\n\tFormat of the recording.\n" +
		"lenses\n\tOptions of the lens called NAME.\n[Lens]\nwidth\n\tColumns.\ndebug\n\tSay more.\n"
}

func defaults() *options {
	return &options{Topics: []string{"/tf", "/clock"}, Storage: "record", Length: time.Hour, Size: 256 << 20,
		Lens: Lens{Width: 640}}
}

func write(t *testing.T, text string) string {
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

func TestCheckTable(t *testing.T) {
	table := Table(defaults())
	row := "| `all` | `-a, --all` | boolean | `false` | Record every topic. |\n"
	require.Contains(t, table, "### Topics\n\n| parameter | flag | type | default | what it does |\n| --- | --- | --- "+
		"| --- | --- |\n| `topics` | `--topics TEXT` | string array | `/tf,/clock` | Record this topic. |\n"+row)
	for _, want := range []string{
		"| `storage` | `-s, --storage record\\|mcap` | string | `record` | Format of the recording. |\n",
		"| `debug` |  | boolean | `false` | Say more. |\n",
		"Columns. (1 to 4096)",
		"| `lenses.NAME.OPTION` |  | any |  | Options of the lens called NAME. |\n",
	} {
		require.Contains(t, table, want)
	}
	require.NoError(t, CheckTable(write(t, "# Options\n\n## play\n\n"+table+"\nMore.\n"), "play", defaults()))
	section := "# Options\n\n## play\n\n" + table
	err := CheckTable(write(t, strings.Replace(section, row, "", 1)), "play", defaults())
	require.ErrorContains(t, err, "lacks the line\n"+row)
	require.NotContains(t, err.Error(), "topics")
	require.ErrorContains(t, CheckTable(write(t, strings.Replace(section, row, row+row, 1)), "play", defaults()),
		"another order, or more of them")
	require.ErrorContains(t, CheckTable(write(t, section), "record", defaults()), "has no section record")
	require.ErrorContains(t, CheckTable(filepath.Join(t.TempDir(), "missing.md"), "play", defaults()), "no such file")
}

// What is written is what is checked, and text beside it stays.
func TestUpdateTable(t *testing.T) {
	table := Table(defaults())
	const begin, end = "# Options\n\n## other\n\n### Topics\n\n| a |\n\n## play\n\nSee | there.\n\n",
		"\nMore | text.\n\n## last\n\n### Topics\n\n| b |\n"
	group, _, _ := strings.Cut(table, "\n### Output")
	bare := "## play\n\n" + table
	path := write(t, "\n"+strings.Replace(bare, "| `all`", "| `none`", 1))
	t.Setenv("UPDATE_REFERENCE", "1")
	require.NoError(t, CheckTable(path, "play", defaults()))
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "\n"+bare, string(text))
	t.Setenv("UPDATE_REFERENCE", "")
	lines, _, _ := strings.Cut(table, "| `size`")
	for name, have := range map[string]string{
		"another line": strings.Replace(table, "| `all`", "| `none`", 1), "lines": lines, "one group": group,
	} {
		path := write(t, begin+have+end)
		require.Error(t, CheckTable(path, "play", defaults()), name)
		t.Setenv("UPDATE_REFERENCE", "1")
		require.NoError(t, CheckTable(path, "play", defaults()), name)
		t.Setenv("UPDATE_REFERENCE", "")
		require.NoError(t, CheckTable(path, "play", defaults()), name)
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, begin+table+end, string(text), name)
	}
}

const good = `/**:
  ros__parameters:
    topics: [/tf, /clock]
    all: false
    storage: record
    length: 3600.0
    size: 256MiB
    kinds: []
    width: 640
    debug: no
    camera: {width: 0x280, debug: no}
`

func TestCheckFile(t *testing.T) {
	opts := defaults()
	opts.Camera.Width = 640
	require.NoError(t, CheckFile(write(t, good), opts))
	for change, want := range map[[2]string]string{
		{"    all: false\n", ""}:     "parameter all is missing",
		{"width: 640", "width: 641"}: "parameter width is 641, the default is 640",
		{"256MiB", "x"}:              "want a size",
		{"kinds: []", "kind: []"}:    "parameter kind is no option",
	} {
		err := CheckFile(write(t, strings.Replace(good, change[0], change[1], 1)), opts)
		require.ErrorContains(t, err, want)
	}
	require.ErrorContains(t, CheckFile(filepath.Join(t.TempDir(), "missing.yaml"), opts), "no such file")
}

type one struct {
	Topics []string      `param:"topics"`
	Name   string        `param:"name"`
	Length time.Duration `param:"length"`
	Added  []string      `param:"added"`
	Some   bool          `param:"some"`
}

func (*one) OptionTexts() string {
	return "[one]\nadded\n\tAn option that was not there before.\n" +
		"\tIts description is longer than one line of the file may be and is broken here.\n"
}

// Defaults are set and options added with their help; everything else stays.
func TestUpdateFile(t *testing.T) {
	path := write(t, "# Head.\n/**:\n  ros__parameters:\n\n    # ── Options ──\n\n    # Record [these].\n"+
		"    topics: []\n\n    name: \"\"\n\n    # Stop after, in s.\n    length: 60.0\n\n    some: true\n")
	opts := &one{Topics: []string{"/a b", "*"}, Length: time.Minute, Added: []string{"x"}}
	require.Error(t, CheckFile(path, opts))
	t.Setenv("UPDATE_REFERENCE", "1")
	require.NoError(t, CheckFile(path, opts))
	t.Setenv("UPDATE_REFERENCE", "")
	require.NoError(t, CheckFile(path, opts))
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "# Head.\n/**:\n  ros__parameters:\n\n    # ── Options ──\n\n    # Record [these].\n"+
		"    topics: [/a b, '*']\n\n    name: \"\"\n\n    # Stop after, in s.\n    length: 60.0\n\n"+
		"    # An option that was not there before. Its description is longer than one line of the file may be and is "+
		"broken\n    # here.\n    added: [x]\n\n    some: false\n", string(text))
}
