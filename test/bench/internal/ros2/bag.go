// Package ros2 finds the installed ROS 2, with which benchmarks compare tapedeck.
package ros2

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// Bag is the ros2 bag command on one middleware.
type Bag struct {
	Name       string   // of rosbag2 with its version, and of the middleware
	Middleware string   // version of the middleware
	program    string   // path of ros2
	env        []string // environment
}

// Bags returns the ros2 bag commands of the sourced ROS 2, or of the last ROS 2 in /opt/ros, one for each middleware.
// The commands write their logs below folder. Bags prints which commands are missing.
func Bags(folder string) ([]Bag, error) {
	env := os.Environ()
	if os.Getenv("AMENT_PREFIX_PATH") == "" {
		setups, err := filepath.Glob("/opt/ros/*/local_setup.bash")
		if err != nil {
			return nil, err
		}
		if len(setups) == 0 {
			fmt.Println("no ROS 2: AMENT_PREFIX_PATH is not set, and /opt/ros has no ROS 2")
			return nil, nil
		}
		out, err := exec.Command("bash", "-c", `source "$0" && env -0`, setups[len(setups)-1]).Output()
		if err != nil {
			return nil, fmt.Errorf("source %s: %w", setups[len(setups)-1], err)
		}
		env = strings.Split(string(bytes.TrimRight(out, "\x00")), "\x00")
	}
	variables := map[string]string{}
	for _, variable := range env {
		name, value, _ := strings.Cut(variable, "=")
		variables[name] = value
	}
	program := find(variables["PATH"], "ros2")
	storage := find(variables["AMENT_PREFIX_PATH"], "share/rosbag2_storage_mcap/package.xml")
	if program == "" || storage == "" {
		fmt.Println("no ROS 2: ros2 bag or rosbag2_storage_mcap is not installed")
		return nil, nil
	}
	var list []Bag
	for _, rmw := range []string{"rmw_cyclonedds_cpp", "rmw_fastrtps_cpp"} {
		middleware := find(variables["AMENT_PREFIX_PATH"], filepath.Join("share", rmw, "package.xml"))
		if middleware == "" {
			fmt.Println("no", rmw)
			continue
		}
		list = append(list, Bag{
			Name: fmt.Sprintf("rosbag2 %s, %s", version(storage),
				strings.TrimSuffix(strings.TrimPrefix(rmw, "rmw_"), "_cpp")),
			Middleware: version(middleware),
			program:    program,
			env: append(env[:len(env):len(env)], "RMW_IMPLEMENTATION="+rmw, "ROS_LOG_DIR="+filepath.Join(folder, "log"),
				"PYTHONWARNINGS=ignore"),
		})
	}
	return list, nil
}

// Command returns a command that runs ros2 bag with the given arguments.
func (b Bag) Command(args ...string) *exec.Cmd {
	cmd := exec.Command(b.program, append([]string{"bag"}, args...)...)
	cmd.Env = b.env
	return cmd
}

// find returns the path of the first file with this name in a list of folders, or "".
func find(folders, name string) string {
	for _, folder := range filepath.SplitList(folders) {
		path := filepath.Join(folder, name)
		if stat, err := os.Stat(path); err == nil && stat.Mode().IsRegular() {
			return path
		}
	}
	return ""
}

// version returns the version in the package.xml at path, or "".
func version(path string) string {
	text, _ := os.ReadFile(path)
	if found := regexp.MustCompile(`<version[^>]*>\s*([^<\s]+)`).FindSubmatch(text); found != nil {
		return string(found[1])
	}
	return ""
}
