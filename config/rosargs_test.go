package config

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSplitROSArgs(t *testing.T) {
	for _, c := range []struct {
		name string
		argv string // separated by spaces
		ros  ROSArgs
		rest string
	}{
		{name: "none", argv: "-a --rate 2 -- x", rest: "-a --rate 2 -- x"},
		{
			name: "launch, named node with arguments, a log level, parameters and remaps",
			argv: "--foo x --ros-args --log-level debug --ros-args -r __node:=tk -r __ns:=/robot" +
				" --params-file /tmp/launch_params_pj_9p4mw --params-file /home/user/p.yaml -r chatter:=talk -r " +
				"/tf:=tf",
			ros: ROSArgs{
				Remaps:     []string{"__node:=tk", "__ns:=/robot", "chatter:=talk", "/tf:=tf"},
				Parameters: []ROSParameter{{File: "/tmp/launch_params_pj_9p4mw"}, {File: "/home/user/p.yaml"}},
				LogLevel:   "debug",
			},
			rest: "--foo x",
		},
		{name: "launch, no name, parameters or remaps", argv: "--ros-args"},
		{
			name: "launch, SetParameter and SetRemap",
			argv: "--ros-args -r __node:=l2 -p use_sim_time:=True --params-file /tmp/launch_params__8mcyab4 -r " +
				"chatter:=c2",
			ros: ROSArgs{
				Remaps: []string{"__node:=l2", "chatter:=c2"},
				Parameters: []ROSParameter{{Name: "use_sim_time", Value: "True"},
					{File: "/tmp/launch_params__8mcyab4"}},
			},
		},
		{
			name: "several regions",
			argv: "a --ros-args -r x:=y -- b --ros-args --remap z:=w -- -- c",
			ros:  ROSArgs{Remaps: []string{"x:=y", "z:=w"}},
			rest: "a b -- c",
		},
		{
			name: "all the others",
			argv: "--ros-args -p n:a.b:=[1,2] --param url:=tcp://h:=1 -e /robot --log-level rcl:=WARN --log-level " +
				"Info --log-config-file c" +
				" --log-file-name f --disable-stdout-logs --enable-rosout-logs --disable-external-lib-logs " +
				"--enable-external-lib-logs",
			ros: ROSArgs{
				Parameters: []ROSParameter{{Node: "n", Name: "a.b", Value: "[1,2]"},
					{Name: "url", Value: "tcp://h:=1"}},
				Enclave:  "/robot",
				LogLevel: "info",
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			ros, rest, err := SplitROSArgs(strings.Fields(c.argv))
			require.NoError(t, err)
			require.Equal(t, c.ros, ros)
			require.Equal(t, c.rest, strings.Join(rest, " "))
		})
	}
}

func TestSplitROSArgsErrors(t *testing.T) {
	for argv, want := range map[string]string{
		"--ros-args -x":                     "unknown shorthand flag: 'x'",
		"--ros-args value":                  "unexpected argument value",
		"--ros-args --enable-nothing":       "unknown flag: --enable-nothing",
		"--ros-args -r":                     "flag needs an argument: 'r' in -r",
		"--ros-args -r a:b":                 `"a:b" for "-r, --remap" flag: want [node:]from:=to`,
		"--ros-args -r :=b":                 "want [node:]from:=to",
		"--ros-args -r a:=":                 "want [node:]from:=to",
		"--ros-args -p a=b":                 "want [node:]name:=value",
		"--ros-args -p :a:=b":               "want [node:]name:=value",
		"--ros-args -p n::=b":               "want [node:]name:=value",
		"--ros-args --log-level loud":       "debug, info, warn",
		"--ros-args --log-level :=info":     "want [logger:=]level",
		"--ros-args --log-level rcl:=":      "want [logger:=]level",
		"a --ros-args -- b --ros-args -e":   "flag needs an argument",
		"--ros-args --disable-rosout-logs-": "unknown flag",
	} {
		t.Run(argv, func(t *testing.T) {
			_, _, err := SplitROSArgs(strings.Fields(argv))
			require.ErrorContains(t, err, want)
			require.ErrorIs(t, err, ErrUsage)
		})
	}
}

// TestIdentity checks the name and the namespace of a node after remapping.
func TestIdentity(t *testing.T) {
	for _, c := range []struct {
		rules    string
		name, ns string
		err      string
	}{
		{"", "recorder", "/", ""},
		{"/a:=/b rosservice://x:=y", "recorder", "/", ""},
		{"__node:=one __node:=two", "one", "/", ""},
		{"__name:=one __ns:=/robot/left", "one", "/robot/left", ""},
		{"player:__node:=one recorder:__node:=two __node:=three", "two", "/", ""},
		{"player:__ns:=/a recorder:__ns:=/b", "recorder", "/b", ""},
		{"__ns:=/ __ns:=/b", "recorder", "/", ""},
		{"__node:=a/b", "", "", `"a/b" is not a node name`},
		{"__node:=1a", "", "", "is not a node name"},
		{"__ns:=robot", "", "", "want an absolute name"},
		{"__ns:=/robot/", "", "", "want an absolute name"},
	} {
		t.Run(c.rules, func(t *testing.T) {
			name, ns, err := (&ROSArgs{Remaps: strings.Fields(c.rules)}).identity("recorder")
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
				require.ErrorIs(t, err, ErrUsage)
				return
			}
			require.NoError(t, err)
			require.Equal(t, []string{c.name, c.ns}, []string{name, ns})
		})
	}
}

func FuzzSplitROSArgs(f *testing.F) {
	f.Add("--foo x --ros-args --log-level debug --ros-args -r __node:=tk -r __ns:=/robot --params-file /tmp/p -r " +
		"/tf:=tf")
	f.Add("--ros-args -r __node:=l2 -p use_sim_time:=True -p n:a.b:=[1,2] -- a -- --ros-args --enable-rosout-logs")
	f.Add("a --ros-args -e")
	f.Fuzz(func(t *testing.T, line string) {
		argv := strings.Split(line, " ")
		ros, rest, err := SplitROSArgs(argv)
		if err != nil {
			require.ErrorIs(t, err, ErrUsage)
			return
		}
		require.LessOrEqual(t, len(rest)+len(ros.Remaps)+len(ros.Parameters), len(argv))
		require.NotContains(t, rest, "--ros-args")
		if name, ns, err := ros.identity("n"); err == nil {
			require.Regexp(t, nodeName, name)
			require.Regexp(t, namespace, ns)
		}
	})
}
