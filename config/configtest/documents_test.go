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
	Width int  `param:"width" group:"Lens" min:"1" max:"4096" help:"columns"`
	Debug bool `param:"debug" flag:"-" group:"Lens" help:"say more"`
}

type options struct {
	Topics  []string      `param:"topics" group:"Topics" help:"record this topic"`
	All     bool          `param:"all" short:"a" group:"Topics" help:"record every topic"`
	Storage string        `param:"storage" short:"s" group:"Output" options:"record|mcap" help:"format of the recording"`
	Length  time.Duration `param:"length" help:"stop after"`
	Size    config.Size   `param:"size" help:"of memory"`
	Kinds   []string      `param:"kinds"`
	Lens
	Camera Lens             `param:"camera"`
	Lenses map[string]*Lens `param:"lenses" group:"Lens" help:"of the lens called NAME"`
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
	row := "| `all` | `-a, --all` | boolean | `false` | record every topic |\n"
	require.Contains(t, table, "### Topics\n\n| parameter | flag | type | default | what it does |\n| --- | --- | --- "+
		"| --- | --- |\n| `topics` | `--topics TEXT` | string array | `/tf,/clock` | record this topic |\n"+row)
	for _, want := range []string{
		"| `storage` | `-s, --storage record\\|mcap` | string | `record` | format of the recording |\n",
		"| `debug` |  | boolean | `false` | say more |\n",
		"columns (1 to 4096)",
		"| `lenses.NAME.OPTION` |  | any |  | of the lens called NAME |\n",
	} {
		require.Contains(t, table, want)
	}
	require.NoError(t, CheckTable(write(t, "# Options\n\n"+table+"\nMore.\n"), defaults()))
	err := CheckTable(write(t, strings.Replace(table, row, "", 1)), defaults())
	require.ErrorContains(t, err, "lacks the line\n"+row)
	require.NotContains(t, err.Error(), "topics")
	require.ErrorContains(t, CheckTable(write(t, strings.Replace(table, row, row+row, 1)), defaults()),
		"another order, or more of them")
	require.ErrorContains(t, CheckTable(filepath.Join(t.TempDir(), "missing.md"), defaults()), "no such file")
}

func TestCheckFile(t *testing.T) {
	good := `/**:
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
