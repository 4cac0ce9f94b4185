package rcl

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestEnvironment runs environment.sh on the layouts in which ROS 2 comes.
func TestEnvironment(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{
		"isolated/rcl/include/rcl/rcl", "isolated/rcutils/include/rcutils/rcutils",
		"isolated/std_msgs/include/std_msgs/std_msgs",
		"merged/include/rcl/rcl", "merged/include/rcutils/rcutils", "merged/include/dds",
		"flat/include/rcl", "flat/include/rcutils",
	} {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, path), 0o755))
	}
	version := []byte(`#define DDS_VERSION "0.10.5"`)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "merged/include/dds/version.h"), version, 0o644))
	for _, test := range []struct{ prefixes, cflags, ldflags []string }{
		{[]string{"isolated/std_msgs", "isolated/rcl", "isolated/rcutils"},
			[]string{"isolated/rcl/include/rcl", "isolated/rcutils/include/rcutils"},
			[]string{"isolated/rcl/lib", "isolated/rcutils/lib"}},
		{[]string{"merged"}, []string{"merged/include", "merged/include/rcl", "merged/include/rcutils"},
			[]string{"merged/lib"}},
		{[]string{"flat"}, []string{"flat/include"}, []string{"flat/lib"}},
	} {
		var prefixes []string
		for _, p := range test.prefixes {
			prefixes = append(prefixes, filepath.Join(dir, p))
		}
		cflags, ldflags := "-g", "-s"
		for _, p := range test.cflags {
			cflags += " -I" + filepath.Join(dir, p)
		}
		for _, p := range test.ldflags {
			ldflags += " -L" + filepath.Join(dir, p) + " -Wl,-rpath," + filepath.Join(dir, p)
		}
		cmd := exec.Command("sh", "environment.sh")
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "CGO_CFLAGS=-g", "CGO_LDFLAGS=-s",
			"AMENT_PREFIX_PATH=" + strings.Join(prefixes, ":")}
		out, err := cmd.Output()
		require.NoError(t, err)
		require.Equal(t, "export CGO_CFLAGS='"+cflags+"'\nexport CGO_LDFLAGS='"+ldflags+"'\n", string(out))
	}
	cmd := exec.Command("sh", "environment.sh")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "AMENT_PREFIX_PATH=" + dir}
	out, err := cmd.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "source the setup.sh")
}

// TestEnvironmentOfReleases compiles rclgo's call of rcl_timer_init with the flags that environment.sh prints: for a
// ROS 2 whose rcl has that function, and for one whose rcl has replaced it. The test also checks whether
// bridge/graph/dds would be built with the Cyclone DDS of that ROS 2, which may have the wrong version.
func TestEnvironmentOfReleases(t *testing.T) {
	const types = "#include <stdbool.h>\n#include <stdint.h>\ntypedef int rcl_ret_t, rcl_timer_t, rcl_clock_t, " +
		"rcl_context_t, rcl_timer_callback_t, rcl_allocator_t;\nrcl_ret_t\n"
	const parameters = "(rcl_timer_t *, rcl_clock_t *, rcl_context_t *, int64_t, const rcl_timer_callback_t, " +
		"rcl_allocator_t"
	for _, test := range []struct {
		name, timer, cyclone string
		own                  bool // its Cyclone DDS is used
	}{
		{"humble", types + "rcl_timer_init" + parameters + ");\n", "0.10.5", true},
		{"lyrical", types + "rcl_timer_init2" + parameters + ", bool);\n", "11.0.1", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			prefix := t.TempDir()
			write := func(name, text string) string {
				path := filepath.Join(prefix, name)
				require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o777))
				require.NoError(t, os.WriteFile(path, []byte(text), 0o666))
				return path
			}
			write("include/rcl/rcl/timer.h", test.timer)
			write("include/dds/version.h", `#define DDS_VERSION "`+test.cyclone+`"`)
			write("include/dds/dds.h", "")
			call := write("call.c", "#include <rcl/timer.h>\nint main(void) { return rcl_timer_init(0, 0, 0, 1, 0, 0); }\n")

			cmd := exec.Command("sh", "environment.sh")
			cmd.Env = append(os.Environ(), "AMENT_PREFIX_PATH="+prefix, "CGO_CFLAGS=", "CGO_LDFLAGS=")
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s", out)
			flags := map[string][]string{}
			for _, variable := range regexp.MustCompile(`export (\w+)='(.*)'`).FindAllStringSubmatch(string(out), -1) {
				flags[variable[1]] = strings.Fields(variable[2])
			}
			out, err = exec.Command("gcc", append(flags["CGO_CFLAGS"], "-Werror", "-fsyntax-only", call)...).CombinedOutput()
			require.NoError(t, err, "%s", out)
			if test.own {
				require.Contains(t, flags["CGO_CFLAGS"], "-I"+prefix+"/include")
			} else {
				require.NotContains(t, flags["CGO_CFLAGS"], "-I"+prefix+"/include")
				require.Less(t, 2, len(flags["CGO_LDFLAGS"]))
				require.NotEqual(t, "-L"+prefix+"/lib", flags["CGO_LDFLAGS"][2], "the system's libraries come first")
			}
		})
	}
}
