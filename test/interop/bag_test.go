package interop

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/format/rosbag2"
	"tapedeck/test/internal/process"
)

// TestBagRecord checks that `ros2 bag record` records all messages that the player plays: 3,000 messages in 3 s.
func TestBagRecord(t *testing.T) {
	eachCell(t, func(t *testing.T, s *stack) {
		s.needPackage("ros2bag")
		storages := []string{"mcap", "sqlite3"}
		writeNumbers(t, s.path("n.record"), "record", 3000, time.Millisecond, "/mcap", "/sqlite3")
		var bags []*process.Process
		for _, storage := range storages {
			bags = append(bags, s.record(storage, []string{"/" + storage}, "-s", storage))
		}
		s.ours("player", "n.record", "--wait-for-subscribers").Wait(0)
		finish(bags...)
		for i, storage := range storages {
			require.NotContains(t, bags[i].Output(), "lost")
			requireNumbers(t, s.path(storage), "/"+storage, 3000)
		}
	})
}

// record starts `ros2 bag record` of topics.
func (s *stack) record(bag string, topics []string, options ...string) *process.Process {
	s.t.Helper()
	var qos strings.Builder // the default QoS overwrites unwritten messages
	for _, topic := range topics {
		fmt.Fprintf(&qos, "%s: {history: keep_all}\n", topic)
	}
	s.write(bag+".yaml", qos.String())
	args := []string{"bag", "record", "-o", bag, "--qos-profile-overrides-path", bag + ".yaml"}
	if os.Getenv("ROS_DISTRO") != "humble" {
		args = append(args, "--topics")
	}
	return s.ros2(slices.Concat(args, topics, options)...)
}

// finish ends `ros2 bag record`. It waits before, because not all acknowledged messages may be written.
func finish(bags ...*process.Process) {
	time.Sleep(3 * time.Second)
	for _, bag := range bags {
		bag.Stop()
	}
}

// TestBagInfo checks that `ros2 bag info` reads a recording of several files.
func TestBagInfo(t *testing.T) {
	eachCell(t, func(t *testing.T, s *stack) {
		s.needPackage("ros2bag")
		recorder := s.ours("recorder", "-s", "mcap", "--max-bag-messages", "8", "--repeat-latched=false", "-o", "ours",
			"/n")
		s.publish(20, "/n", "std_msgs/msg/UInt32", "{data: 7}")
		recorder.Interrupt()
		out := s.ros2("bag", "info", "ours").Wait(0)
		require.Contains(t, out, "ours_2.mcap")
		require.Contains(t, out, "Topic: /n | Type: std_msgs/msg/UInt32 | Count: 20 | Serialization Format: cdr\n")
	})
}

// TestBagPlay checks that the recorder records all messages that `ros2 bag play` plays of tapedeck's compressed MCAP:
// 3,000 messages in 3 s.
func TestBagPlay(t *testing.T) {
	eachCell(t, func(t *testing.T, s *stack) {
		s.needPackage("ros2bag")
		writeNumbers(t, s.path("n.record"), "record", 3000, time.Millisecond, "/n")
		s.ours("converter", "n.record", "ours", "--to", "rosbag2", "--compression", "zstd").Wait(0)
		recorder := s.ours("recorder", "-o", "copy", "/n")
		s.play(recorder, "/n", "ours").Wait(0)
		require.Contains(t, recorder.Interrupt(), "0 dropped, 0 lost in transport")
		requireNumbers(t, s.path("copy.record.00000"), "/n", 3000)
	})
}

// TestBagSQLite checks that `ros2 bag info`, `convert` and `reindex` read tapedeck's databases, in each form.
func TestBagSQLite(t *testing.T) {
	eachCell(t, func(t *testing.T, s *stack) {
		s.needPackage("ros2bag")
		for name, o := range map[string]rosbag2.Options{
			"plain": {}, "older": {Version: 5}, "file": {CompressionMode: "file"},
			"message": {CompressionMode: "message"},
		} {
			o.Storage = "sqlite3"
			writeNumbersAs(t, s.path(name), codec.Formats{o.Format()}, "", 3000, time.Millisecond, "/n")
			out := s.ros2("bag", "info", name).Wait(0)
			require.Contains(t, out, "Topic: /n | Type: std_msgs/msg/UInt32 | Count: 3000 | Serialization Format: "+
				"cdr\n")
			s.write(name+".yaml", "output_bags:\n- uri: "+name+"_copy\n  storage_id: sqlite3\n  all: true\n")
			s.ros2("bag", "convert", "-i", name, "-o", name+".yaml").Wait(0)
			requireNumbers(t, s.path(name+"_copy"), "/n", 3000)
		}
		require.NoError(t, os.Remove(s.path("plain/metadata.yaml")))
		s.ros2("bag", "reindex", "-s", "sqlite3", "plain").Wait(0)
		require.Contains(t, s.ros2("bag", "info", "plain").Wait(0), "Count: 3000")
		requireNumbers(t, s.path("plain"), "/n", 3000)
	})
}

// play starts `ros2 bag play`, which begins to play once recorder has subscribed to a topic of the bag.
func (s *stack) play(recorder *process.Process, topic string, args ...string) *process.Process {
	s.t.Helper()
	play := s.ros2(append([]string{"bag", "play", "--start-paused", "--wait-for-all-acked", "0"}, args...)...)
	recorder.Prints("recording " + topic + " ")
	s.ros2("service", "call", "/rosbag2_player/resume", "rosbag2_interfaces/srv/Resume").Wait(0)
	return play
}

// TestPlayBags checks that the player plays all messages of `ros2 bag record`, in each form of bags.
func TestPlayBags(t *testing.T) {
	eachCell(t, func(t *testing.T, s *stack) {
		s.needPackage("ros2bag")
		forms := map[string][]string{
			"mcap":      {"-s", "mcap"},
			"mcap_zstd": {"-s", "mcap", "--storage-preset-profile", "zstd_fast"},
			"sqlite3":   {"-s", "sqlite3"},
			"file_zstd": {"-s", "sqlite3", "--compression-mode", "file", "--compression-format", "zstd"},
			"message_zstd": {"-s", "sqlite3", "--compression-mode", "message", "--compression-format", "zstd",
				"--compression-queue-size", "0"},
		}
		var topics []string
		play := []string{"--wait-for-subscribers"}
		for form := range forms {
			topics = append(topics, "/"+form)
			play = append(play, form)
		}
		writeNumbers(t, s.path("n.record"), "record", 200, 5*time.Millisecond, topics...)
		var bags []*process.Process
		for form, options := range forms {
			bags = append(bags, s.record(form, []string{"/" + form}, options...))
		}
		s.ours("player", "n.record", "--wait-for-subscribers").Wait(0)
		finish(bags...)
		recorder := s.ours("recorder", append([]string{"-o", "copy"}, topics...)...)
		s.ours("player", play...).Wait(0)
		recorder.Interrupt()
		for form := range forms {
			requireNumbers(t, s.path(form), "/"+form, 200)
			requireNumbers(t, s.path("copy.record.00000"), "/"+form, 200)
		}
	})
}
