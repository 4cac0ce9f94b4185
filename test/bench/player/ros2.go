package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// ros2 is the player of ROS 2 on one middleware.
type ros2 struct {
	name    string
	program string
	env     []string
}

// findROS2 returns that of the ROS 2 that is sourced, or else of the last in /opt/ros.
func findROS2(folder string) ([]ros2, error) {
	env := os.Environ()
	if os.Getenv("AMENT_PREFIX_PATH") == "" {
		setups, err := filepath.Glob("/opt/ros/*/local_setup.bash")
		if err != nil {
			return nil, err
		}
		if len(setups) == 0 {
			fmt.Println("no ROS 2: there is no AMENT_PREFIX_PATH, and none in /opt/ros")
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
		fmt.Println("no ROS 2: there is no ros2 bag with MCAP, rosbag2_storage_mcap")
		return nil, nil
	}
	var list []ros2
	for _, rmw := range []string{"rmw_cyclonedds_cpp", "rmw_fastrtps_cpp"} {
		middleware := find(variables["AMENT_PREFIX_PATH"], filepath.Join("share", rmw, "package.xml"))
		if middleware == "" {
			fmt.Println("no", rmw)
			continue
		}
		list = append(list, ros2{
			name:    fmt.Sprintf("rosbag2 %s, %s", version(storage), strings.TrimSuffix(strings.TrimPrefix(rmw, "rmw_"), "_cpp")),
			program: program,
			env:     append(env[:len(env):len(env)], "RMW_IMPLEMENTATION="+rmw, "ROS_LOG_DIR="+filepath.Join(folder, "log"), "PYTHONWARNINGS=ignore"),
		})
	}
	return list, nil
}

// play plays a bag. It cannot wait for subscribers, so it waits a while.
func (r ros2) play(path string, rate float64) *exec.Cmd {
	cmd := exec.Command(r.program, "bag", "play", path, "-r", fmt.Sprint(rate), "--delay", "2", "--disable-keyboard-controls", "--wait-for-all-acked", "20000")
	cmd.Env = r.env
	return cmd
}

// find returns where a file is in a list of folders, or "".
func find(folders, name string) string {
	for _, folder := range filepath.SplitList(folders) {
		path := filepath.Join(folder, name)
		if stat, err := os.Stat(path); err == nil && stat.Mode().IsRegular() {
			return path
		}
	}
	return ""
}

// version returns the version in a package.xml, or "".
func version(path string) string {
	text, _ := os.ReadFile(path)
	if found := regexp.MustCompile(`<version[^>]*>\s*([^<\s]+)`).FindSubmatch(text); found != nil {
		return string(found[1])
	}
	return ""
}
