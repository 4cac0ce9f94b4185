package dds

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
)

// console keeps what a node logs.
type console struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (c *console) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.text.Write(p)
}

// warnings returns the lines about nodes of other distributions.
func (c *console) warnings() (lines []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for line := range strings.Lines(c.text.String()) {
		if strings.Contains(line, "announces itself") {
			lines = append(lines, line)
		}
	}
	return lines
}

// newDistroNode opens a node where ROS_DISTRO is distro.
func newDistroNode(t *testing.T, name, distro string) (*node, *console) {
	t.Helper()
	t.Setenv("ROS_DISTRO", distro)
	c := new(console)
	n, err := Open(bridge.Options{Name: name, Namespace: "/test", Domain: -1, Console: c})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Close()) })
	return n.(*node), c
}

func (g *graph) toldSize(participant bridge.GUID) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.sizes[participant]
}

// TestDistributions has nodes of different distributions in one graph. All know each other's names here, and who cannot
// elsewhere is warned of once.
func TestDistributions(t *testing.T) {
	const oneOfMany = " announces itself as nodes of ROS 2 Iron and later do, this node as those of Humble do: "
	for _, test := range []struct {
		name    string
		ours    string
		theirs  []string
		size    int
		warning string
	}{
		{"with Humble", "", []string{"humble"}, oldGID, ""},
		{"with Jazzy", "", []string{"jazzy"}, newGID, ""},
		{"with both", "", []string{"jazzy", "humble"}, oldGID, "/test/other0" + oneOfMany},
		{"Humble with those that adapt", "humble", []string{"", ""}, oldGID, ""},
		{"Humble with Jazzy", "humble", []string{"jazzy", "kilted"}, oldGID, oneOfMany},
		{"Jazzy with Humble", "jazzy", []string{"humble", "rolling"}, newGID,
			"/test/other0 announces itself as nodes of ROS 2 Humble do, this node as those of Iron and later do: "},
	} {
		t.Run(test.name, func(t *testing.T) {
			n, log := newDistroNode(t, "node", test.ours)
			others := make([]*node, len(test.theirs))
			for i, distro := range test.theirs {
				others[i], _ = newDistroNode(t, fmt.Sprint("other", i), distro)
			}
			for _, other := range others {
				topicOf(t, n, "/rosout", func(topic bridge.Topic) bool {
					return slices.ContainsFunc(topic.Publishers, func(e bridge.Endpoint) bool { return e.Node == other.Name() })
				})
				require.Eventually(t, func() bool { return other.graph.toldSize(n.guid) == test.size }, patience, time.Millisecond)
			}
			if test.warning != "" {
				require.Eventually(t, func() bool { return len(log.warnings()) > 0 }, patience, 10*time.Millisecond)
				require.Contains(t, log.warnings()[0], test.warning)
			}
			require.Never(t, func() bool { return len(log.warnings()) > 1 || test.warning == "" && len(log.warnings()) > 0 },
				settling+time.Second, 10*time.Millisecond)
		})
	}
}
