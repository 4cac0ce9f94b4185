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
	return "[options]\ntopics\n\tRecord this topic.\nall\n\tRecord every topic.\n" +
		"storage\n\tFormat of the recording.\n" +
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

// TestUpdateTable checks that a written table passes the check, and that text beside the table does not change.
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

type one struct {
	Topics []string      `param:"topics" group:"Topics"`
	Name   string        `param:"name" group:"Output"`
	Length time.Duration `param:"length" group:"Output" min:"0"`
	Added  []string      `param:"added" group:"Output"`
	Kind   string        `param:"kind" group:"Kinds" options:"a|b"`
	Some   bool          `param:"some"`
	Lens   Lens          `param:"lens"`
}

func (*one) OptionTexts() string {
	return "[one]\ntopics\n\tRecord this TOPIC.\nlength\n\tStop after this long.\n\t0 means never.\nadded\n" +
		"\tAn option that was not there before.\n" +
		"\tIts description is longer than one line of the file may be and is broken here.\nkind\n\tKind.\n"
}

const head = "# Head.\n/**:\n  ros__parameters:\n"

const good = head + `
    # ── Topics ──

    # A note.
    #
    #   of two paragraphs

    # Another note.

    # Record this TOPIC. (a list)
    topics: [/a b, '*']

    # ── Output ──

    name: ""

    # Stop after this long. 0 means never. (at least 0)
    length: 1m

    # An option that was not there before. Its description is longer than one line of the file may be and is broken
    # here. (a list)
    added: [x]

    # ── Kinds: which there are ──

    # Kind. One of a, b.
    kind: a

    # ── Options ──

    some: false

    # ── Lens ──

    # (1 to 4096)
    lens.width: 640

    lens.debug: false
`

func TestCheckFile(t *testing.T) {
	opts := func() *one {
		return &one{Topics: []string{"/a b", "*"}, Length: time.Minute, Added: []string{"x"}, Kind: "a",
			Lens: Lens{Width: 640}}
	}
	require.NoError(t, CheckFile(write(t, good), opts()))
	for change, want := range map[[2]string]string{
		{"    length: 1m\n", ""}:                             "lacks the line\n    length: 1m\n",
		{"    length: 1m\n", "    length: 60\n"}:             "lacks the line\n    length: 1m\n",
		{"Kind. One", "Kind: one"}:                           "lacks the line\n    # Kind. One of a, b.\n",
		{"    # ── Kinds: which there are ──\n\n", ""}:       "lacks the line\n    # ── Kinds ──\n",
		{"    some: false\n", "    some: false\n    b: 1\n"}: "another order, or more of them",
		{"ros__parameters", "parameters"}:                    "the file has no ros__parameters",
	} {
		path := write(t, strings.Replace(good, change[0], change[1], 1))
		err := CheckFile(path, opts())
		require.ErrorContains(t, err, want)
		if strings.HasPrefix(want, "the file") {
			continue
		}
		require.ErrorContains(t, err, "\n'go generate ./nodes/...' writes what the options say")
		t.Setenv("UPDATE_REFERENCE", "1")
		require.NoError(t, CheckFile(path, opts()))
		t.Setenv("UPDATE_REFERENCE", "")
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, strings.Replace(good, ": which there are", "", 1),
			strings.Replace(string(text), ": which there are", "", 1))
	}
	require.ErrorContains(t, CheckFile(filepath.Join(t.TempDir(), "missing.yaml"), opts()), "no such file")
	// The written default means another value.
	odd := opts()
	odd.Topics = []string{"a,b"}
	path := write(t, head)
	t.Setenv("UPDATE_REFERENCE", "1")
	require.ErrorContains(t, CheckFile(path, &struct {
		Length time.Duration `param:"length" min:"1s"`
	}{}), "0s is not allowed, want at least 1s")
	require.NoError(t, CheckFile(path, odd))
}

type flags struct {
	Size  config.Size `param:"size" short:"s" alias:"bytes,size-in-mb:MiB,last:@%ns"`
	All   bool        `param:"all" short:"a"`
	Name  string      `param:"name" alias:"called"`
	Other string      `param:"other" group:"ROS 2"`
	None  string      `param:"none" flag:"-"`
}

func (*flags) OptionTexts() string { return "[flags]\nsize\n\tBytes to keep, at most.\n" }

func TestCheckFlags(t *testing.T) {
	const begin, end = "# Flags\n\n## Play\n\nText `--x`.\n\n| | other | tapedeck |\n| --- | --- | --- |\n" +
		"| a | `--foreign` | ", " |\n| b | `--all` | `--name NAME` (`--called`), a\\|b |\n\n" +
		"## Last\n| | `--y` | `--z` |\n"
	const good = "`-s --size 1GB` (`--bytes`, `--size-in-mb` in MiB, `--last`; more), `-a --all`; `--called` counts"
	require.NoError(t, CheckFlags(write(t, begin+good+end), "Play", &flags{}, true))
	for _, have := range []string{
		"`--size 1GB` (`--bytes`; more), `--all`; `--called` counts",
		"`-x --size 1GB` (`--size-in-mb`, `--bytes`; more), `-b --all`; `--called` counts",
	} {
		path := write(t, begin+have+end)
		require.ErrorContains(t, CheckFlags(path, "Play", &flags{}, true),
			"flags are missing, or have other letters or aliases\n'go generate")
		t.Setenv("UPDATE_REFERENCE", "1")
		require.NoError(t, CheckFlags(path, "Play", &flags{}, true))
		t.Setenv("UPDATE_REFERENCE", "")
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, begin+good+end, string(text))
	}
	path := write(t, begin+"`--sizes`"+end)
	require.ErrorContains(t, CheckFlags(path, "Play", &flags{}, true), "--sizes is no flag")
	const lacking = begin + "`-a --all`" + end
	path = write(t, lacking)
	require.NoError(t, CheckFlags(path, "Play", &flags{}, false))
	require.ErrorContains(t, CheckFlags(path, "Play", &flags{}, true), "flags are missing, or have")
	t.Setenv("UPDATE_REFERENCE", "1")
	require.NoError(t, CheckFlags(path, "Play", &flags{}, true))
	t.Setenv("UPDATE_REFERENCE", "")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	const added = "| bytes to keep, at most | | `-s --size` (`--bytes`, `--size-in-mb` in MiB, `--last`) |\n"
	require.Equal(t, strings.Replace(lacking, "|\n\n## Last", "|\n"+added+"\n## Last", 1), string(text))
	require.ErrorContains(t, CheckFlags(path, "Record", &flags{}, true), "has no section Record")
	require.ErrorContains(t, CheckFlags(filepath.Join(t.TempDir(), "x"), "Play", &flags{}, true), "no such file")
}
