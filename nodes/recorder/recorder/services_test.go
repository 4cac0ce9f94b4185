package recorder

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/msgs"
	"tapedeck/msgs/builtin_interfaces"
	srv "tapedeck/msgs/rosbag2_interfaces"
	"tapedeck/msgs/std_srvs"
	"tapedeck/msgs/tapedeck"
	"tapedeck/nodes/internal/graph/remote"
	"tapedeck/nodes/recorder/internal/queue"
)

// newest makes a test use the newest forms of rosbag2's interfaces.
func newest(t *testing.T) {
	t.Setenv("AMENT_PREFIX_PATH", "")
	t.Setenv("ROS_DISTRO", "")
}

// send calls a service of the recorder with a payload.
func (d *testRecorder) send(name, kind string, payload []byte) []byte {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.t.Context(), patient)
	defer cancel()
	response, err := d.peer.Call(ctx, "/recorder/"+name, "rosbag2_interfaces/srv/"+kind, payload)
	require.NoError(d.t, err)
	return response
}

// ask calls a service of rosbag2's recorder.
func (d *testRecorder) ask(name, kind string, request, response msgs.Message) {
	d.t.Helper()
	d.call("/recorder/"+name, "rosbag2_interfaces/srv/"+kind, request, response)
}

func (d *testRecorder) isPaused() bool {
	var response srv.IsPaused_Response
	d.ask("is_paused", "IsPaused", &srv.IsPaused_Request{}, &response)
	return response.Paused
}

func rosTimeOf(t time.Time) builtin_interfaces.Time { return builtin_interfaces.TimeAt(t.UnixNano()) }

func TestServicesPauseAndSplit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		newest(t)
		d := newTestRecorder(t, testOptions("mcap"), "/n")
		p := d.advertise("/n", codec.DefaultQoS())
		d.publish(p, 1)
		d.ask("pause", "Pause", &srv.Pause_Request{}, &srv.Pause_Response{})
		require.True(t, d.isPaused())
		d.publish(p, 2)
		var resumed srv.Resume_Response
		d.ask("resume", "Resume", &srv.Resume_Request{}, &resumed)
		require.Equal(t, srv.Resume_Response{}, resumed)
		require.False(t, d.isPaused())
		d.publish(p, 3)
		var split srv.SplitBagfile_Response
		d.ask("split_bagfile", "SplitBagfile", &srv.SplitBagfile_Request{}, &split)
		require.Equal(t, srv.SplitBagfile_Response{}, split)
		d.publish(p, 4)
		require.NoError(t, d.end())
		require.Equal(t, []uint32{1, 3}, numbers(t, "drive/drive_0.mcap", "/n"))
		require.Equal(t, []uint32{4}, numbers(t, "drive/drive_1.mcap", "/n"))
		require.Contains(t, events(t, "drive"), "pause  0 recording was paused")
	})
}

func TestServiceStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newTestRecorder(t, testOptions("mcap"), "/n")
		d.publish(d.advertise("/n", codec.DefaultQoS()), 1)
		status := func() (s remote.Status) {
			var answer std_srvs.Trigger_Response
			d.call("/recorder/status", "std_srvs/srv/Trigger", &std_srvs.Trigger_Request{}, &answer)
			require.NoError(t, json.Unmarshal([]byte(answer.Message), &s))
			return s
		}
		s := status()
		require.Equal(t, []any{"/recorder", "RECORDING", "rosbag2", []string{absolute("drive")}},
			[]any{s.Node, s.State, s.Format, s.Paths})
		require.Nil(t, s.Snapshots)
		require.Len(t, s.Topics, 1)
		require.EqualValues(t, 1, s.Topics[0].Received)
		require.Contains(t, s.String(), "state:     RECORDING\n")
		d.ask("stop", "Stop", &srv.Stop_Request{}, &srv.Stop_Response{})
		require.Equal(t, "STOPPED", status().State)
		require.NoError(t, d.end())
	})
}

// The service status returns snapshots, and the rates of topics, also without a status line.
func TestServiceStatusOfSnapshots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := withSnapshots("mcap")
		o.Quiet, o.Diagnostics = true, false
		d := newTestRecorder(t, o, "/n")
		flow := d.startTraffic("/n", 10*time.Millisecond, 1000)
		time.Sleep(20 * time.Second)
		var answer std_srvs.Trigger_Response
		status := func() (s remote.Status) {
			d.call("/recorder/status", "std_srvs/srv/Trigger", &std_srvs.Trigger_Request{}, &answer)
			require.NoError(t, json.Unmarshal([]byte(answer.Message), &s))
			return s
		}
		require.Equal(t, &remote.SnapshotStatus{}, status().Snapshots)
		require.Contains(t, status().String(), "snapshots: 0 taken\n")
		path := d.takeSnapshot(tapedeck.TakeSnapshot_Request{}).Path
		s := status()
		require.Equal(t, &remote.SnapshotStatus{Taken: 1, Last: path}, s.Snapshots)
		require.InDelta(t, 100, s.Topics[0].MessageRate, 2)
		require.InDelta(t, 100_000, s.Topics[0].ByteRate, 2000)
		require.Contains(t, s.String(), "snapshots: 1 taken, the last one is "+path)
		require.Contains(t, s.String(), "MB/s\n")
		flow.end()
		require.NoError(t, d.end())
	})
}

func TestServicesRecordAndStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		newest(t)
		d := newTestRecorder(t, testOptions("record"), "/n")
		p := d.advertise("/n", codec.DefaultQoS())
		d.publish(p, 1)
		state := func() string {
			var recording srv.IsRecording_Response
			var uri srv.GetUri_Response
			var topics srv.GetSubscribedTopics_Response
			var discovery srv.IsDiscoveryRunning_Response
			d.ask("is_recording", "IsRecording", &srv.IsRecording_Request{}, &recording)
			d.ask("get_uri", "GetUri", &srv.GetUri_Request{}, &uri)
			d.ask("get_subscribed_topics", "GetSubscribedTopics", &srv.GetSubscribedTopics_Request{}, &topics)
			d.ask("is_discovery_running", "IsDiscoveryRunning", &srv.IsDiscoveryRunning_Request{}, &discovery)
			return fmt.Sprint(recording.Recording, " ", uri.Uri, topics.Topics, discovery.Running)
		}
		require.Equal(t, "true drive.record.00000[/n] true", state())

		var recorded srv.Record_Response
		d.ask("record", "Record", &srv.Record_Request{Uri: "second"}, &recorded)
		require.Equal(t, srv.Record_Response{ReturnCode: 1, ErrorString: "drive.record.00000 is being recorded"},
			recorded)
		var stopped srv.Stop_Response
		d.ask("stop", "Stop", &srv.Stop_Request{}, &stopped)
		require.Equal(t, srv.Stop_Response{}, stopped)
		require.Equal(t, "false [] false", state())
		d.ask("stop", "Stop", &srv.Stop_Request{}, &stopped)
		require.Equal(t, srv.Stop_Response{ReturnCode: 1, ErrorString: errNotRecording.Error()}, stopped)
		var split srv.SplitBagfile_Response
		d.ask("split_bagfile", "SplitBagfile", &srv.SplitBagfile_Request{}, &split)
		require.Equal(t, srv.SplitBagfile_Response_RETURN_CODE_NOT_RECORDING, split.ReturnCode)
		var started srv.StartDiscovery_Response
		d.ask("start_discovery", "StartDiscovery", &srv.StartDiscovery_Request{}, &started)
		require.Equal(t, srv.StartDiscovery_Response{ReturnCode: 1, ErrorString: errNotRecording.Error()}, started)

		d.ask("record", "Record", &srv.Record_Request{Uri: "drive"}, &recorded)
		require.Equal(t, int32(1), recorded.ReturnCode)
		require.Contains(t, recorded.ErrorString, "drive.record.00000")
		d.ask("record", "Record", &srv.Record_Request{Uri: "second",
			StartTime: rosTimeOf(time.Now().Add(300 * time.Millisecond))}, &recorded)
		require.Equal(t, srv.Record_Response{}, recorded)
		require.Equal(t, "false [] false", state())
		d.awaitSubscribers(p)
		require.Equal(t, "true second.record.00000[/n] true", state())
		d.publish(p, 2)
		require.NoError(t, d.end())
		require.ErrorContains(t, d.start("third"), "the recorder is shutting down")
		require.Equal(t, []uint32{1}, numbers(t, "drive.record.00000", "/n"))
		require.Equal(t, []uint32{2}, numbers(t, "second.record.00000", "/n"))
	})
}

func TestServicesStayInTheFolderOfTheRecording(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Symlink("..", filepath.Join(dir, "out")))
	synctest.Test(t, func(t *testing.T) {
		newest(t)
		o := withSnapshots("record")
		o.Output = filepath.Join(dir, "drive")
		d := newTestRecorder(t, o, "/n")
		record := func(name string) string {
			var response srv.Record_Response
			d.ask("record", "Record", &srv.Record_Request{Uri: name}, &response)
			return response.ErrorString
		}
		var split tapedeck.Split_Response
		for _, path := range []string{"/tmp/x", "../x", "out/x"} {
			d.call("/recorder/split", "tapedeck/srv/Split", &tapedeck.Split_Request{Output: path}, &split)
			require.Contains(t, split.Message, "service_root", path)
		}
		d.call("/recorder/split", "tapedeck/srv/Split", &tapedeck.Split_Request{Output: "next"}, &split)
		require.Equal(t, filepath.Join(dir, "next.record.00000"), split.OpenedFile, split.Message)
		d.ask("stop", "Stop", &srv.Stop_Request{}, &srv.Stop_Response{})
		for _, path := range []string{"/tmp/x", "../x", "a/../../x", "out/x"} {
			require.Contains(t, d.takeSnapshot(tapedeck.TakeSnapshot_Request{Path: path}).Message, "service_root", path)
			require.Contains(t, record(path), "service_root", path)
		}
		require.Empty(t, record("again"))
		require.Equal(t, filepath.Join(dir, "again.record.00000"), d.path())
		answer := d.takeSnapshot(tapedeck.TakeSnapshot_Request{Path: "x/crash"})
		require.Equal(t, filepath.Join(dir, "x/crash.record.00000"), answer.Path, answer.Message)
		d.ask("stop", "Stop", &srv.Stop_Request{}, &srv.Stop_Response{})
		require.Empty(t, record(""))
		require.Contains(t, d.path(), filepath.Join(dir, "tapedeck_"))
		require.NoError(t, d.end())
	})
}

func TestServiceRoot(t *testing.T) {
	for _, test := range []struct{ output, root, folder, name, recording, snapshot string }{
		{"drive", "", "", "x", "x", "x"},
		{"/data/drive", "", "", "x", "/data/x", "/data/x"},
		{"/data/drive", "", "/saved", "x", "/data/x", "/saved/x"},
		{"/data/drive", "/logs", "", "x", "/logs/x", "/logs/x"},
		{"/drive", "", "", "tmp/x", "/tmp/x", "/tmp/x"},
		{"/drive", "", "/", "/tmp/x", "", ""},
		{"/data/drive", "/", "", "x", "x", "x"},
		{"/data/drive", "/", "saved", "x", "x", "saved/x"},
		{"/data/drive", "/", "saved", "/tmp/x", "/tmp/x", "/tmp/x"},
	} {
		o := withSnapshots("record")
		o.Output, o.ServiceRoot, o.SnapshotFolder = test.output, test.root, test.folder
		r := &recorder{options: o, root: o.serviceRoot(test.output)}
		recording, _ := r.root.Path(t.Context(), test.name)
		require.Equal(t, test.recording, recording, test)
		snapshot, _ := r.snapshotName(t.Context(), test.name)
		require.Equal(t, test.snapshot, snapshot, test)
	}
}

func TestServicesOfTopics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		newest(t)
		o := testOptions("record")
		o.All = true
		d := newTestRecorder(t, o)
		d.advertise("/a", codec.DefaultQoS())
		var response srv.StopDiscovery_Response
		d.ask("stop_discovery", "StopDiscovery", &srv.StopDiscovery_Request{}, &response)
		require.Equal(t, srv.StopDiscovery_Response{}, response)
		d.ask("stop_discovery", "StopDiscovery", &srv.StopDiscovery_Request{}, &response)
		require.Equal(t, int32(1), response.ReturnCode)

		p, err := d.peer.Advertise("/b", "std_msgs/msg/UInt32", codec.DefaultQoS())
		require.NoError(t, err)
		subscribe := func(topics, types []string) srv.SubscribeToTopics_Response {
			var response srv.SubscribeToTopics_Response
			d.ask("subscribe_to_topics", "SubscribeToTopics",
				&srv.SubscribeToTopics_Request{Topics: topics, TopicTypes: types},
				&response)
			return response
		}
		got := subscribe([]string{"/b", "/none"}, nil)
		require.Equal(t, srv.SubscribeToTopics_Response{SubscribedTopics: []string{"/b"},
			UnavailableTopics: []string{"/none"}}, got)
		d.awaitSubscribers(p)
		got = subscribe([]string{"/none"}, []string{""})
		require.Equal(t, int32(1), got.ReturnCode)
		require.Equal(t, []string{"/none"}, got.UnavailableTopics)
		got = subscribe([]string{"/x", "/y"}, []string{"std_msgs/msg/UInt32"})
		require.Equal(t, "got 2 topics but 1 type", got.ErrorString)
		got = subscribe([]string{"not a name"}, nil)
		require.Equal(t, int32(1), got.ReturnCode)
		require.Equal(t, []string{"not a name"}, got.UnavailableTopics)

		var started srv.StartDiscovery_Response
		d.ask("start_discovery", "StartDiscovery", &srv.StartDiscovery_Request{}, &started)
		require.Equal(t, srv.StartDiscovery_Response{}, started)
		d.ask("start_discovery", "StartDiscovery", &srv.StartDiscovery_Request{}, &started)
		require.Equal(t, srv.StartDiscovery_Response{ReturnCode: 1, ErrorString: "discovery is running"}, started)
		d.advertise("/c", codec.DefaultQoS())
	})
}

// emptyPayload is a request or a response without fields.
var emptyPayload = []byte{0, 1, 0, 0, 0}

// Services accept requests in the forms of several releases of ROS 2, and answer in the form of the request.
func TestServicesOfOtherReleases(t *testing.T) {
	newRequest, err := cdr.Marshal(&srv.SplitBagfile_Request{})
	require.NoError(t, err)
	newResponse, err := cdr.Marshal(&srv.SplitBagfile_Response{})
	require.NoError(t, err)
	stopResponse, err := cdr.Marshal(&srv.Stop_Response{})
	require.NoError(t, err)
	uri, err := cdr.Marshal(&srv.GetUri_Response{Uri: "second"}) // has the fields of Record_Request in ROS 2 Kilted
	require.NoError(t, err)
	recordResponse, err := cdr.Marshal(&srv.Record_Response{})
	require.NoError(t, err)
	for release, stop := range map[string][]byte{"": stopResponse, "humble": emptyPayload, "kilted": emptyPayload,
		"rolling": stopResponse} {
		inBubble(t, "ROS_DISTRO="+release, func(t *testing.T) {
			newest(t)
			t.Setenv("ROS_DISTRO", release)
			d := newTestRecorder(t, testOptions("record"), "/n")
			for _, c := range []struct {
				name, kind string
				request    []byte
				response   []byte
			}{
				{"resume", "Resume", emptyPayload, emptyPayload},
				{"resume", "Resume", newRequest, newResponse}, // has the same fields in all releases
				{"resume", "Resume", emptyPayload[:4], emptyPayload},
				{"resume", "Resume", append(emptyPayload[:5:5], 0, 0, 0), emptyPayload},
				{"split_bagfile", "SplitBagfile", emptyPayload, emptyPayload},
				{"split_bagfile", "SplitBagfile", newRequest, newResponse},
				{"pause", "Pause", emptyPayload, emptyPayload},
				{"stop", "Stop", emptyPayload, stop},
				{"record", "Record", uri, recordResponse},
			} {
				require.Equal(t, c.response, d.send(c.name, c.kind, c.request), "%s % x", c.name, c.request)
			}
			require.Equal(t, "second.record.00000", d.path())
		})
	}
}

func TestServicesRefuseWrongModesAndTopics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		newest(t)
		d := newTestRecorder(t, testOptions("record"), "/n")
		var resumed srv.Resume_Response
		var split srv.SplitBagfile_Response
		for _, mode := range []int32{-1, 3} {
			d.ask("resume", "Resume", &srv.Resume_Request{ResumeMode: mode}, &resumed)
			require.Equal(t, srv.Resume_Response_RETURN_CODE_INVALID_RESUME_MODE, resumed.ReturnCode)
			require.Contains(t, resumed.ErrorString, fmt.Sprintf("unknown mode %d", mode))
			d.ask("split_bagfile", "SplitBagfile", &srv.SplitBagfile_Request{SplitMode: mode}, &split)
			require.Equal(t, srv.SplitBagfile_Response_RETURN_CODE_INVALID_SPLIT_MODE, split.ReturnCode)
		}
		d.ask("resume", "Resume", &srv.Resume_Request{TrackingTopicName: "not a name"}, &resumed)
		require.Equal(t, srv.Resume_Response_RETURN_CODE_INVALID_TRACKING_TOPIC, resumed.ReturnCode)
		d.ask("split_bagfile", "SplitBagfile", &srv.SplitBagfile_Request{TrackingTopicName: "not a name"}, &split)
		require.Equal(t, srv.SplitBagfile_Response_RETURN_CODE_INVALID_TRACKING_TOPIC, split.ReturnCode)
	})
}

// A deadline may be by publish time or by log time. Messages before the deadline are in the first file, or are not
// recorded.
func TestServicesAtATimeToCome(t *testing.T) {
	newest(t)
	for mode, name := range []string{"clock", "publish time", "receive time"} {
		inBubble(t, name, func(t *testing.T) {
			d := newTestRecorder(t, testOptions("record"), "/n", "/other")
			p, other := d.advertise("/n", codec.DefaultQoS()), d.advertise("/other", codec.DefaultQoS())
			d.publish(p, 1)
			at := time.Now().Add(400 * time.Millisecond)
			var split srv.SplitBagfile_Response
			d.ask("split_bagfile", "SplitBagfile",
				&srv.SplitBagfile_Request{SplitTime: rosTimeOf(at), SplitMode: int32(mode),
					TrackingTopicName: "/n"}, &split)
			require.Equal(t, srv.SplitBagfile_Response{}, split)
			d.publish(p, 2)
			time.Sleep(time.Until(at))
			if mode != queue.ByClock {
				d.publish(other, 100) // does not count
			}
			d.publish(p, 3, 4)
			require.Eventually(t, func() bool { return d.file() == "drive.record.00001" }, patient, time.Millisecond)

			d.ask("pause", "Pause", &srv.Pause_Request{}, &srv.Pause_Response{})
			at = time.Now().Add(400 * time.Millisecond)
			var resumed srv.Resume_Response
			d.ask("resume", "Resume", &srv.Resume_Request{ResumeTime: rosTimeOf(at), ResumeMode: int32(mode),
				TrackingTopicName: "/n"}, &resumed)
			require.Equal(t, srv.Resume_Response{}, resumed)
			d.publish(p, 5)
			time.Sleep(time.Until(at))
			if mode == queue.ByClock {
				require.Eventually(t, func() bool { return !d.isPaused() }, patient, time.Millisecond)
			} else {
				d.publish(other, 101)
				require.True(t, d.isPaused())
			}
			d.publish(p, 6)
			require.Eventually(t, func() bool { return !d.isPaused() }, patient, time.Millisecond)
			d.publish(other, 102)
			require.NoError(t, d.end())
			require.Equal(t, []uint32{1, 2}, numbers(t, "drive.record.00000", "/n"))
			require.Equal(t, []uint32{3, 4, 6}, numbers(t, "drive.record.00001", "/n"))
			if mode != queue.ByClock {
				require.Equal(t, []uint32{100}, numbers(t, "drive.record.00000", "/other"))
			}
			require.Equal(t, []uint32{102}, numbers(t, "drive.record.00001", "/other"))
		})
	}
}

// A request for a later time is dropped when the recording is stopped, or when another request replaces it.
func TestServicesForgetWhatIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		newest(t)
		d := newTestRecorder(t, testOptions("record"), "/n")
		soon := rosTimeOf(time.Now().Add(200 * time.Millisecond))
		later := rosTimeOf(time.Now().Add(time.Hour))
		var split srv.SplitBagfile_Response
		d.ask("pause", "Pause", &srv.Pause_Request{}, &srv.Pause_Response{})
		d.ask("resume", "Resume", &srv.Resume_Request{ResumeTime: soon}, &srv.Resume_Response{})
		d.ask("resume", "Resume", &srv.Resume_Request{ResumeTime: later}, &srv.Resume_Response{})
		d.ask("split_bagfile", "SplitBagfile", &srv.SplitBagfile_Request{SplitTime: soon}, &split)
		d.ask("split_bagfile", "SplitBagfile", &srv.SplitBagfile_Request{SplitTime: later,
			SplitMode: queue.ByPublishing},
			&split)
		require.Never(t, func() bool { return !d.isPaused() || d.file() != "drive.record.00000" }, 400*time.Millisecond,
			20*time.Millisecond)
		d.ask("resume", "Resume", &srv.Resume_Request{ResumeTime: rosTimeOf(time.Now().Add(100 * time.Millisecond))},
			&srv.Resume_Response{})
		d.ask("stop", "Stop", &srv.Stop_Request{}, &srv.Stop_Response{})
		d.ask("record", "Record", &srv.Record_Request{Uri: "second"}, &srv.Record_Response{})
		d.ask("pause", "Pause", &srv.Pause_Request{}, &srv.Pause_Response{})
		require.Never(t, func() bool { return !d.isPaused() }, 300*time.Millisecond, 20*time.Millisecond)
	})
}

// Requests for a later time are refused once the recorder ends.
func TestServicesRefusePlansAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		newest(t)
		o := testOptions("record")
		o.StartPaused = true
		d := newTestRecorder(t, o, "/n")
		d.advertise("/n", codec.DefaultQoS())
		require.NoError(t, d.end())
		later := rosTimeOf(time.Now().Add(time.Second))
		var recorded srv.Record_Response
		d.ask("record", "Record", &srv.Record_Request{Uri: "second", StartTime: later}, &recorded)
		require.Equal(t, srv.Record_Response{ReturnCode: 1, ErrorString: errEnds.Error()}, recorded)
		for mode := range int32(queue.NumberOfModes) {
			var resumed srv.Resume_Response
			d.ask("resume", "Resume", &srv.Resume_Request{ResumeTime: later, ResumeMode: mode}, &resumed)
			require.Equal(t, srv.Resume_Response_RETURN_CODE_RESUME_FAILED, resumed.ReturnCode)
			require.Equal(t, errEnds.Error(), resumed.ErrorString)
		}
	})
}
