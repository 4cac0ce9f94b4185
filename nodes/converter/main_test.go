package main

import (
	"bytes"
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/format/hdf5/hdf5test"
	"tapedeck/codec/text/human"
	"tapedeck/codec/text/printable"
	"tapedeck/config"
	"tapedeck/config/configtest"
	"tapedeck/nodes/internal/convert"
	"tapedeck/nodes/internal/describe"
	"tapedeck/nodes/internal/diff"
	"tapedeck/nodes/internal/echo"
	"tapedeck/nodes/internal/filter/timerange"
	"tapedeck/nodes/internal/formats"
	"tapedeck/nodes/internal/formats/live"
)

// TestMain runs the converter in the test's executable if a test has spawned it, so that tests see exit codes.
func TestMain(m *testing.M) {
	hdf5test.Main()
	time.Local = time.UTC
	debug.SetGCPercent(500) // else half of the time is spent in garbage collection
	known = append(known, formats.Format{Format: linesFormat})
	if os.Getenv("CONVERTER_TEST_RUN") != "" {
		main()
	}
	os.Exit(m.Run())
}

// execute runs the converter in this process as main does, up to the exit code.
func execute(t *testing.T, args ...string) (stdout, stderr string, code int) {
	var out, errOut bytes.Buffer
	lines := printable.LineWriter(&errOut)
	code = config.Run(t.Context(), newCommand(printable.Writer(&out), lines), args, lines)
	return out.String(), errOut.String(), code
}

// spawn runs the converter in a process of its own.
func spawn(t *testing.T, args ...string) (stdout, stderr string, code int) {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), "CONVERTER_TEST_RUN=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		require.NoError(t, err)
	}
	return out.String(), errOut.String(), cmd.ProcessState.ExitCode()
}

// run runs the converter in this process.
func run(t *testing.T, args ...string) (stdout, stderr string, err error) {
	var out, errOut bytes.Buffer
	err = config.Execute(t.Context(), newCommand(&out, &errOut), args)
	return out.String(), errOut.String(), err
}

var (
	imu  = &codec.Channel{Topic: "/imu", Type: "sensor_msgs/msg/Imu", Encoding: codec.EncodingCDR}
	odom = &codec.Channel{Topic: "/odom", Type: "nav_msgs/msg/Odometry", Encoding: codec.EncodingCDR}
	info = &codec.Channel{Topic: "/info", Type: "std_msgs/msg/String", Encoding: codec.EncodingCDR}
)

// at returns a message with its own CDR payload.
func at(c *codec.Channel, ns int64, text string) codec.Message {
	return codec.Message{Channel: c, LogTime: ns, Data: append([]byte{0, 1, 0, 0}, text...)}
}

// full is a disk without space.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

// Each command fails if its output cannot be written.
func TestFullStandardOutput(t *testing.T) {
	folder := t.TempDir()
	path := func(name string) string { return filepath.Join(folder, name) }
	in, bag := path("a.mcap"), path("bag")
	drive(t, in, 1, 2, 3)
	_, stderr, err := run(t, in, bag)
	require.NoError(t, err, stderr)
	for _, args := range [][]string{
		{"info", in}, {"info", "--json", in}, {"info", "--apollo", in}, {"info", in, in},
		{"echo", in, "/n"}, {"echo", "--json", in, "/n"},
		{"check", in}, {"check", "--json", in}, {"expect", in}, {"expect", in, "-o", path("contract.yaml")},
		{"diff", in, in}, {"diff", "--json", in, in},
		{"report", in, "-o", path("page.html")},
		{"index", in, "-o", path("catalog")}, {"index", in, "-o", path("catalog")},
		{"index", "--json", in, "-o", path("catalog")},
		{"find", path("catalog"), "/n data > 1"}, {"find", "--json", path("catalog"), "/n data > 1"},
		{"recover", in, path("recovered.mcap")}, {"reindex", bag},
		{in, path("b.mcap")}, {in, "--output-folder", path("out"), "--to", "record"},
		{in, "--output-folder", path("out"), "--to", "record", "--json"},
	} {
		var stderr bytes.Buffer
		err := config.Execute(t.Context(), newCommand(printable.Writer(full{}), &stderr), args)
		require.ErrorIs(t, err, syscall.ENOSPC, "%v: %v", args, stderr.String())
	}
}

func TestExitCodes(t *testing.T) {
	a := writeLines(t, "a.lines", []codec.Message{at(imu, 1e9, "abcd"), at(odom, 2e9, "efgh")})
	b := writeLines(t, "b.lines", []codec.Message{at(imu, 1e9, "abcd"), at(odom, 2e9, "efgX")})
	folder := t.TempDir()
	empty := filepath.Join(folder, "empty.record")
	require.NoError(t, os.WriteFile(empty, nil, 0o644))
	pointer := filepath.Join(folder, "pointer.record")
	require.NoError(t,
		os.WriteFile(pointer, []byte("version https://git-lfs.github.com/spec/v1\noid sha256:7bd3\nsize "+
			"96246211\n"), 0o644))
	out := func(name string) string { return filepath.Join(folder, name) }

	tests := map[string]struct {
		args []string
		code int
		says string // in stdout when code is 0, else in stderr
	}{
		"convert":           {[]string{a, out("c.lines")}, 0, "2 messages, 2 topics"},
		"convert to itself": {[]string{a, b, a, "--overwrite"}, 1, "is an input"},
		"existing output":   {[]string{a, b}, 1, "exists; name another output or use --overwrite"},
		"misspelled command": {[]string{"inof", a}, 2,
			`"inof" is neither a command nor a recording; did you mean converter info?`},
		"word of rosbag2": {[]string{"convert", a, out("c.lines")}, 2, "leave it out: converter IN... OUT"},
		"other word":      {[]string{"frobnicate", a}, 2, `"frobnicate" is neither a command nor a recording`},
		"no output":       {[]string{a}, 2, "got 1 path; the usage is: converter IN... OUT"},
		"unknown format by name": {[]string{a, out("c.xyz")}, 2,
			`the name "c.xyz" does not say in which format to write; use --to`},
		"unknown format by option": {[]string{a, out("c.lines"), "--to", "xyz"}, 2,
			"--to xyz is not a format that can be written"},
		"unknown flag": {[]string{a, out("c.lines"), "--nonsense"}, 2, "--nonsense"},
		"bad pattern":  {[]string{a, out("c.lines"), "-t", "("}, 2, "regular expression"},
		"bad time":     {[]string{a, out("c.lines"), "--start", "noon"}, 2, `--start "noon" is no time`},
		"window turned around": {[]string{a, out("c.lines"), "--start", "0.5", "--until", "0.2"}, 2,
			"--until 0.2 is before the beginning at "},
		"bad size": {[]string{a, out("c.lines"), "--chunk-size", "-5"}, 2, "chunk_size"},
		"topic that is not there": {[]string{a, out("c.lines"), "-t", "/nope"}, 1,
			"no topic matches --topics /nope; there are /imu, /odom. Correct it"},
		"no topic is left": {[]string{a, out("c.lines"), "-x", "*"}, 1,
			"no topic is selected; there are /imu, /odom"},
		"no folder for the output":  {[]string{a, out("nowhere/c.lines")}, 1, "no such file or directory"},
		"missing file":              {[]string{"info", out("nope.record")}, 1, "no such file or directory"},
		"folder":                    {[]string{"info", folder}, 1, "the folder holds no"},
		"empty file":                {[]string{"info", empty}, 1, "the file is empty"},
		"LFS pointer":               {[]string{"info", pointer}, 1, "git lfs pull"},
		"recover an LFS pointer":    {[]string{"recover", pointer, out("p.record")}, 1, "git lfs pull"},
		"info":                      {[]string{"info", a}, 0, "Messages:   2"},
		"info of nothing":           {[]string{"info"}, 2, "converter info FILE..."},
		"info of one that fails":    {[]string{"info", a, empty}, 1, "1 of 2 recordings cannot be read"},
		"diff of the same":          {[]string{"diff", a, a}, 0, "identical: 2 topics, 2 messages"},
		"diff of others":            {[]string{"diff", a, b}, 1, "the recordings differ"},
		"diff of what is not there": {[]string{"diff", a, out("nope.record")}, 2, "no such file or directory"},
		"diff of one":               {[]string{"diff", a}, 2, "converter diff A B"},
		"diff of a topic that is not there": {[]string{"diff", a, a, "--exclude", "/nope"}, 2,
			"no topic matches --exclude /nope; there are /imu, /odom."},
		"diff without the other name": {[]string{"diff", a, a, "--ignore-topics", "/nope"}, 2,
			"no topic matches --ignore-topics /nope"},
		"diff of no events":         {[]string{"diff", a, a, "-x", "/tapedeck/events"}, 0, "identical: 2 topics"},
		"diff with a negative time": {[]string{"diff", a, b, "--times=-5ms"}, 2, `--times "-5ms" is not a duration`},
		"diff with a bad time":      {[]string{"diff", a, b, "--times", "soon"}, 2, `--times "soon" is not a duration`},
		"diff with a bad view":      {[]string{"diff", a, b, "--as", "ros1"}, 2, "as"},
		"diff with a bad number": {[]string{"diff", a, b, "--tolerance", "x=much"}, 2,
			`--tolerance "x=much" is not valid; want a number (1e-5)`},
		"diff with a bad field": {[]string{"diff", a, b, "--ignore-fields", "/a:"}, 2,
			`--ignore-fields "/a:" is not valid; want a FIELD`},
		"diff of raw fields": {[]string{"diff", a, b, "--ignore-fields", "x", "--as", "raw"}, 2,
			"do not go with --as raw"},
		"find without clips":    {[]string{"find", folder, "/imu x > 1", "--before", "1s"}, 2, "add --clip FOLDER"},
		"info without CARLA":    {[]string{"info", a, "--style", "0.9.13"}, 2, "--all and --style need --carla"},
		"no union":              {[]string{a, out("c.hdf5"), "--union-window", "5ms"}, 2, "is for --timeline union"},
		"no clamp":              {[]string{a, out("c.hdf5"), "--max-extrapolation", "1s"}, 2, "is for --ends clamp"},
		"diff with a bad limit": {[]string{"diff", a, b, "--limit", "-1"}, 2, "limit"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			os.Remove(out("c.lines"))
			stdout, stderr, code := execute(t, test.args...)
			require.Equal(t, test.code, code, stderr)
			if code == 0 {
				require.Contains(t, stdout, test.says)
				require.Empty(t, stderr)
				return
			}
			require.Contains(t, stderr, test.says)
			if test.args[0] != "info" {
				require.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
			}
			require.NoFileExists(t, out("c.lines"))
			require.NoFileExists(t, out("c.lines.part"))
		})
	}
}

// TestProcess runs the converter in processes, for each kind of exit code.
func TestProcess(t *testing.T) {
	a := writeLines(t, "a.lines", []codec.Message{at(imu, 1e9, "abcd")})
	nowhere, out := filepath.Join(t.TempDir(), "nowhere.lines"), t.TempDir()
	for code, c := range map[int]struct {
		args      []string
		out, says string
	}{
		0:          {[]string{"info", a}, "Messages:   1\n", ""},
		1:          {[]string{"info", nowhere}, "", "converter: "},
		2:          {[]string{"info"}, "", " (see converter info --help)\n"},
		someFailed: {[]string{a, nowhere, "--output-folder", out, "--to", "mcap"}, "a.lines.mcap: 1 message", nowhere},
	} {
		stdout, stderr, got := spawn(t, c.args...)
		require.Equal(t, code, got, stderr)
		require.Contains(t, stdout, c.out)
		require.Contains(t, stderr, c.says)
	}
}

// A recording may have a name that is similar to a command's.
func TestRecordingNamedAsCommand(t *testing.T) {
	in := writeLines(t, "a.lines", []codec.Message{at(imu, 1e9, "abcd")})
	t.Chdir(t.TempDir())
	require.NoError(t, os.Rename(in, "inof"))
	stdout, _, err := run(t, "inof", "out.lines")
	require.NoError(t, err)
	require.Contains(t, stdout, "out.lines: 1 message, ")
}

func TestHuman(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 489010: "477.5 KiB",
		1<<20 - 1: "1.0 MiB", 5 << 40: "5.0 TiB", math.MaxInt64: "8388608.0 TiB"} {
		require.Equal(t, want, human.Bytes(n))
	}
	require.Equal(t, "1627031535.114943571", human.Seconds(1627031535114943571))
	require.Equal(t, "-0.000000001", human.Seconds(-1))
	require.Equal(t, "-9223372036.854775808", human.Seconds(math.MinInt64))
	require.Equal(t, "/imu", human.Printable("/imu"))
	require.Equal(t, `"/\x1b[2J"`, human.Printable("/\x1b[2J"))
	require.Equal(t, time.Duration(math.MaxInt64), describe.Span(&codec.Info{StartTime: math.MinInt64, EndTime: math.MaxInt64}))
	require.Zero(t, describe.Span(&codec.Info{StartTime: 5, EndTime: 4}))
}

func TestEveryOptionIsDocumented(t *testing.T) {
	require.NoError(t, configtest.CheckFile("../../config/converter.yaml", defaultConvertOptions()))
	require.NoError(t, configtest.CheckFlags("../../docs/reference/comparison.md", "Convert", defaultConvertOptions(),
		false))
	for command, o := range map[string]any{
		"converter IN… OUT": defaultConvertOptions(),
		"converter info":    defaultInfoOptions(), "converter report": defaultReportOptions(),
		"converter index": &indexOptions{}, "converter find": defaultFindOptions(),
		"converter echo": defaultEchoOptions(), "converter check": &checkOptions{},
		"converter expect": &expectOptions{Tolerance: 0.2}, "converter recover": &recoverOptions{},
		"converter diff": &diffOptions{Options: diff.DefaultOptions()},
	} {
		require.NoError(t, configtest.CheckTable("../../docs/reference/options.md", command, o))
	}
}

func TestEveryOptionHasText(t *testing.T) {
	require.Empty(t, config.TextErrors(&convertOptions{}, &findOptions{}, &recoverOptions{}, &diffOptions{},
		&reportOptions{}, &indexOptions{}, &infoOptions{}, &checkOptions{}, &expectOptions{}))
	require.Empty(t, config.TextErrors(&convert.Options{}))
	require.Empty(t, config.TextErrors(&formats.Options{}, &formats.ReadOptions{}, &formats.InfoOptions{}))
	require.Empty(t, config.TextErrors(&live.CARLAOptions{}, &live.ChunkOptions{}))
	require.Empty(t, config.TextErrors(&diff.Options{}))
	require.Empty(t, config.TextErrors(&echo.Options{}))
	require.Empty(t, config.TextErrors(&timerange.Range{}))
}
