package e2e

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/msgs/std_msgs"
)

// TestEchoAndTopics checks what 'recorder echo' and 'recorder topics' print.
func TestEchoAndTopics(t *testing.T) {
	t.Parallel()
	g := isolate(t)
	node := g.open("publisher")
	_, err := node.Advertise("/numbers", "std_msgs/msg/UInt32", keepAll())
	require.NoError(t, err)
	latched, err := node.Advertise("/latched", "std_msgs/msg/String", bridge.LatchedQoS())
	require.NoError(t, err)
	require.NoError(t, latched.Publish(marshal(t, &std_msgs.String{Data: "\x1b[2J"})))

	waiting := g.start("recorder", "echo", "/numberss")
	waiting.Prints("waiting for /numberss, which nobody publishes; did you mean /numbers?\n")
	waiting.Interrupt()
	require.Empty(t, waiting.Stdout())

	once := g.start("recorder", "echo", "latched", "--once", "--timeout", "90s")
	once.Wait(0)
	require.Equal(t, `data: "\u001b[2J"`+"\n---\n", once.Stdout())
	require.Contains(t, g.run(1, "recorder", "echo", "/numbers", "--timeout", "1s"),
		"no message came within 1s on /numbers, ")

	fast := codec.DefaultQoS()
	fast.Reliability = codec.BestEffort
	echo := g.start("recorder", "echo", "/fast", "-n", "2", "--csv", "--field", "data")
	p := g.advertise(node, "/fast", "std_msgs/msg/UInt32", fast)
	done := make(chan struct{})
	defer close(done)
	go func() {
		for tick := time.Tick(20 * time.Millisecond); ; {
			select {
			case <-tick:
				_ = p.Publish(g.number(7))
			case <-done:
				return
			}
		}
	}()
	echo.Wait(0)
	lines := strings.Split(echo.Stdout(), "\n")
	require.Equal(t, "log_time,publish_time,data", lines[0])
	require.Len(t, lines, 4)
	require.Regexp(t, `^\d+,\d+,7$`, lines[2])

	var list string
	rate := regexp.MustCompile(`\n  /fast +std_msgs/msg/UInt32 +1 +0 +\d+\.\d\d +\d+ B/s +\d+  best_effort volatile `)
	await(t, func() bool { // on a busy machine no message may come within the duration
		list = g.run(0, "recorder", "topics", "--hz", "--duration", "2s", "--timeout", "90s", "/fast", "/latched")
		return rate.MatchString(list)
	})
	require.Regexp(t, `\n  /latched +std_msgs/msg/String +1 +0 +- +- +0  reliable transient_local `, list)
	list = g.run(0, "recorder", "topics", "-v", "--timeout", "90s", "/numbers")
	require.Equal(t, "/numbers [std_msgs/msg/UInt32]\n    publisher  /publisher  reliable volatile keep_all\n", list)
	require.Contains(t, g.run(1, "recorder", "topics", "--timeout", "2s", "/nowhere"),
		"nobody publishes or subscribes to /nowhere")
}
