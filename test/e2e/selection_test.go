package e2e

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/codec"

	"tapedeck/test/internal/process"
)

// TestRecorderSelects starts one recorder for each way to select topics, and checks which topics it records. The node
// "publisher" publishes all topics except /b.
func TestRecorderSelects(t *testing.T) {
	t.Parallel()
	g := isolate(t)
	publisher, other := g.open("publisher"), g.open("other")
	for topic, node := range map[string]bridge.Node{
		"/a": publisher, "/camera/a": publisher, "/_hidden": publisher, "/b": other,
	} {
		p, err := node.Advertise(topic, "std_msgs/msg/UInt32", latched())
		require.NoError(t, err)
		require.NoError(t, p.Publish(g.number(1)))
	}
	const systemTopics = "rosout|parameter_events|diagnostics|^/events/" // topics that the nodes publish by themselves
	tests := map[string]struct {
		args, want []string
	}{
		"all": {[]string{"--all", "-x", systemTopics}, []string{"/a", "/b", "/camera/a"}},
		"hidden": {[]string{"--all", "-x", systemTopics, "--include-hidden-topics"},
			[]string{"/_hidden", "/a", "/b", "/camera/a"}},
		"named":    {[]string{"--topics", "a", "/_hidden", "/typo"}, []string{"/_hidden", "/a"}},
		"regex":    {[]string{"-e", "a$", "--exclude-topics", "/camera/a"}, []string{"/a"}},
		"excluded": {[]string{"/a", "/b", "-x", "a"}, []string{"/b"}},
		"node":     {[]string{"--node", "/publisher", "-x", systemTopics}, []string{"/a", "/camera/a"}},
	}
	processes := map[string]*process.Process{}
	for name, test := range tests {
		processes[name] = g.start("recorder", append([]string{"-o", name, "--chunk-duration", "50ms"}, test.args...)...)
	}
	for name, test := range tests {
		p := processes[name]
		for _, topic := range test.want {
			p.Prints("recording " + topic + " ")
		}
		await(t, func() bool { return len(readSoFar(t, g.path(name+".record.00000"))) >= len(test.want) })
	}
	time.Sleep(300 * time.Millisecond) // time enough to record topics that are not selected
	for name, test := range tests {
		p := processes[name]
		out := p.Stop()
		topics := topicsOf(t, g.path(name+".record.00000"))
		slices.Sort(topics)
		require.Equal(t, test.want, topics, name)
		if name == "named" { // /typo does not exist
			require.Contains(t, p.Wait(1), "recorder: nothing was recorded of /typo: nobody published it")
		} else {
			p.Wait(0)
			require.NotContains(t, out, "nothing was recorded")
		}
		require.True(t, strings.HasPrefix(p.Stdout(), "recorded "+name+".record.00000: "),
			"standard output must begin with the result")
		require.Equal(t, 1, strings.Count(p.Stdout(), "\n"), "standard output must have one line")
	}
}

// TestRecorderRemaps checks that the recorder subscribes to the remapped names of topics, and records these names.
func TestRecorderRemaps(t *testing.T) {
	t.Parallel()
	g := isolate(t)
	node := g.open("publisher")
	recorder := g.start("recorder", "-o", "remapped", "--topics", "/a", "relative", "--ros-args", "-r", "/a:=/b", "-r",
		"__ns:=/robot", "-r", "__node:=drive")
	b := g.advertise(node, "/b", "std_msgs/msg/UInt32", keepAll())
	relative := g.advertise(node, "/robot/relative", "std_msgs/msg/UInt32", keepAll())
	require.NoError(t, b.Publish(g.number(1)))
	require.NoError(t, relative.Publish(g.number(2)))
	require.NoError(t, b.Flush(t.Context()))
	require.NoError(t, relative.Flush(t.Context()))
	require.Eventually(t, func() bool {
		return slices.ContainsFunc(node.Topics(), func(topic bridge.Topic) bool {
			return topic.Name == "/b" && len(topic.Subscribers) == 1 && topic.Subscribers[0].Node == "/robot/drive"
		})
	}, patient, 5*time.Millisecond, "/robot/drive, the remapped name of the recorder, must subscribe to /b")
	recorder.Interrupt()
	all := messages(t, g.path("remapped.record.00000"))
	require.Equal(t, [][]byte{g.number(1)}, all["/b"])
	require.Equal(t, [][]byte{g.number(2)}, all["/robot/relative"])
}

// TestPlayerRemaps checks that the player publishes a topic under its remapped name.
func TestPlayerRemaps(t *testing.T) {
	t.Parallel()
	g := isolate(t)
	drive := g.writeNumbers("drive.record", "/a", epoch, 0, 100)
	recorder := g.start("recorder", "-o", "remapped", "/b")
	g.run(0, "player", drive, "--wait-for-subscribers", "--ros-args", "-r", "/a:=/b", "-r", "__ns:=/robot")
	recorder.Interrupt()
	require.Len(t, messages(t, g.path("remapped.record.00000"))["/b"], 2, "both messages of /a were played on /b")
}

// TestQoSOverrides checks that the recorder and the player use the QoS of an overrides file, and that both refuse an
// invalid file.
func TestQoSOverrides(t *testing.T) {
	t.Parallel()
	g := isolate(t)
	write := func(name, text string) string {
		require.NoError(t, os.WriteFile(g.path(name), []byte(text), 0o644))
		return name
	}
	drive := g.writeNumbers("drive.record", "/a", epoch, 0, 600_000)
	recorder := g.start("recorder", "-o", "qos", "/a", "--allow-unmatched", "--qos-profile-overrides-path",
		write("recorder.yaml", "/a: {history: keep_last, depth: 5, reliability: best_effort, durability: volatile}\n"))
	player := g.start("player", drive, "--qos-profile-overrides-path", write("player.yaml",
		"/a: {history: keep_last, depth: 3, reliability: reliable, durability: transient_local}\n"))
	node := g.open("observer")
	var offered, requested codec.QoS
	require.Eventually(t, func() bool {
		for _, topic := range node.Topics() {
			if topic.Name == "/a" && len(topic.Publishers) == 1 && len(topic.Subscribers) == 1 {
				offered, requested = topic.Publishers[0].QoS, topic.Subscribers[0].QoS
				return true
			}
		}
		return false
	}, patient, 5*time.Millisecond, "/a must have one publisher and one subscriber")
	require.Equal(t, codec.TransientLocal, offered.Durability)
	require.Equal(t, 3, offered.Depth)
	require.Equal(t, codec.BestEffort, requested.Reliability)
	require.Equal(t, codec.Volatile, requested.Durability)
	player.Interrupt()
	recorder.Interrupt()

	for _, name := range []string{"recorder", "player"} {
		args := []string{drive}
		if name == "recorder" {
			args = []string{"--all"}
		}
		out := g.run(1, name, append(args, "--qos-profile-overrides-path",
			write("bad.yaml", "/a: {reliability: perfect}\n"))...)
		require.Contains(t, out, "bad.yaml")
		require.Contains(t, out, "perfect")
	}
}
