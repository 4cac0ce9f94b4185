package recorder

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/bridge/bridgetest"
	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/codec/text/printable"
	"tapedeck/config/configtest"
	"tapedeck/msgs/std_msgs"
	tdi "tapedeck/msgs/type_description_interfaces"
)

func TestOptionsOfEchoAndTopicsAreDocumented(t *testing.T) {
	const path = "../../../docs/reference/options.md"
	require.NoError(t, configtest.CheckTable(path, "recorder echo", defaultEchoOptions()))
	require.NoError(t, configtest.CheckTable(path, "recorder topics", defaultTopicsOptions()))
}

// graphTest is a graph with two nodes: peer, which publishes, and the node of the command under test.
type graphTest struct {
	t              *testing.T
	peer, command  bridge.Node
	stdout, stderr bytes.Buffer // output of the command; not to be read before the command ends
}

// newGraphTest opens both nodes on net, until the end of the test.
func newGraphTest(t *testing.T, net *bridgetest.Network) *graphTest {
	s := &graphTest{t: t}
	for name, node := range map[string]*bridge.Node{"peer": &s.peer, "_recorder_echo": &s.command} {
		var err error
		*node, err = net.Open(bridge.Options{Name: name})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, (*node).Close()) })
	}
	return s
}

// echo starts the command echo with the options that set changes. ended receives the error of the command.
func (s *graphTest) echo(topic string, set func(*echoOptions)) (interrupt func(), ended <-chan error) {
	o := defaultEchoOptions()
	o.Field = []string{"data"}
	set(o)
	e, err := newEchoer(o, s.command, topic, &s.stdout, &s.stderr)
	require.NoError(s.t, err)
	ctx, cancel := context.WithCancel(s.t.Context())
	result := make(chan error, 1)
	go func() { result <- e.run(ctx) }()
	return cancel, result
}

// publish waits for a subscriber and publishes numbers as std_msgs/msg/UInt32, even if typeName is another type.
func (s *graphTest) publish(topic, typeName string, qos codec.QoS, numbers ...uint32) {
	p, err := s.peer.Advertise(topic, typeName, qos)
	require.NoError(s.t, err)
	require.Eventually(s.t, func() bool { return p.Subscribers() > 0 }, patient, time.Millisecond)
	for _, n := range numbers {
		payload, err := cdr.Marshal(number(n))
		require.NoError(s.t, err)
		require.NoError(s.t, p.Publish(payload))
	}
}

const uint32Type = "std_msgs/msg/UInt32"

// echo prints all messages of all publishers, whatever QoS each publisher offers, also if publishers appear one after
// the other.
func TestEchoAdaptsToPublishers(t *testing.T) {
	bestEffort := codec.DefaultQoS()
	bestEffort.Reliability = codec.BestEffort
	for name, offers := range map[string][]codec.QoS{
		"reliable": {codec.DefaultQoS()}, "best effort": {bestEffort}, "latched": {bridge.LatchedQoS()},
		"mixed": {codec.DefaultQoS(), bestEffort},
	} {
		inBubble(t, name, func(t *testing.T) {
			s := newGraphTest(t, &bridgetest.Network{})
			interrupt, ended := s.echo("/n", func(*echoOptions) {})
			want := ""
			for range offers {
				want += "1\n---\n2\n---\n"
			}
			for _, qos := range offers {
				s.publish("/n", uint32Type, qos, 1, 2)
				time.Sleep(time.Minute)
			}
			interrupt()
			require.NoError(t, <-ended)
			require.Equal(t, want, s.stdout.String())
		})
	}
}

// echo ends after the number of messages that the option count requests.
func TestEchoEndsAfterCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newGraphTest(t, &bridgetest.Network{})
		_, ended := s.echo("/n", func(o *echoOptions) { o.Count, o.CSV = 2, true })
		s.publish("/n", uint32Type, codec.DefaultQoS(), 7, 8, 9)
		require.NoError(t, <-ended)
		require.Regexp(t, `^log_time,publish_time,data\n\d+,\d+,7\n\d+,\d+,8\n$`, s.stdout.String())
		require.Empty(t, s.stderr.String())
	})
}

// echo fetches an unknown definition from the publisher, and prints messages that arrive in the meantime afterwards.
func TestEchoFetchesDefinitions(t *testing.T) {
	library := robotTypes()
	synctest.Test(t, func(t *testing.T) {
		s := newGraphTest(t, &bridgetest.Network{Library: library})
		bridgetest.ServeTypeDescriptions(t, s.peer, library, func(*tdi.GetTypeDescription_Response) {
			time.Sleep(5 * time.Second)
		})
		_, ended := s.echo("/a", func(o *echoOptions) { o.Once, o.Field = true, nil })
		s.publish("/a", "robot/msg/Count", codec.DefaultQoS(), 5)
		require.NoError(t, <-ended)
		require.Equal(t, "count: 5\n---\n", s.stdout.String())
	})
}

func TestEchoFails(t *testing.T) {
	for want, c := range map[string]struct {
		typeName string
		set      func(*echoOptions)
	}{
		"messages of /a cannot be shown, the definition of robot/msg/Count is not known: ": {"robot/msg/Count",
			func(*echoOptions) {}},
		"; name the folder that has it with --definition-paths": {"robot/msg/Count", func(*echoOptions) {}},
		`has no field "x"; it has data`: {uint32Type,
			func(o *echoOptions) { o.Field = []string{"x"} }},
		"1 message of /a did not match the definition and could not be shown": {"std_msgs/msg/Float64",
			func(o *echoOptions) { o.Timeout = time.Second }},
	} {
		inBubble(t, want, func(t *testing.T) {
			s := newGraphTest(t, &bridgetest.Network{})
			interrupt, ended := s.echo("/a", c.set)
			s.publish("/a", c.typeName, codec.DefaultQoS(), 1)
			time.Sleep(time.Minute)
			interrupt()
			require.ErrorContains(t, <-ended, want)
			require.Empty(t, s.stdout.String())
		})
	}
}

func TestEchoWaitsForPublishers(t *testing.T) {
	inBubble(t, "with hints", func(t *testing.T) {
		s := newGraphTest(t, &bridgetest.Network{})
		interrupt, ended := s.echo("/imuu", func(*echoOptions) {})
		time.Sleep(5 * time.Second)
		_, err := s.peer.Advertise("/imu", uint32Type, codec.DefaultQoS())
		require.NoError(t, err)
		time.Sleep(5 * time.Second)
		_, err = s.peer.Advertise("/imuu", uint32Type, codec.DefaultQoS())
		require.NoError(t, err)
		time.Sleep(5 * time.Second)
		interrupt()
		require.NoError(t, <-ended)
		require.Equal(t, "waiting for /imuu, which nobody publishes\n"+
			"waiting for /imuu, which nobody publishes; did you mean /imu?\n"+
			"waiting for /imuu, published by /peer\n", s.stderr.String())
	})
	inBubble(t, "until the timeout", func(t *testing.T) {
		s := newGraphTest(t, &bridgetest.Network{})
		_, ended := s.echo("/imuu", func(o *echoOptions) { o.Timeout = 3 * time.Second })
		require.EqualError(t, <-ended, "no message came within 3s on /imuu, which nobody publishes")
	})
}

// Control characters in names and messages must not reach the terminal.
func TestControlCharactersAreNotPrinted(t *testing.T) {
	const clearScreen = "\x1b[2J\u009b2J" // escape sequences of terminals
	synctest.Test(t, func(t *testing.T) {
		s := newGraphTest(t, &bridgetest.Network{})
		_, ended := s.echo("/s", func(o *echoOptions) { o.Once = true })
		p, err := s.peer.Advertise("/s", "std_msgs/msg/String", codec.DefaultQoS())
		require.NoError(t, err)
		require.Eventually(t, func() bool { return p.Subscribers() > 0 }, patient, time.Millisecond)
		payload, err := cdr.Marshal(&std_msgs.String{Data: clearScreen})
		require.NoError(t, err)
		require.NoError(t, p.Publish(payload))
		require.NoError(t, <-ended)
		require.Equal(t, `"\u001b[2J\u009b2J"`+"\n---\n", s.stdout.String())

		rows := []*topicRow{{Name: clearScreen, Types: []string{clearScreen},
			Publishers: []endpointJSON{{Node: clearScreen}},
			topic:      bridge.Topic{Publishers: []bridge.Endpoint{{Node: clearScreen, Type: clearScreen}}}}}
		for _, o := range []topicsOptions{{}, {Verbose: true}, {JSON: true}} {
			var out bytes.Buffer
			require.NoError(t, o.print(&out, rows))
			require.NotContains(t, out.String(), "\x1b")
			require.NotContains(t, out.String(), "\u009b")
		}
	})
}

// FuzzTopics checks that no name on the graph can control the terminal or add lines.
func FuzzTopics(f *testing.F) {
	for _, s := range []string{"/imu", "", "/a\nb\r", "\x1b[2J\x9b\x7f", "\u202e\u200b\u0085", "\U000e0041",
		strings.Repeat("/é\n", 16<<10)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		endpoints := []bridge.Endpoint{{Node: s, Type: s, TypeHash: s},
			{Node: "/b", Type: "b", QoS: codec.DefaultQoS()}}
		row := &topicRow{Name: s, Types: []string{s, "b"}, Publishers: endpointsJSON(endpoints), meter: &meter{},
			topic: bridge.Topic{Name: s, Publishers: endpoints, Subscribers: endpoints}}
		for name, o := range map[string]topicsOptions{"table": {}, "verbose": {Verbose: true, Hz: true},
			"JSON": {JSON: true}} {
			var out bytes.Buffer
			require.NoError(t, o.print(&out, []*topicRow{row}))
			require.True(t, utf8.Valid(out.Bytes()), name)
			hidden := func(r rune) bool { return printable.Hidden(r) && r != '\n' }
			require.False(t, bytes.ContainsFunc(out.Bytes(), hidden), "%s: %q", name, out.String())
			switch lines := bytes.Count(out.Bytes(), []byte("\n")); name {
			case "table":
				require.Equal(t, 2, lines, "header and topic")
			case "verbose":
				require.Equal(t, 5, lines, "topic, two publishers and two subscribers")
			default:
				var back struct{ Topics []struct{ Name string } }
				require.NoError(t, json.Unmarshal(out.Bytes(), &back))
				require.Equal(t, []rune(s), []rune(back.Topics[0].Name), "invalid UTF-8 becomes U+FFFD")
			}
		}
		require.False(t, strings.ContainsFunc(nodesOf(endpoints), printable.Hidden))
	})
}

func TestTopics(t *testing.T) {
	list := func(t *testing.T, s *graphTest, set func(*topicsOptions), named ...string) (string, error) {
		o := defaultTopicsOptions()
		set(o)
		var out bytes.Buffer
		err := o.list(t.Context(), s.command, named, &out)
		return out.String(), err
	}
	inBubble(t, "table", func(t *testing.T) {
		s := newGraphTest(t, &bridgetest.Network{})
		for _, qos := range []codec.QoS{codec.DefaultQoS(), codec.DefaultQoS(), bridge.LatchedQoS()} {
			_, err := s.peer.Advertise("/n", uint32Type, qos)
			require.NoError(t, err)
		}
		_, err := s.peer.Advertise("/_hidden", uint32Type, codec.DefaultQoS())
		require.NoError(t, err)
		_, err = s.peer.Subscribe("/wanted", uint32Type, codec.DefaultQoS(), func([]bridge.Sample) {})
		require.NoError(t, err)
		text, err := list(t, s, func(*topicsOptions) {})
		require.NoError(t, err)
		require.Regexp(t, `^  Topic +Type +Publishers  Subscribers  QoS\n`, text)
		require.Regexp(t, `\n  /n +std_msgs/msg/UInt32 +3 +0  reliable volatile keep_last\(10\) \+ reliable `+
			`transient_local keep_last\(1\)\n`, text)
		require.Regexp(t, `\n  /wanted +std_msgs/msg/UInt32 +0 +1  -\n`, text)
		require.NotContains(t, text, "hidden")
		text, err = list(t, s, func(o *topicsOptions) { o.IncludeHiddenTopics = true })
		require.NoError(t, err)
		require.Contains(t, text, "/_hidden")
		text, err = list(t, s, func(o *topicsOptions) { o.Verbose = true }, "/wanted")
		require.NoError(t, err)
		require.Equal(t, "/wanted [std_msgs/msg/UInt32]\n"+
			"    subscriber  /peer  reliable volatile keep_last(10)\n", text)
		_, err = list(t, s, func(*topicsOptions) {}, "/n", "/wantd")
		require.EqualError(t, err, "nobody publishes or subscribes to /wantd; did you mean /wanted?")
	})
	inBubble(t, "rates", func(t *testing.T) {
		s := newGraphTest(t, &bridgetest.Network{})
		p, err := s.peer.Advertise("/n", uint32Type, codec.DefaultQoS())
		require.NoError(t, err)
		latched, err := s.peer.Advertise("/latched", uint32Type, bridge.LatchedQoS())
		require.NoError(t, err)
		payload, err := cdr.Marshal(number(1))
		require.NoError(t, err)
		require.NoError(t, latched.Publish(payload))
		const period, size = 250 * time.Millisecond, 8 // of the messages on /n: 4-byte header and a UInt32
		require.Len(t, payload, size)
		var publishing sync.WaitGroup
		defer publishing.Wait()
		publishing.Go(func() {
			for range 60 {
				_ = p.Publish(payload)
				time.Sleep(period)
			}
		})
		text, err := list(t, s, func(o *topicsOptions) { o.JSON, o.Hz = true, true }, "/n", "/latched")
		require.NoError(t, err)
		var got struct {
			Topics []struct {
				Name       string
				Count      int     `json:"message_count"`
				Frequency  float64 `json:"frequency"`
				Bandwidth  float64 `json:"bytes_per_second"`
				Publishers []struct {
					Node string
					QoS  struct{ Durability string }
				}
			}
		}
		require.NoError(t, json.Unmarshal([]byte(text), &got))
		require.Len(t, got.Topics, 2)
		require.Equal(t, "/peer", got.Topics[0].Publishers[0].Node)
		require.Equal(t, "transient_local", got.Topics[0].Publishers[0].QoS.Durability)
		require.Zero(t, got.Topics[0].Count, "a message latched before the measurement does not count")
		require.InDelta(t, 1/period.Seconds(), got.Topics[1].Frequency, 0.01)
		require.InDelta(t, size/period.Seconds(), got.Topics[1].Bandwidth, 0.1)
		require.InDelta(t, 5/period.Seconds(), got.Topics[1].Count, 1, "topics measures for 5 s")
	})
	inBubble(t, "no topics", func(t *testing.T) {
		node, err := (&bridgetest.Network{}).Open(bridge.Options{Name: "alone"})
		require.NoError(t, err)
		defer node.Close()
		err = defaultTopicsOptions().list(t.Context(), node, nil, &bytes.Buffer{})
		require.ErrorContains(t, err, "no topics were found within 5s; is a node running with the same ROS_DOMAIN_ID")
	})
}
