package recorder

import (
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	format "tapedeck/codec/format/session"
	srv "tapedeck/msgs/rosbag2_interfaces"
	"tapedeck/msgs/sensor_msgs"
	"tapedeck/msgs/std_msgs"
	"tapedeck/msgs/std_srvs"
	"tapedeck/nodes/internal/graph/remote"
)

// discardEpisode calls the recorder's service /recorder/discard and returns its answer.
func (d *testRecorder) discardEpisode() (answer std_srvs.Trigger_Response) {
	d.t.Helper()
	d.call("/recorder/discard", "std_srvs/srv/Trigger", &std_srvs.Trigger_Request{}, &answer)
	return answer
}

// TestServiceDiscard discards one episode in each way: by the service while the episode is recorded, by the service
// after the episode has ended, by the trigger, and by the service after recording has stopped. Episodes are marked on
// the disk at once, so that the marks survive a crash.
func TestServiceDiscard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		newest(t)
		o := testOptions("session")
		o.parameters = map[string]any{"robot.episodes.topic": "/episode", "robot.arms.arm_0.gripper": "/g"}
		d := newTestRecorder(t, o, "/episode", "/g")
		trigger := d.offer("/episode", "std_msgs/msg/String", codec.DefaultQoS())
		gripper := d.offer("/g", "sensor_msgs/msg/JointState", codec.DefaultQoS())
		d.awaitSubscribers(trigger, gripper)
		samples := 0
		publishSample := func() {
			samples++
			d.emit(gripper, &sensor_msgs.JointState{Header: header(samples), Name: []string{"position"},
				Position: []float64{1}})
		}
		// publishTrigger ends the episode. A task begins another one.
		publishTrigger := func(task string) { d.emit(trigger, &std_msgs.String{Data: task}) }
		// requireDiscard calls the service, which must name the episode that it has discarded.
		requireDiscard := func(episode string) {
			t.Helper()
			require.Equal(t, std_srvs.Trigger_Response{Success: true, Message: "discarded the episode that " + episode},
				d.discardEpisode())
		}
		isMarked := func(path string) bool {
			s, err := format.Open(nil, path)
			require.NoError(t, err)
			list, err := s.Episodes()
			require.NoError(t, err)
			return list[0].Discarded
		}

		// Without an episode, the service fails.
		publishSample()
		require.Equal(t, std_srvs.Trigger_Response{Message: "no episode has begun; a message on /episode begins one"},
			d.discardEpisode())

		// The service discards episode a while it is recorded, into drive.
		publishTrigger("a")
		publishSample()
		require.False(t, isMarked("drive"), "mark of episode a before the call")
		requireDiscard("is being recorded, " + absolute("drive"))
		require.True(t, isMarked("drive"), "mark of episode a after the call")
		require.NoFileExists(t, "drive/metadata.json", "the metadata is written at the end of the episode")
		publishSample()

		// The service discards episode b after it has ended.
		publishTrigger("b")
		publishSample()
		publishTrigger("")
		requireDiscard("ended last, " + absolute("drive_1"))

		// The service discards episode c, which leaves no files because it ends without samples.
		publishTrigger("c")
		requireDiscard("has begun; nothing of it is recorded yet")

		// The trigger discards episode d, in drive_2. Episode e follows in drive_3.
		publishTrigger("d")
		publishSample()
		publishTrigger("discard")
		publishTrigger("e")
		publishSample()
		time.Sleep(time.Second) // until the sample is written

		// The status counts the episodes a, b and d.
		var answer std_srvs.Trigger_Response
		d.call("/recorder/status", "std_srvs/srv/Trigger", &std_srvs.Trigger_Request{}, &answer)
		var status remote.Status
		require.NoError(t, json.Unmarshal([]byte(answer.Message), &status))
		require.Contains(t, status.Text, ", 3 episodes discarded")
		require.Equal(t, 3, status.Discarded)

		// The service discards episode e after recording has stopped.
		d.ask("stop", "Stop", &srv.Stop_Request{}, &srv.Stop_Response{})
		require.False(t, isMarked("drive_3"), "mark of episode e before the call")
		requireDiscard("ended last, " + absolute("drive_3"))

		require.NoError(t, d.end())
		require.Contains(t, d.printed.String(), ", 3 episodes discarded")
		for _, path := range []string{"drive", "drive_1", "drive_2", "drive_3"} {
			require.True(t, isMarked(path), "mark of the episode of %s", path)
			require.True(t, readEpisode(t, path).Discarded, "mark of the complete episode of %s", path)
		}
		require.NoDirExists(t, "drive_4")
	})
}

// TestServiceDiscardWithoutEpisodes checks that the service fails for recordings that have no episodes, and names the
// options that record episodes.
func TestServiceDiscardWithoutEpisodes(t *testing.T) {
	for want, prepare := range map[string]func(*options){
		"recordings of record have no episodes; record with --storage session, which has": func(*options) {},
		"snapshots have no episodes; record without --snapshot-mode, with --storage session": func(o *options) {
			o.SnapshotMode = true
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			o := testOptions("record")
			prepare(&o)
			d := newTestRecorder(t, o, "/n")
			require.Equal(t, std_srvs.Trigger_Response{Message: want}, d.discardEpisode())
			require.NoError(t, d.end())
		})
	}
}

// TestDiscardWithoutMapping records three sessions without a mapping of topics to a robot, so that each session is one
// episode. It discards the second one while it is recorded.
func TestDiscardWithoutMapping(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		newest(t)
		o := testOptions("session")
		o.All = true
		d := newTestRecorder(t, o)
		joints := d.offer("/left/joint_states", "sensor_msgs/msg/JointState", codec.DefaultQoS())
		require.Eventually(t, func() bool { return len(d.subscribedTopics()) == 1 }, patient, time.Millisecond)
		d.awaitSubscribers(joints)
		for i := range 3 {
			if i > 0 { // begin another session
				d.ask("split_bagfile", "SplitBagfile", &srv.SplitBagfile_Request{}, &srv.SplitBagfile_Response{})
			}
			d.emit(joints, &sensor_msgs.JointState{Header: header(i), Name: []string{"a"}, Position: []float64{1}})
			if i == 1 {
				require.Equal(t, "discarded the episode that is being recorded, "+absolute("drive_1"),
					d.discardEpisode().Message)
			}
		}
		require.NoError(t, d.end())
		require.False(t, readEpisode(t, "drive").Discarded, "mark of the first session")
		require.True(t, readEpisode(t, "drive_1").Discarded, "mark of the second session")
		require.False(t, readEpisode(t, "drive_2").Discarded, "mark of the third session")
	})
}
