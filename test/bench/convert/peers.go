package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// mcapCommit is the last commit of github.com/foxglove/mcap with the command line tool in Go, before one in Rust
// replaced it. It needs the packages beside it in the checkout: its go.mod asks for versions that are too old.
const mcapCommit = "dff2ac4983d4"

// findPeers looks for the other programs, and says which there are not.
func (b *bench) findPeers() error {
	switch stat, err := os.Stat(b.mcap); {
	case err == nil && stat.IsDir():
		source := b.mcap
		b.mcap = b.path("mcap")
		build := exec.Command("go", "build", "-o", b.mcap, ".")
		build.Dir = source
		if output, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("build %s: %w: %s", source, err, output)
		}
	case version(b.mcap, "version") == "":
		fmt.Printf("no mcap: the command line tool is not installed; -mcap takes its source, go/cli/mcap of "+
			"github.com/foxglove/mcap at %s\n", mcapCommit)
		b.mcap = ""
	}
	if !haveRosbag() {
		fmt.Println("no rosbag: ROS 1's is not installed (Debian: python3-rosbag, python3-sensor-msgs)")
	}
	if !haveRosbags() {
		fmt.Println("no rosbags-convert: it is not installed")
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

// ros1bag returns a command of ROS 1's, which does not see the packages of a ROS 2 that is sourced.
func ros1bag(args ...string) *exec.Cmd {
	cmd := exec.Command("/usr/bin/python3", append([]string{"-c", "import rosbag; rosbag.rosbagmain()"}, args...)...)
	cmd.Env = append(os.Environ(), "PYTHONPATH=")
	return cmd
}

// add adds a program to a job, if it is there.
func (j *job) add(there bool, p program) {
	if there {
		j.programs = append(j.programs, p)
	}
}

// jobs returns the conversions to measure.
func (b *bench) jobs() []job {
	const all = images + imus
	mcap, one, two := b.mcap != "", haveRosbag(), haveRosbags()
	ours := func(from, to string, want uint64, args ...string) program {
		return program{name: strings.Join(append([]string{"converter"}, args...), " "),
			command: b.converter(from, to, args...), output: b.path(to), want: want}
	}
	theirs := func(name string, cmd *exec.Cmd, output string, want uint64) program {
		return program{name: name, command: cmd, output: b.path(output), want: want}
	}
	tool := func(args ...string) *exec.Cmd { return exec.Command(b.mcap, args...) }
	rosbags := func(from, to string, args ...string) program {
		cmd := exec.Command("rosbags-convert", append([]string{"--src", b.path(from), "--dst", b.path(to)}, args...)...)
		return theirs("rosbags-convert", cmd, to, all)
	}
	in := func(name, input string, ours ...program) job {
		return job{name: name, input: b.path(input), programs: ours}
	}

	var list []job
	for _, compression := range []string{"none", "zstd", "lz4"} {
		j := in("bag to MCAP, payloads of ROS 1 kept, compression "+compression, "drive.bag",
			ours("drive.bag", "a.mcap", all, "--encoding", "keep", "--compression", compression))
		j.add(mcap, theirs("mcap convert", tool("convert", b.path("drive.bag"), b.path("b.mcap"), "--compression",
			compression), "b.mcap", all))
		if compression == "none" {
			j.goal = 0.7
		}
		list = append(list, j)
	}

	j := in("bag to rosbag2 with MCAP, re-encoded", "drive.bag", ours("drive.bag", "a", all, "--to", "rosbag2"))
	j.add(two, rosbags("drive.bag", "b", "--dst-storage", "mcap"))
	list = append(list, j)

	j = in("bag to rosbag2 with SQLite, re-encoded", "drive.bag",
		ours("drive.bag", "a", all, "--to", "rosbag2", "--storage", "sqlite3"))
	j.add(two, rosbags("drive.bag", "b", "--dst-storage", "sqlite3"))
	list = append(list, j)

	j = in("rosbag2 with MCAP to bag, re-encoded", "drive.rosbag2", ours("drive.rosbag2", "a.bag", all))
	j.add(two, rosbags("drive.rosbag2", "b.bag"))
	list = append(list, j)

	j = in("rosbag2 with MCAP to rosbag2 with SQLite", "drive.rosbag2",
		ours("drive.rosbag2", "a", all, "--to", "rosbag2", "--storage", "sqlite3"))
	if b.ros2 != nil {
		options := b.path("options.yaml")
		p := theirs("ros2 bag convert", exec.Command(b.ros2[0],
			append(b.ros2[1:], "-i", b.path("drive.rosbag2"), "mcap", "-o", options)...), "b", all)
		p.prepare = func() error {
			text := fmt.Sprintf("output_bags:\n- {uri: %s, storage_id: sqlite3, all: true}\n", b.path("b"))
			return os.WriteFile(options, []byte(text), 0o666)
		}
		j.programs = append(j.programs, p)
	}
	list = append(list, j,
		in("record to MCAP", "drive.record", ours("drive.record", "a.mcap", all)),
		in("MCAP to record", "drive.mcap", ours("drive.mcap", "a.record", all)),
	)
	if sizeOf(b.carla) > 0 {
		cmd := exec.Command(filepath.Join(b.bin, "converter"), b.carla, b.path("a.mcap"))
		list = append(list, job{name: "CARLA's log to MCAP", input: b.carla,
			programs: []program{{name: "converter", command: cmd, output: b.path("a.mcap")}}})
	}

	j = in("an index for a bag without one", "unindexed.bag", program{
		name: "converter recover", command: exec.Command(filepath.Join(b.bin, "converter"), "recover",
			b.path("unindexed.bag"), b.path("a.bag")), output: b.path("a.bag"), want: all,
	})
	reindex := theirs("rosbag reindex", ros1bag("reindex", "-q", "-f", b.path("b.bag")), "b.bag", all)
	reindex.prepare = func() error {
		_ = os.Remove(b.path("b.orig.bag"))
		return exec.Command("cp", b.path("unindexed.bag"), b.path("b.bag")).Run()
	}
	j.add(one, reindex)
	list = append(list, j)

	j = in("one topic of a bag", "drive.bag", ours("drive.bag", "a.bag", imus, "--topics", imuTopic))
	j.add(one, theirs("rosbag filter", ros1bag("filter", b.path("drive.bag"), b.path("b.bag"),
		"topic == '"+imuTopic+"'"),
		"b.bag", imus))
	list = append(list, j)

	j = in("one topic of MCAP", "drive.mcap", ours("drive.mcap", "a.mcap", imus, "--topics", imuTopic))
	j.add(mcap, theirs("mcap filter", tool("filter", b.path("drive.mcap"), "-o", b.path("b.mcap"), "-y", imuTopic,
		"--output-compression", "none"), "b.mcap", imus))
	j.goal = 0.8
	list = append(list, j)

	for _, compression := range []string{"lz4"} {
		j = in("bag to bag, compression "+compression, "drive.bag",
			ours("drive.bag", "a.bag", all, "--compression", compression))
		compress := theirs("rosbag compress", ros1bag("compress", "-q", "--"+compression, "--output-dir", b.path("out"),
			b.path("drive.bag")), "out/drive.bag", all)
		compress.prepare = func() error { return os.MkdirAll(b.path("out"), 0o777) }
		j.add(one, compress)
		list = append(list, j)
	}
	for _, compression := range []string{"zstd", "lz4"} {
		j = in("MCAP to MCAP, compression "+compression, "drive.mcap",
			ours("drive.mcap", "a.mcap", all, "--compression", compression))
		j.add(mcap, theirs("mcap compress", tool("compress", b.path("drive.mcap"), "-o", b.path("b.mcap"),
			"--compression",
			compression), "b.mcap", all))
		list = append(list, j)
	}
	return append(list, b.tables()...)
}
