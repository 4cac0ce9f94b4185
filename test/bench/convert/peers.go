package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// mcapCommit is the last commit of github.com/foxglove/mcap with the command line tool in Go, before a tool in Rust
// replaced it. The tool is built in a checkout, against the packages beside it: its go.mod names versions that are too
// old.
const mcapCommit = "dff2ac4983d4"

// findPeers looks for the other programs and prints which are missing. It builds the mcap tool if b.mcap is a folder.
func (b *bench) findPeers() error {
	switch stat, err := os.Stat(b.mcap); {
	case err == nil && stat.IsDir():
		checkout := b.mcap
		b.mcap = b.path("mcap")
		build := exec.Command("go", "build", "-o", b.mcap, ".")
		build.Dir = checkout
		if output, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("build %s: %w: %s", checkout, err, output)
		}
	case version(b.mcap, "version") == "":
		fmt.Printf("no mcap: the command line tool is not installed; set -mcap to its source code, go/cli/mcap "+
			"of github.com/foxglove/mcap at %s\n", mcapCommit)
		b.mcap = ""
	}
	if !haveRosbag() {
		fmt.Println("no rosbag: ROS 1's rosbag is not installed (Debian: python3-rosbag, python3-sensor-msgs)")
	}
	if !haveRosbags() {
		fmt.Println("no rosbags-convert: rosbags is not installed")
	}
	setups, err := filepath.Glob("/opt/ros/*/local_setup.bash")
	if err != nil {
		return err
	}
	if len(setups) > 0 {
		b.ros2 = []string{"bash", "-c", `source "$0" && exec ros2 bag convert "$@"`, setups[len(setups)-1]}
	} else {
		fmt.Println("no ros2 bag convert: there is no ROS 2 in /opt/ros")
	}
	return nil
}

func haveRosbag() bool {
	return version("/usr/bin/python3", "-c", "import rosbag; print(rosbag)") != ""
}

func haveRosbags() bool { return version("rosbags-convert", "--help") != "" }

// add appends a program to the task if it is installed.
func (t *task) add(installed bool, p program) {
	if installed {
		t.programs = append(t.programs, p)
	}
}

// newTask returns a task for files of the benchmark. ours is the program of tapedeck.
func (b *bench) newTask(name, input string, ours program) task {
	return task{name: name, input: b.path(input), programs: []program{ours}}
}

// ours returns the converter, which writes messages to the file to. Arguments are a part of its name.
func (b *bench) ours(from, to string, messages uint64, args ...string) program {
	return program{name: strings.Join(append([]string{"converter"}, args...), " "),
		command: b.converter(from, to, args...), output: b.path(to), want: messages}
}

// peer returns a program of others, which writes messages to the file to.
func (b *bench) peer(name string, cmd *exec.Cmd, to string, messages uint64) program {
	return program{name: name, command: cmd, output: b.path(to), want: messages}
}

// mcapTool returns a command of the mcap tool.
func (b *bench) mcapTool(args ...string) *exec.Cmd { return exec.Command(b.mcap, args...) }

// rosbagCommand returns a command of ROS 1's rosbag. Packages of a sourced ROS 2 are not on its path.
func rosbagCommand(args ...string) *exec.Cmd {
	cmd := exec.Command("/usr/bin/python3", append([]string{"-c", "import rosbag; rosbag.rosbagmain()"}, args...)...)
	cmd.Env = append(os.Environ(), "PYTHONPATH=")
	return cmd
}

// rosbagsConvert returns rosbags-convert, which converts all messages.
func (b *bench) rosbagsConvert(from, to string, args ...string) program {
	cmd := exec.Command("rosbags-convert", append([]string{"--src", b.path(from), "--dst", b.path(to)}, args...)...)
	return b.peer("rosbags-convert", cmd, to, allMessages)
}

// tasks returns the tasks to measure.
func (b *bench) tasks() []task {
	return slices.Concat(b.bagToMCAP(), b.toROS2(), b.otherFormats(), []task{b.reindexing()}, b.filtering(),
		b.compressing(), b.tables())
}

// bagToMCAP returns the tasks that keep the payloads of a ROS 1 bag.
func (b *bench) bagToMCAP() (list []task) {
	for _, compression := range []string{"none", "zstd", "lz4"} {
		t := b.newTask("bag to MCAP, payloads of ROS 1 kept, compression "+compression, "drive.bag",
			b.ours("drive.bag", "a.mcap", allMessages, "--encoding", "keep", "--compression", compression))
		convert := b.mcapTool("convert", b.path("drive.bag"), b.path("b.mcap"), "--compression", compression)
		t.add(b.mcap != "", b.peer("mcap convert", convert, "b.mcap", allMessages))
		if compression == "none" {
			t.goal = 0.7
		}
		list = append(list, t)
	}
	return list
}

// toROS2 returns the tasks that convert to rosbag2, and back to a ROS 1 bag.
func (b *bench) toROS2() []task {
	mcap := b.newTask("bag to rosbag2 with MCAP, re-encoded", "drive.bag",
		b.ours("drive.bag", "a", allMessages, "--to", "rosbag2"))
	mcap.add(haveRosbags(), b.rosbagsConvert("drive.bag", "b", "--dst-storage", "mcap"))

	sqlite := b.newTask("bag to rosbag2 with SQLite, re-encoded", "drive.bag",
		b.ours("drive.bag", "a", allMessages, "--to", "rosbag2", "--storage", "sqlite3"))
	sqlite.add(haveRosbags(), b.rosbagsConvert("drive.bag", "b", "--dst-storage", "sqlite3"))

	bag := b.newTask("rosbag2 with MCAP to bag, re-encoded", "drive.rosbag2",
		b.ours("drive.rosbag2", "a.bag", allMessages))
	bag.add(haveRosbags(), b.rosbagsConvert("drive.rosbag2", "b.bag"))

	storage := b.newTask("rosbag2 with MCAP to rosbag2 with SQLite", "drive.rosbag2",
		b.ours("drive.rosbag2", "a", allMessages, "--to", "rosbag2", "--storage", "sqlite3"))
	if b.ros2 != nil {
		options := b.path("options.yaml")
		convert := exec.Command(b.ros2[0], append(b.ros2[1:], "-i", b.path("drive.rosbag2"), "mcap", "-o", options)...)
		p := b.peer("ros2 bag convert", convert, "b", allMessages)
		p.prepare = func() error {
			text := fmt.Sprintf("output_bags:\n- {uri: %s, storage_id: sqlite3, all: true}\n", b.path("b"))
			return os.WriteFile(options, []byte(text), 0o666)
		}
		storage.add(true, p)
	}
	return []task{mcap, sqlite, bag, storage}
}

// otherFormats returns the tasks that no other program can do.
func (b *bench) otherFormats() []task {
	list := []task{
		b.newTask("record to MCAP", "drive.record", b.ours("drive.record", "a.mcap", allMessages)),
		b.newTask("MCAP to record", "drive.mcap", b.ours("drive.mcap", "a.record", allMessages)),
	}
	if sizeOf(b.carla) > 0 {
		cmd := exec.Command(filepath.Join(b.bin, "converter"), b.carla, b.path("a.mcap"))
		list = append(list, task{name: "CARLA's log to MCAP", input: b.carla,
			programs: []program{{name: "converter", command: cmd, output: b.path("a.mcap")}}})
	}
	return list
}

// reindexing returns the task that gives an index to a bag without one.
func (b *bench) reindexing() task {
	cmd := exec.Command(filepath.Join(b.bin, "converter"), "recover", b.path("unindexed.bag"), b.path("a.bag"))
	t := b.newTask("an index for a bag without one", "unindexed.bag",
		program{name: "converter recover", command: cmd, output: b.path("a.bag"), want: allMessages})
	reindex := b.peer("rosbag reindex", rosbagCommand("reindex", "-q", "-f", b.path("b.bag")), "b.bag", allMessages)
	reindex.prepare = func() error {
		_ = os.Remove(b.path("b.orig.bag"))
		return exec.Command("cp", b.path("unindexed.bag"), b.path("b.bag")).Run()
	}
	t.add(haveRosbag(), reindex)
	return t
}

// filtering returns the tasks that keep one topic.
func (b *bench) filtering() []task {
	bag := b.newTask("one topic of a bag", "drive.bag", b.ours("drive.bag", "a.bag", imus, "--topics", imuTopic))
	filter := rosbagCommand("filter", b.path("drive.bag"), b.path("b.bag"), "topic == '"+imuTopic+"'")
	bag.add(haveRosbag(), b.peer("rosbag filter", filter, "b.bag", imus))

	mcap := b.newTask("one topic of MCAP", "drive.mcap", b.ours("drive.mcap", "a.mcap", imus, "--topics", imuTopic))
	filter = b.mcapTool("filter", b.path("drive.mcap"), "-o", b.path("b.mcap"), "-y", imuTopic,
		"--output-compression", "none")
	mcap.add(b.mcap != "", b.peer("mcap filter", filter, "b.mcap", imus))
	mcap.goal = 0.8
	return []task{bag, mcap}
}

// compressing returns the tasks that compress a recording and keep its format.
func (b *bench) compressing() []task {
	bag := b.newTask("bag to bag, compression lz4", "drive.bag",
		b.ours("drive.bag", "a.bag", allMessages, "--compression", "lz4"))
	compress := b.peer("rosbag compress",
		rosbagCommand("compress", "-q", "--lz4", "--output-dir", b.path("out"), b.path("drive.bag")), "out/drive.bag",
		allMessages)
	compress.prepare = func() error { return os.MkdirAll(b.path("out"), 0o777) }
	bag.add(haveRosbag(), compress)
	list := []task{bag}
	for _, compression := range []string{"zstd", "lz4"} {
		t := b.newTask("MCAP to MCAP, compression "+compression, "drive.mcap",
			b.ours("drive.mcap", "a.mcap", allMessages, "--compression", compression))
		compress := b.mcapTool("compress", b.path("drive.mcap"), "-o", b.path("b.mcap"), "--compression", compression)
		t.add(b.mcap != "", b.peer("mcap compress", compress, "b.mcap", allMessages))
		list = append(list, t)
	}
	return list
}
