package config

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
)

// execute runs a recorder with the options and a subcommand, and returns the Input of the command that ran.
func execute(t *testing.T, opts any, argv ...string) (*Input, error) {
	var got *Input
	keep := func(_ context.Context, in *Input) error {
		got = in
		return nil
	}
	root := New("recorder [topics...]", "record topics", "", opts, keep)
	root.AddCommand(New("trigger", "fire the snapshot", "", &struct {
		Timeout time.Duration `param:"timeout"`
	}{}, keep))
	err := Execute(context.Background(), root, argv)
	if err == nil {
		require.NotNil(t, got)
	}
	return got, err
}

// TestNoArgumentsButROS checks that completeFlags never returns nil. Cobra would replace nil by the arguments of the
// process, with --ros-args.
func TestNoArgumentsButROS(t *testing.T) {
	for _, argv := range [][]string{nil, {}} {
		args, err := (&commandLine{}).completeFlags(New("recorder", "", "", nil, nil).Flags(), argv)
		require.NoError(t, err)
		require.NotNil(t, args)
	}
}

// TestPrecedence checks which source of an option wins.
func TestPrecedence(t *testing.T) {
	config := write(t, "/**:\n  ros__parameters:\n    rate: 2\n")
	file1 := write(t, "/**:\n  ros__parameters:\n    rate: 5\n")
	file2 := write(t, "recorder:\n  ros__parameters:\n    rate: 6\n")
	for _, c := range []struct {
		name string
		env  map[string]string
		argv []string
		want float64
	}{
		{"default", nil, nil, 1},
		{"file", nil, []string{"--config", config}, 2},
		{"environment", map[string]string{"TAPEDECK_RATE": "3"}, []string{"--config", config}, 3},
		{"empty environment", map[string]string{"TAPEDECK_RATE": ""}, []string{"--config", config}, 2},
		{"environment of the node", map[string]string{"TAPEDECK_RATE": "3", "TAPEDECK_RECORDER_RATE": "4"}, nil, 4},
		{"parameter file", map[string]string{"TAPEDECK_RATE": "3"}, []string{"--ros-args", "--params-file", file1}, 5},
		{"second parameter file", nil, []string{"--ros-args", "--params-file", file1, "--params-file", file2}, 6},
		{"parameter for the node renamed away", nil,
			[]string{"--ros-args", "--params-file", file1, "--params-file", file2, "-r", "__node:=x"}, 5},
		{"-p", nil, []string{"--ros-args", "--params-file", file1, "-p", "rate:=7"}, 7},
		{"-p before the file", nil, []string{"--ros-args", "-p", "rate:=7", "--params-file", file1}, 5},
		{"-p for another node", nil, []string{"--ros-args", "-p", "rate:=7", "-p", "player:rate:=8", "-p",
			"recorder:rate:=9"}, 9},
		{"-p null", nil, []string{"--ros-args", "-p", "rate:=7", "-p", "rate:=null"}, 7},
		{"flag", nil, []string{"--rate", "10", "--ros-args", "-p", "rate:=7"}, 10},
		{"flag twice", nil, []string{"--rate", "10", "--rate=11"}, 11},
	} {
		t.Run(c.name, func(t *testing.T) {
			for name, value := range c.env {
				t.Setenv(name, value)
			}
			opts := defaults()
			in, err := execute(t, opts, c.argv...)
			require.NoError(t, err)
			require.Equal(t, c.want, opts.Rate)
			require.Empty(t, in.Warnings)
		})
	}
}

// TestFlags checks the options and the positional arguments of command lines.
func TestFlags(t *testing.T) {
	for _, c := range []struct {
		argv   string
		change func(*options)
		args   []string
	}{
		{"/a -ad5 /b", func(o *options) { o.All, o.MaxDuration = true, 5*time.Second }, []string{"/a", "/b"}},
		{"--all=false --max_duration 5s", func(o *options) { o.MaxDuration = 5 * time.Second }, []string{}},
		{"--max-bag-duration 5s -- -x", func(o *options) { o.MaxDuration = 5 * time.Second }, []string{"-x"}},
		{"--duration 5s --max-cache-size 1GB", func(o *options) { o.MaxDuration, o.QueueSize = 5*time.Second, 1e9 },
			[]string{}},
		{"--topics a,b --topics [c] --camera-width 5",
			func(o *options) { o.Topics, o.Camera.Width = []string{"a,b", "[c]"}, 5 }, []string{}},
		{"--ros-args -p topics:=[a,b] -p all:=True -p camera.debug:=on",
			func(o *options) { o.Topics, o.All, o.Camera.Debug = []string{"a", "b"}, true, true }, []string{}},
		{"--ros-args -p topics:=a -p output:=2024 -p max_duration:=0.5 -p queue_size:=2000000 -p seed:=3 -p count:=4 " +
			"--",
			func(o *options) {
				o.Topics, o.Output, o.MaxDuration, o.QueueSize, o.Seed, o.Count = []string{"a"}, "2024", time.Second/2,
					2e6, 3, 4
			}, []string{}},
		{"--ros-args -p topics:=[]", func(o *options) { o.Topics = []string{} }, []string{}},
	} {
		t.Run(c.argv, func(t *testing.T) {
			opts, want := defaults(), defaults()
			c.change(want)
			in, err := execute(t, opts, strings.Fields(c.argv)...)
			require.NoError(t, err)
			require.Equal(t, want, opts)
			require.Equal(t, c.args, in.Args)
		})
	}
}

func TestFlagsWithoutValue(t *testing.T) {
	for argv, want := range map[string]float64{
		"": 0, "--clock": 40, "--clock a": 40, "--clock 100 a": 100, "--clock=5 a": 5, "a --clock": 40,
		"--clock --all": 40,
		"-- --clock":    0,
		"--clock -1 a":  -1,
	} {
		opts := &struct {
			Clock float64 `param:"clock" bare:"40"`
			All   bool    `param:"all"`
		}{}
		in, err := execute(t, opts, strings.Fields(argv)...)
		require.NoError(t, err, argv)
		require.Equal(t, want, opts.Clock, argv)
		if strings.HasSuffix(" "+argv, " a") {
			require.Equal(t, []string{"a"}, in.Args, argv)
		}
	}
	for argv, want := range map[string]string{
		"info": "", "info --blocked a": "30,10", "info --blocked 5,1.5 a": "5,1.5", "info --blocked=5 a": "5",
		"info a --blocked": "30,10", "info --blocked . a": "30,10",
	} {
		opts := &struct {
			Blocked string `param:"blocked" bare:"30,10" pattern:"[0-9][0-9.,]*" value:"TIME,DISTANCE"`
		}{}
		root := New("converter", "", "", nil, nil)
		var got []string
		root.AddCommand(New("info", "", "", opts, func(_ context.Context, in *Input) error {
			got = in.Args
			return nil
		}))
		require.NoError(t, Execute(context.Background(), root, strings.Fields(argv)), argv)
		require.Equal(t, want, opts.Blocked, argv)
		if strings.HasSuffix(argv, " . a") {
			require.Equal(t, []string{".", "a"}, got)
		}
		err := Execute(context.Background(), root, []string{"info", "--blocked=x"})
		require.ErrorIs(t, err, ErrUsage)
		require.ErrorContains(t, err, `parameter blocked from flag --blocked: "x" is not allowed, want TIME,DISTANCE`)
	}
	root := New("player", "", "", &struct {
		Clock float64 `param:"clock" bare:"40"`
	}{}, nil)
	var out bytes.Buffer
	root.SetOut(&out)
	require.NoError(t, Execute(context.Background(), root, []string{"--help"}))
	require.Contains(t, out.String(), "--clock [X]   (40 without a value)")
}

func TestEnvironmentList(t *testing.T) {
	for text, want := range map[string][]string{"[a, 'b c']": {"a", "b c"}, "a b": {"a b"}, "[]": {}} {
		t.Setenv("TAPEDECK_TOPICS", text)
		opts := defaults()
		_, err := execute(t, opts)
		require.NoError(t, err)
		require.Equal(t, want, opts.Topics)
	}
	t.Setenv("TAPEDECK_TOPICS", "[a")
	_, err := execute(t, defaults())
	require.ErrorContains(t, err, "TAPEDECK_TOPICS=[a: yaml:")
	t.Setenv("TAPEDECK_TOPICS", "[a]")
	t.Setenv("TAPEDECK_CAMERA_WIDTH", "no")
	_, err = execute(t, defaults())
	require.ErrorContains(t, err, "parameter camera.width from TAPEDECK_CAMERA_WIDTH: \"no\" is not allowed")
}

func TestAliases(t *testing.T) {
	type aliased struct {
		Size  Size     `param:"max_size" short:"b" alias:"size:MiB,bytes" min:"64kB" zero:"true"`
		Pause bool     `param:"paused" alias:"pause"`
		Not   []string `param:"exclude" alias:"black-channel"`
	}
	for argv, want := range map[string]aliased{
		"--size 1024":                     {Size: 1 << 30},
		"--size=2 --pause":                {Size: 2 << 20, Pause: true},
		"--size 1GB":                      {Size: 1e9},
		"--bytes 70000":                   {Size: 70000},
		"-b 64000 --size 0":               {},
		"--exclude /a --black_channel /b": {Not: []string{"/a", "/b"}},
		"--max-size 1 --max_size 65000":   {Size: 65000},
	} {
		var got aliased
		_, err := execute(t, &got, strings.Fields(argv)...)
		require.NoError(t, err, argv)
		require.Equal(t, want, got, argv)
	}
	_, err := execute(t, &aliased{}, "--size", "0.01")
	require.ErrorContains(t, err, "parameter max_size from flag --size: ")
	require.ErrorContains(t, err, " is not allowed, want 0, or at least 64kB")

	for argv, want := range map[string]string{
		"--size 1":            "--size, exclude: give one of them",
		"--bytes 1MB --pause": "--bytes, exclude: give one of them",
		"--black-channel /a":  "max_size, --black-channel: give one of them",
		"--pause":             "max_size, exclude: give one of them",
	} {
		root := New("recorder", "", "", &aliased{}, func(context.Context, *Input) error {
			return Usagef("max_size, exclude: give one of them: %w", io.ErrUnexpectedEOF)
		})
		err := Execute(t.Context(), root, strings.Fields(argv))
		require.ErrorIs(t, err, ErrUsage)
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
		require.EqualError(t, err, want+": unexpected EOF")
	}
	root := New("recorder", "", "", &aliased{}, func(context.Context, *Input) error {
		return fmt.Errorf("nothing matches --exclude /a: %w", io.ErrUnexpectedEOF)
	})
	err = Execute(t.Context(), root, []string{"--black-channel", "/a"})
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.EqualError(t, err, "nothing matches --black-channel /a: unexpected EOF")
}

// node is a node of the graph.
type node struct {
	All bool `param:"all"`
}

func (node) OnGraph() {}

func TestFlagsOfROS(t *testing.T) {
	in, err := execute(t, &node{}, "--log-level", "DEBUG", "--use-sim-time")
	require.NoError(t, err)
	require.Equal(t, "debug", in.ROS.LogLevel)
	require.Equal(t, map[string]any{"use_sim_time": true}, in.Extra)
	require.Empty(t, in.Warnings)
	_, err = execute(t, &node{}, "--log-level", "loud")
	require.ErrorIs(t, err, ErrUsage)
	require.ErrorContains(t, err, "--log-level loud: want [logger:=]level")
	_, err = execute(t, defaults(), "--use-sim-time")
	require.ErrorContains(t, err, "unknown flag: --use-sim-time")
}

func TestHint(t *testing.T) {
	root := New("recorder", "", "", defaults(), nil)
	root.AddCommand(New("trigger", "", "", nil, nil))
	Hint(root, map[string]string{"storage-config-file": "use --storage", "j": "use --rate",
		"trigger y": "use -z", "* q": "leave it out", "* y": "no"}, func(name string, flags []string) string {
		i := slices.IndexFunc(flags, func(flag string) bool { return strings.HasPrefix(flag, name) })
		if i < 0 {
			return ""
		}
		return "; did you mean " + flags[i] + "?"
	})
	for argv, want := range map[string]string{
		"--storage-config-file x": "unknown flag: --storage-config-file: use --storage",
		"--storage_config_file=x": "unknown flag: --storage_config_file: use --storage",
		"-aj":                     "unknown shorthand flag: 'j' in -j: use --rate",
		"--other":                 "unknown flag: --other",
		"--max_dur 5":             "unknown flag: --max_dur; did you mean --max-duration?",
		"--storag x":              "unknown flag: --storag; did you mean --storage?",
		"trigger --storag x":      "unknown flag: --storag",
		"trigger -y":              "unknown shorthand flag: 'y' in -y: use -z",
		"trigger -q":              "unknown shorthand flag: 'q' in -q: leave it out",
		"trigger -j":              "unknown shorthand flag: 'j' in -j",
		"trigger -s mcap":         `unknown shorthand flag: 's' in -s: only recorder without "trigger" has it`,
		"trigger --storage mcap":  `unknown flag: --storage: only recorder without "trigger" has it`,
	} {
		err := Execute(t.Context(), root, strings.Fields(argv))
		require.ErrorIs(t, err, ErrUsage)
		require.EqualError(t, err, want)
	}
}

func TestUsageErrors(t *testing.T) {
	t.Chdir(t.TempDir())
	const file, broken = "file.yaml", "broken.yaml"
	require.NoError(t, os.WriteFile(file, []byte("/**:\n  ros__parameters:\n    storage: zip\n    rate: [1]\n"), 0o600))
	require.NoError(t, os.WriteFile(broken, []byte("rate: 1\n"), 0o600))
	for _, c := range []struct{ argv, want string }{
		{"--nonsense", "unknown flag: --nonsense"},
		{"-o", "flag needs an argument: 'o' in -o"},
		{"trigger --all", "unknown flag: --all"},
		{"--max-bag-duration x", `parameter max_duration from flag --max-bag-duration: "x" is not allowed, want a ` +
			`duration`},
		{"--config " + file, `parameter storage from ` + file + ` line 3: "zip" is not allowed, want record or mcap`},
		{"-s mcap --ros-args --params-file " + file,
			`parameter rate from ` + file + ` line 4 is a list, want one value`},
		{"--config " + broken, broken + " line 1: want node names"},
		{"--config missing.yaml", "open missing.yaml: no such file"},
		{"--ros-args --params-file missing.yaml", "open missing.yaml: no such file"},
		{"--ros-args -p rate:=fast", `parameter rate from -p: "fast" is not allowed, want a number`},
		{"--ros-args -p rate:={a:1}", "-p rate:={a:1}: want a value or a list of values"},
		{"--ros-args -p output:=*x", "-p output:=*x: yaml:"},
		{"--ros-args -r __node:=a/b", "is not a node name"},
		{"--ros-args --nonsense", "--ros-args: unknown flag: --nonsense"},
	} {
		t.Run(c.argv, func(t *testing.T) {
			opts := defaults()
			_, err := execute(t, opts, strings.Split(c.argv, " ")...)
			require.ErrorIs(t, err, ErrUsage)
			require.ErrorContains(t, err, c.want)
			require.Equal(t, defaults(), opts)
		})
	}
}

// TestExtra checks the node's name, parameters that are not options, and warnings.
func TestExtra(t *testing.T) {
	file := write(t, "/robot/rec:\n  ros__parameters:\n    use_sim_time: true\n    max_duraton: 1.5\n    "+
		"qos_overrides: {/tf: {subscription: {depth: 5}}}\nrec:\n  ros__parameters: {rate: 3}\n")
	opts := defaults()
	in, err := execute(t, opts, "--ros-args", "-r", "__node:=rec", "-r", "__ns:=/robot", "--params-file", file, "-p",
		"other:=[1, 2]")
	require.NoError(t, err)
	require.Equal(t, "rec", in.Node)
	require.Equal(t, "/robot", in.Namespace)
	require.Equal(t, map[string]any{"use_sim_time": true, "max_duraton": 1.5,
		"qos_overrides./tf.subscription.depth": int64(5), "other": []int64{1, 2}}, in.Extra)
	require.Equal(t, []string{
		file + " line 7: section for /rec ignored: the node is /robot/rec",
		"parameter max_duraton from " + file + " line 4 is not one that recorder knows",
		"parameter other from -p is not one that recorder knows",
	}, in.Warnings)
	require.Equal(t, defaults(), opts)
}

// TestWarningsBehindUsageErrors checks that a usage error is followed by warnings of unknown parameters: a parameter
// may be missing because its name was misspelled.
func TestWarningsBehindUsageErrors(t *testing.T) {
	failing := func(err error) *cobra.Command {
		return New("recorder", "", "", defaults(), func(context.Context, *Input) error { return err })
	}
	argv := []string{"--ros-args", "-p", "topic:=/a"}
	err := Execute(context.Background(), failing(Usagef("name a topic")), argv)
	require.ErrorIs(t, err, ErrUsage)
	require.EqualError(t, err, "name a topic; parameter topic from -p is not one that recorder knows")
	require.EqualError(t, Execute(context.Background(), failing(io.ErrClosedPipe), argv), io.ErrClosedPipe.Error())
}

// TestValues checks all options as ROS parameters.
func TestValues(t *testing.T) {
	in, err := execute(t, defaults(), "--seed", "7")
	require.NoError(t, err)
	require.Equal(t, map[string]any{
		"topics": []string{"/tf", "/clock"}, "all": false, "output": "", "storage": "record", "max_duration": 3600.0,
		"queue_size": int64(256 << 20), "kinds": []string{}, "camera.width": int64(640), "camera.debug": false,
		"rate": 1.0,
		"seed": int64(7), "count": int64(-1),
	}, in.Values())
}

func TestSubcommand(t *testing.T) {
	t.Setenv("TAPEDECK_RECORDER_TRIGGER_TIMEOUT", "3s")
	in, err := execute(t, defaults(), "trigger", "x", "--ros-args", "-r", "__ns:=/robot")
	require.NoError(t, err)
	require.Equal(t, map[string]any{"timeout": 3.0}, in.Values())
	require.Equal(t, []string{"x"}, in.Args)
	require.Equal(t, "recorder_trigger", in.Node)
}

func TestCommandErrors(t *testing.T) {
	broken := errors.New("disk full")
	root := New("recorder", "", "", nil, func(context.Context, *Input) error { return broken })
	require.Equal(t, broken, Execute(context.Background(), root, nil))

	root = New("recorder", "", "", nil, func(context.Context, *Input) error { return Usagef("no topics: %w", broken) })
	err := Execute(context.Background(), root, nil)
	require.ErrorIs(t, err, ErrUsage)
	require.ErrorIs(t, err, broken)
	require.EqualError(t, err, "no topics: disk full")

	root.Args = cobra.NoArgs
	require.ErrorIs(t, Execute(context.Background(), root, []string{"x"}), ErrUsage)
}

func TestCompletion(t *testing.T) {
	run := func(argv ...string) string {
		root := New("recorder [TOPIC...]", "", "", &options{}, func(context.Context, *Input) error { return nil })
		root.AddCommand(New("trigger", "fire the snapshot", "", nil,
			func(context.Context, *Input) error { return nil }))
		var out bytes.Buffer
		root.SetOut(&out)
		root.SetErr(io.Discard)
		require.NoError(t, Execute(context.Background(), root, argv))
		return out.String()
	}
	require.Contains(t, run("completion", "bash"), "bash completion V2 for recorder")
	require.NotContains(t, run("completion", "--help"), "--storage")
	require.Equal(t, "record\nmcap\n:4\n", run("__complete", "--storage", ""))
	require.Contains(t, run("__complete", "--ou"), "--output\tWrite to a file or folder of this NAME.\n")
	require.Contains(t, run("__complete", "tri"), "trigger\tfire the snapshot\n")
}

const help = `Records topics.

Usage:
  recorder [topics...] [flags]
  recorder COMMAND --help

Commands:
  completion  Generate the autocompletion script for the specified shell
  trigger     fire the snapshot

Topics:
      --topics TEXT           Record this topic. (may be repeated) (default /tf,/clock)
  -a, --all                   Record every topic.
      --max-cache-size SIZE   Memory for messages that wait to be written. (parameter
                              queue_size; 1MiB to 64GiB) (default 256MiB)

Output:
  -o, --output NAME             Write to a file or folder of this NAME.
  -s, --storage record|mcap     Format of the recording. (default record)
  -d, --max-duration DURATION   Begin a new file after this long. The time counts at which
                                messages are received. 0 means never. (at least 0) (default 1h)

Options:
      --kinds a|b   Kinds. (may be repeated)

Camera:
      --camera-width N           Columns. (parameter camera.width; 1 to 4096) (default 640)
        parameter camera.debug   Say more.

Numbers:
      --rate X    Speed. (0.001 to 1000) (default 1)
      --seed N    Seed.
      --count N   Count. (at least -1) (default -1)

General:
      --config FILE   Take defaults from this parameter FILE.
  -h, --help          Print this help, or the help of a topic that follows.
      --version       Print the version.

Each option is also a ROS parameter, named like the flag with _ for - unless
noted above, and an environment variable:

  --ros-args -p topics:=VALUE, --ros-args --params-file FILE, --config FILE
  TAPEDECK_TOPICS=VALUE

Flags win over ROS arguments, these over the environment, this over --config.
`

func TestHelp(t *testing.T) {
	root := New("recorder [topics...]", "record topics", "Records topics.", defaults(), nil)
	root.AddCommand(New("trigger", "fire the snapshot", "", nil, nil))
	ShowVersion(root, func() string { return "dds" })
	for argv, want := range map[string]string{
		"--help":               help,
		"-h":                   help,
		"trigger --help":       "fire the snapshot\n\nUsage:\n  recorder trigger [flags]\n\nGeneral:\n",
		"--version":            "recorder version " + version + ", " + runtime.Version() + ", dds\n",
		"version":              "recorder version " + version + ", " + runtime.Version() + ", dds\n",
		"--help all":           help,
		"help all":             help,
		"help":                 help,
		"help trigger":         "fire the snapshot\n\nUsage:\n  recorder trigger [flags]\n\nGeneral:\n",
		"--help numbers":       "Numbers:\n      --rate X    Speed. (0.001 to 1000) (default 1)\n      --seed N",
		"-h cam":               "Camera:\n      --camera-width N           Columns.",
		"--help trigger":       "fire the snapshot\n\nUsage:\n  recorder trigger [flags]\n\nGeneral:\n",
		"help completion bash": "Generate the autocompletion script for the bash shell.\n",
		"help num":             "Numbers:\n      --rate X",
		"help general":         "General:\n      --config FILE",
		"help trigger general": "General:\n      --config FILE",
	} {
		var out bytes.Buffer
		root.SetOut(&out)
		require.NoError(t, Execute(context.Background(), root, strings.Fields(argv)))
		if want == help {
			require.Equal(t, want, out.String())
		}
		require.True(t, strings.HasPrefix(out.String(), want), out.String())
		root.Flags().Set("help", "false")
	}
}

func TestTopicsOfHelp(t *testing.T) {
	for argv, want := range map[string]string{
		"--help lens":       `"lens" is no topic of help; topics are topics, output, options, camera, numbers`,
		"help o":            `"o" is no topic of help; topics are topics, output`,
		"trigger -h lens":   `"lens" is no topic of help; topics are general, all`,
		"help trigger lens": `"lens" is no topic of help; topics are general, all`,
	} {
		root := New("recorder [topics...]", "record topics", "Records topics.", defaults(), nil)
		root.AddCommand(New("trigger", "fire the snapshot", "", nil, nil))
		var out bytes.Buffer
		root.SetOut(&out)
		err := Execute(context.Background(), root, strings.Fields(argv))
		require.ErrorIs(t, err, ErrUsage, argv)
		require.ErrorContains(t, err, want, argv)
		require.Empty(t, out.String())
	}
}

// TestHelpWithoutSubcommands checks that help and version are no arguments of an executable that takes any.
func TestHelpWithoutSubcommands(t *testing.T) {
	for argv, want := range map[string]string{
		"help":         "Publishes arms.\n\nUsage:\n  arm_publisher [HOST...] [flags]\n",
		"help camera":  "Camera:\n      --camera-width N",
		"version":      "arm_publisher version " + version + ", " + runtime.Version() + "\n",
		"arm1 help":    "arm1 help",
		"version arm1": "version arm1",
	} {
		var out bytes.Buffer
		root := New("arm_publisher [HOST...]", "publish arms", "Publishes arms.", defaults(),
			func(_ context.Context, in *Input) error {
				out.WriteString(strings.Join(in.Args, " "))
				return nil
			})
		root.SetOut(&out)
		require.NoError(t, Execute(context.Background(), root, strings.Fields(argv)), argv)
		require.True(t, strings.HasPrefix(out.String(), want), out.String())
	}
}

func TestBriefHelp(t *testing.T) {
	root := New("recorder [topics...]", "record topics", "Records topics.", defaults(), nil)
	root.AddCommand(New("trigger", "fire the snapshot", "", nil, nil), New("camera", "look", "", nil, nil))
	Brief(root, "max_duration", "all")
	Examples(root, "recorder -a  # all topics\n\nrecorder trigger # now\nrecorder /a -d 60   # a minute a file\n")
	var out bytes.Buffer
	root.SetOut(&out)
	require.NoError(t, Execute(context.Background(), root, []string{"--help"}))
	require.Equal(t, `Records topics.

Usage: recorder [topics...] [flags], or recorder COMMAND

Examples:
  recorder -a        all topics
  recorder /a -d 60  a minute a file

Commands:
  camera      look
  trigger     fire the snapshot

Options:
  -d, --max-duration DURATION   Begin a new file after this long.
  -a, --all                     Record every topic.

recorder help all prints all options, recorder help TOPIC those of a topic:
  topics, output, options, camera, numbers, general
`, out.String())
	out.Reset()
	root.Flags().Set("help", "false")
	require.NoError(t, Execute(context.Background(), root, []string{"help", "trigger"}))
	require.Contains(t, out.String(), "\nExamples:\n  recorder trigger  now\n")
	for argv, want := range map[string]bool{"help camera": true, "--help camera": true, "camera --help": false} {
		root := New("recorder [topics...]", "record topics", "Records topics.", defaults(), nil)
		root.AddCommand(New("camera", "look", "", nil, nil))
		out.Reset()
		root.SetOut(&out)
		require.NoError(t, Execute(context.Background(), root, strings.Fields(argv)))
		require.Contains(t, out.String(), "look\n\nUsage:\n  recorder camera [flags]\n")
		require.Equal(t, want, strings.Contains(out.String(), "\nOptions of recorder without a command:\n\nCamera:\n"))
	}
	require.Panics(t, func() { Brief(root, "none") })
	require.Panics(t, func() { Brief(root, "camera.debug") })
	require.Panics(t, func() { Examples(root, "player a.mcap") })
}

func TestVersionMatchesPackageXML(t *testing.T) {
	text, err := os.ReadFile("../package.xml")
	require.NoError(t, err)
	require.Contains(t, string(text), "<version>"+version+"</version>")
}

// TestMain is also the main function of the executable that TestProcess runs.
func TestMain(m *testing.M) {
	if os.Getenv("CONFIG_TEST_MAIN") == "" {
		// Tests that a shell runs in the background ignore SIGINT, and nohup makes them ignore SIGHUP. The executable
		// must not.
		for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGHUP} {
			if signal.Ignored(s) {
				signal.Notify(make(chan os.Signal, 1), s)
			}
		}
		os.Exit(m.Run())
	}
	opts := &struct {
		Word string `param:"word"`
	}{"built in"}
	root := New("recorder", "record", "", opts, func(ctx context.Context, in *Input) error {
		switch in.Args[0] {
		case "fail":
			return errors.New("write drive.record:\nno space left on device")
		case "word":
			fmt.Println(opts.Word, len(in.Warnings))
		case "wait":
			fmt.Println("ready")
			<-ctx.Done()
			fmt.Println("stopping")
			if len(in.Args) > 1 {
				select {}
			}
			return nil
		case "cancel":
			fmt.Println("ready")
			<-ctx.Done()
			return fmt.Errorf("read: %w", ctx.Err())
		}
		return nil
	})
	root.Args = cobra.MinimumNArgs(1)
	Main(root, os.Stderr)
}

// process is a running executable of TestMain.
type process struct {
	*exec.Cmd
	pipe   io.Closer
	out    *bufio.Reader
	stderr bytes.Buffer
}

func start(t *testing.T, exe string, argv ...string) *process {
	p := &process{Cmd: exec.Command(exe, argv...)}
	p.Env = append(os.Environ(), "CONFIG_TEST_MAIN=1")
	p.Stderr = &p.stderr
	p.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := p.StdoutPipe()
	require.NoError(t, err)
	p.pipe, p.out = out, bufio.NewReader(out)
	require.NoError(t, p.Start())
	t.Cleanup(func() { p.Process.Kill() })
	return p
}

// line waits for a line of output.
func (p *process) line(t *testing.T) string {
	line, err := p.out.ReadString('\n')
	require.NoError(t, err)
	return strings.TrimSpace(line)
}

// end waits for the end and returns the exit code, -1 after a signal.
func (p *process) end() int {
	io.Copy(io.Discard, p.out)
	p.Wait()
	return p.ProcessState.ExitCode()
}

// TestProcess checks exit codes and errors of a process that runs Main.
func TestProcess(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		argv   string
		code   int
		stderr string
	}{
		{"x", 0, ""},
		{"fail", 1, "recorder: write drive.record: no space left on device\n"},
		{"", 2, "recorder: requires at least 1 arg(s), only received 0 (see recorder --help)\n"},
		{"x --nonsense", 2, "recorder: unknown flag: --nonsense (see recorder --help)\n"},
	} {
		t.Run(c.argv, func(t *testing.T) {
			p := start(t, os.Args[0], strings.Fields(c.argv)...)
			require.Equal(t, c.code, p.end())
			require.Equal(t, c.stderr, p.stderr.String())
		})
	}
}

// TestLongUsageError checks that a usage error of any length names the help of the called command.
func TestLongUsageError(t *testing.T) {
	t.Parallel()
	p := start(t, os.Args[0], "x", "--"+strings.Repeat("n", 20_000))
	require.Equal(t, 2, p.end())
	require.Less(t, len(p.stderr.String()), 1300)
	require.Contains(t, p.stderr.String(), "... (see recorder --help)\n")
}

// TestCalled checks which command a command line names.
func TestCalled(t *testing.T) {
	root := New("converter", "", "", nil, nil)
	root.AddCommand(New("check", "", "", nil, nil))
	for argv, want := range map[string]string{
		"":              "converter",
		"x --nonsense":  "converter",
		"check":         "converter check",
		"check --wrong": "converter check",
	} {
		require.Equal(t, want, called(root, strings.Fields(argv)).CommandPath(), argv)
	}
}

// TestInstalledDefaults checks that an installed executable reads its installed parameter file, also through links.
func TestInstalledDefaults(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(os.Args[0])
	require.NoError(t, err)
	prefix := t.TempDir()
	lib, share := filepath.Join(prefix, "lib/tapedeck"), filepath.Join(prefix, "share/tapedeck/config")
	require.NoError(t, os.MkdirAll(lib, 0o755))
	require.NoError(t, os.MkdirAll(share, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(share, "recorder.yaml"),
		[]byte("/**: {ros__parameters: {word: installed, of_a_subcommand: 1}}"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(lib, "recorder"), text, 0o755))
	link := filepath.Join(t.TempDir(), "recorder")
	require.NoError(t, os.Symlink(filepath.Join(lib, "recorder"), link))
	linked := filepath.Join(lib, "linked") // colcon build --symlink-install makes such links
	require.NoError(t, os.Symlink(os.Args[0], linked))

	for exe, want := range map[string]string{
		os.Args[0]: "built in 0", filepath.Join(lib, "recorder"): "installed 0", link: "installed 0",
		linked: "installed 0",
	} {
		p := start(t, exe, "word")
		require.Equal(t, want, p.line(t), exe)
		require.Equal(t, 0, p.end())
	}
}

func TestSignals(t *testing.T) {
	t.Parallel()
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT} {
		p := start(t, os.Args[0], "wait")
		require.Equal(t, "ready", p.line(t))
		require.NoError(t, p.Process.Signal(s))
		require.Equal(t, "stopping", p.line(t))
		require.Equal(t, 0, p.end(), s)
		require.Empty(t, p.stderr.String(), s)
	}

	// A command completes its work if the reader of its output ends.
	closed := start(t, os.Args[0], "wait")
	require.Equal(t, "ready", closed.line(t))
	require.NoError(t, closed.pipe.Close())
	require.NoError(t, closed.Process.Signal(syscall.SIGHUP))
	require.Equal(t, 0, closed.end())

	kept := start(t, "nohup", os.Args[0], "wait")
	require.Equal(t, "ready", kept.line(t))
	require.NoError(t, kept.Process.Signal(syscall.SIGHUP)) // the process ignores SIGHUP
	require.NoError(t, kept.Process.Signal(syscall.SIGTERM))
	require.Equal(t, "stopping", kept.line(t))
	require.Equal(t, 0, kept.end())

	p := start(t, os.Args[0], "cancel")
	require.Equal(t, "ready", p.line(t))
	require.NoError(t, p.Process.Signal(syscall.SIGINT))
	require.Equal(t, 1, p.end())
	require.Equal(t, "recorder: interrupted\n", p.stderr.String())
}

func TestSecondInterruptKills(t *testing.T) {
	t.Parallel()
	p := start(t, os.Args[0], "wait", "for ever")
	require.Equal(t, "ready", p.line(t))
	require.NoError(t, p.Process.Signal(syscall.SIGINT))
	require.Equal(t, "stopping", p.line(t))
	require.NoError(t, p.Process.Signal(syscall.SIGTERM))
	done := make(chan int)
	go func() { done <- p.end() }()
	for {
		p.Process.Signal(syscall.SIGINT)
		select {
		case code := <-done:
			require.Equal(t, -1, code)
			return
		case <-time.After(300 * time.Millisecond):
		}
	}
}

func TestNodeName(t *testing.T) {
	path := filepath.Join(t.TempDir(), "nodes.yaml")
	require.NoError(t, os.WriteFile(path, []byte("tape:\n  ros__parameters:\n    mode: slow\nserve:\n  "+
		"ros__parameters:\n    mode: fast\n"), 0o600))
	o := assigned{}
	cmd := New("serve", "", "", &o, func(_ context.Context, in *Input) error {
		require.Equal(t, "tape", in.Node)
		return nil
	})
	cmd.Annotations = map[string]string{NodeName: "tape"}
	require.NoError(t, Execute(t.Context(), cmd, []string{"--ros-args", "--params-file", path}))
	require.Equal(t, "slow", o.Mode)
}

// TestListsEnd checks which words after a value of a flag with several values are also values.
func TestListsEnd(t *testing.T) {
	for line, want := range map[string][2]string{
		"--words /a b c.mcap -q d":            {"/a b c.mcap", "d"},
		"--words a -- b":                      {"a", "b"},
		"--words a --words b c":               {"a b c", ""},
		"--rules /a:=/b c:=d in":              {"/a:=/b c:=d", "in"},
		"-r /a:=/b in c:=d":                   {"/a:=/b", "in c:=d"},
		"-qr /a:=/b /c:=/d":                   {"/a:=/b /c:=/d", ""},
		"-i a sqlite3 -i b mcap in":           {"a b", "in"},
		"-i a b sqlite3":                      {"a", "b sqlite3"},
		"--offset -1s in":                     {"-1s", "in"},
		"--offset -q in":                      {"! flag needs an argument: --offset, before -q", ""},
		"--words --rules a:=b":                {"! flag needs an argument: --words, before --rules", ""},
		"-i --offset=1s":                      {"! before --offset=1s; -i is --input, as in ros2 bag", ""},
		"-i":                                  {"! flag needs an argument: 'i' in -i; -i is --input, as in ros2 bag", ""},
		"-l x":                                {"! -l is --limit, not the other one", ""},
		"--limit x":                           {`! parameter limit from flag --limit: "x" is not allowed`, ""},
		"--wait 1500 in":                      {"1.5s", "in"},
		"--wait 2s":                           {"2s", ""},
		"--until-sec 5 --offset=x":            {"x @5", ""},
		"--until-nsec 5 --offset x":           {"x @5ns", ""},
		"--until-nsec -5 --offset x --wait=0": {"x -5", ""},
	} {
		t.Run(line, func(t *testing.T) {
			opts := &struct {
				Words  []string      `param:"words" several:"words"`
				Rules  []string      `param:"rules" short:"r" several:"rules"`
				Input  []string      `param:"input" short:"i" several:"storage" letter:"as in ros2 bag"`
				Limit  int           `param:"limit" short:"l" letter:"not the other one"`
				Quiet  bool          `param:"quiet" short:"q"`
				Offset string        `param:"offset"`
				Wait   time.Duration `param:"wait" unit:"ms"`
				Until  string        `param:"until" alias:"until-sec:@%,until-nsec:@%ns"`
			}{}
			root := New("player", "play", "", opts, nil)
			Hint(root, nil, nil)
			in, err := Parse(t.Context(), root, strings.Fields(line))
			if text, failing := strings.CutPrefix(want[0], "! "); failing {
				require.ErrorIs(t, err, ErrUsage)
				require.ErrorContains(t, err, text)
				require.Equal(t, strings.HasPrefix(text, "-l") || strings.HasPrefix(line, "-i"),
					strings.Contains(err.Error(), "; -"), "letters are explained: %v", err)
				return
			}
			require.NoError(t, err)
			got := slices.Concat(opts.Words, opts.Rules, opts.Input)
			if opts.Offset != "" {
				got = append(got, opts.Offset)
			}
			if opts.Until != "" {
				got = append(got, opts.Until)
			}
			if opts.Wait > 0 {
				got = append([]string{opts.Wait.String()}, got...)
			}
			require.Equal(t, want, [2]string{strings.Join(got, " "), strings.Join(in.Args, " ")})
		})
	}
}

// TestLettersAreExplained checks that the meaning of a letter is printed once, before the command runs, if other
// programs give the letter another meaning.
func TestLettersAreExplained(t *testing.T) {
	for line, want := range map[string]string{
		"-d 60": "recorder: -d is --max-bag-duration, as in ros2 bag\nruns\n",
		"-qd60": "recorder: -d is --max-bag-duration, as in ros2 bag\nruns\n", "-q": "runs\n",
		"-d 1 -d 2": "recorder: -d is --max-bag-duration, as in ros2 bag\nruns\n", "--max-bag-duration 60": "runs\n",
		"-n -d": "runs\n", "-- -d": "runs\n",
	} {
		var out bytes.Buffer
		root := New("recorder", "record", "", &struct {
			Split time.Duration `param:"max_bag_duration" short:"d" letter:"as in ros2 bag"`
			Quiet bool          `param:"quiet" short:"q"`
			Name  string        `param:"name" short:"n" pattern:"-d|"`
		}{}, func(context.Context, *Input) error {
			_, err := out.WriteString("runs\n")
			return err
		})
		if line == "-n -d" {
			require.Equal(t, 2, Run(t.Context(), root, strings.Fields(line), &out), "-d is a flag")
			continue
		}
		require.Zero(t, Run(t.Context(), root, strings.Fields(line), &out), out.String())
		require.Equal(t, want, out.String(), line)
	}
}

// TestSeveralValues checks that names after a value of a flag with several values are also values, and paths are not.
func TestSeveralValues(t *testing.T) {
	folder := t.TempDir()
	for line, want := range map[string][2]string{
		"in --topics /a /b/c /d --word x": {"/a /b/c /d", "in"},
		"--topics /a /b in out":           {"/a /b", "in out"},
		"-t /a /b " + folder:              {"/a /b", folder},
		"-t /a " + folder + "/new":        {"/a", folder + "/new"},
		"-t /a sensor_msgs/msg/Imu in":    {"/a sensor_msgs/msg/Imu", "in"},
		"--topics=/a /b":                  {"/a", "/b"},
		"-t /a -- /b":                     {"/a", "/b"},
	} {
		t.Run(line, func(t *testing.T) {
			opts := &struct {
				Topics []string `param:"topics" short:"t" several:"names"`
				Word   string   `param:"word"`
			}{}
			var args []string
			root := New("player", "play", "", opts, func(_ context.Context, in *Input) error {
				args = in.Args
				return nil
			})
			require.NoError(t, Execute(t.Context(), root, strings.Fields(line)))
			require.Equal(t, want, [2]string{strings.Join(opts.Topics, " "), strings.Join(args, " ")})
		})
	}
}
