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

// discardEpisode calls the service discard.
func (d *testRecorder) discardEpisode() (answer std_srvs.Trigger_Response) {
	d.t.Helper()
	d.call("/recorder/discard", "std_srvs/srv/Trigger", &std_srvs.Trigger_Request{}, &answer)
	return answer
}

// The service and the trigger mark episodes at once, so that the marks survive a crash.
func TestServiceDiscard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		newest(t)
		o := testOptions("session")
		o.parameters = map[string]any{"robot.episodes.topic": "/episode", "robot.arms.arm_0.gripper": "/g"}
		d := newTestRecorder(t, o, "/episode", "/g")
		trigger := d.offer("/episode", "std_msgs/msg/String", codec.DefaultQoS())
		grip := d.offer("/g", "sensor_msgs/msg/JointState", codec.DefaultQoS())
		d.awaitSubscribers(trigger, grip)
		i := 0
		sample := func() {
			i++
			d.emit(grip, &sensor_msgs.JointState{Header: header(i), Name: []string{"position"}, Position: []float64{1}})
		}
		episode := func(task string) { d.emit(trigger, &std_msgs.String{Data: task}) }
		discards := func(want string) {
			t.Helper()
			require.Equal(t, std_srvs.Trigger_Response{Success: true, Message: "discarded the episode that " + want},
				d.discardEpisode())
		}
		marked := func(path string) bool {
			s, err := format.Open(nil, path)
			require.NoError(t, err)
			list, err := s.Episodes()
			require.NoError(t, err)
			return list[0].Discarded
		}
		sample()
		require.Equal(t, std_srvs.Trigger_Response{Message: "no episode has begun; a message on /episode begins one"},
			d.discardEpisode())
		episode("a")
		sample()
		require.False(t, marked("drive"))
		discards("is being recorded, " + absolute("drive"))
		require.True(t, marked("drive"))
		require.NoFileExists(t, "drive/metadata.json") // not written before the end
		sample()
		episode("b")
		sample()
		episode("")
		discards("ended last, " + absolute("drive_1"))
		episode("c")
		discards("has begun; nothing of it is recorded yet")
		episode("d") // nothing is recorded of c
		sample()
		episode("discard")
		episode("e")
		sample()
		time.Sleep(time.Second) // until the episode is written
		var answer std_srvs.Trigger_Response
		d.call("/recorder/status", "std_srvs/srv/Trigger", &std_srvs.Trigger_Request{}, &answer)
		var s remote.Status
		require.NoError(t, json.Unmarshal([]byte(answer.Message), &s))
		require.Contains(t, s.Text, ", 3 episodes discarded")
		require.Equal(t, 3, s.Discarded)
		d.ask("stop", "Stop", &srv.Stop_Request{}, &srv.Stop_Response{})
		require.False(t, marked("drive_3"))
		discards("ended last, " + absolute("drive_3"))
		require.NoError(t, d.end())
		require.Contains(t, d.printed.String(), ", 3 episodes discarded")
		for _, path := range []string{"drive", "drive_1", "drive_2", "drive_3"} {
			require.True(t, marked(path))
			require.True(t, readEpisode(t, path).Discarded)
		}
		require.NoDirExists(t, "drive_4")
	})
}

// discard fails for a recording without episodes.
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

// Without a mapping each session is an episode. A session that is discarded after it was written is not moved.
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
			if i > 0 {
				d.ask("split_bagfile", "SplitBagfile", &srv.SplitBagfile_Request{}, &srv.SplitBagfile_Response{})
			}
			d.emit(joints, &sensor_msgs.JointState{Header: header(i), Name: []string{"a"}, Position: []float64{1}})
			if i == 1 {
				require.Equal(t, "discarded the episode that is being recorded, "+absolute("drive_1"),
					d.discardEpisode().Message)
			}
		}
		require.NoError(t, d.end())
		require.False(t, readEpisode(t, "drive").Discarded)
		require.True(t, readEpisode(t, "drive_1").Discarded)
		require.False(t, readEpisode(t, "drive_2").Discarded)
	})
}
