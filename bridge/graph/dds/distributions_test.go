package dds

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/bridge/bridgetest"
	"tapedeck/codec"
	"tapedeck/msgs/rosidl"
)

// console keeps the log lines of a node.
type console struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (c *console) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.text.Write(p)
}

func (c *console) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.text.String()
}

// warnings returns the lines about nodes of other distributions.
func (c *console) warnings() (lines []string) {
	for line := range strings.Lines(c.String()) {
		if strings.Contains(line, "which is announced as in ") {
			lines = append(lines, line)
		}
	}
	return lines
}

// newDistroNode opens a node in a domain where ROS_DISTRO is distro.
func newDistroNode(t *testing.T, domain int, name, distro string) (*node, *console) {
	t.Helper()
	t.Setenv("ROS_DISTRO", distro)
	c := new(console)
	n, err := Open(bridge.Options{Name: name, Namespace: "/test", Domain: domain, Console: c})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Close()) })
	return n.(*node), c
}

// TestDistributions checks nodes of different distributions in one graph. All nodes of tapedeck know all names. A node
// warns once of a node of ROS 2 that cannot read its name.
func TestDistributions(all *testing.T) {
	var later []func() // checks after all nodes have been quiet for a while
	for _, test := range []struct {
		name    string
		ours    string
		theirs  []string
		size    int
		warning string
	}{
		{"with Humble", "", []string{"humble"}, oldGID, ""},
		{"with Jazzy", "", []string{"jazzy"}, newGID, ""},
		{"with Jazzy and adapting nodes", "", []string{"", "jazzy", ""}, newGID, ""},
		{"with Humble and Jazzy", "", []string{"jazzy", "", "humble"}, oldGID,
			"/test/other0 is a node of ROS 2 Iron or later and "},
		{"Humble with adapting nodes", "humble", []string{"", ""}, oldGID, ""},
		{"Jazzy with adapting nodes", "jazzy", []string{"", ""}, newGID, ""},
		{"Humble with Jazzy", "humble", []string{"jazzy", "kilted"}, oldGID, " is a node of ROS 2 Iron or later and "},
		{"Jazzy with Humble", "jazzy", []string{"humble", "rolling"}, newGID,
			"/test/other0 is a node of ROS 2 Humble or older and "},
	} {
		all.Run(test.name, func(t *testing.T) {
			domain, file, err := claimDomain()
			require.NoError(t, err)
			all.Cleanup(func() { file.Close() })
			spy, _ := newDistroNode(all, domain, "spy", "")
			infos, err := spy.newReader(discoveryTopic, discoveryType, discoveryQoS(), "")
			require.NoError(t, err)
			defer func() { require.NoError(t, infos.close()) }()

			n, log := newDistroNode(all, domain, "node", test.ours)
			others := []*node{spy}
			for i, distro := range test.theirs {
				other, _ := newDistroNode(all, domain, fmt.Sprint("other", i), distro)
				others = append(others, other)
			}
			for _, other := range others {
				requireName(t, n, other)
				requireName(t, other, n)
			}
			var sizes []int // GID sizes in the announcements of n
			await(t, func() bool {
				blobs, err := infos.take()
				require.NoError(t, err)
				for _, b := range blobs {
					p, size, err := unmarshalParticipantInfo(payload(b))
					require.NoError(t, err)
					if p.guid == n.guid {
						sizes = append(sizes, size)
					}
				}
				return len(sizes) > 0 && sizes[len(sizes)-1] == test.size
			})
			if !slices.Contains(test.theirs, "jazzy") && test.ours != "jazzy" {
				require.NotContains(t, sizes, newGID, "a new GID would harm nodes of Humble")
			}
			warnings := 0
			if test.warning != "" {
				require.Eventually(t, func() bool { return len(log.warnings()) > 0 }, patience, time.Millisecond)
				require.Contains(t, log.warnings()[0], test.warning)
				warnings = 1
			}
			later = append(later, func() { require.Len(all, log.warnings(), warnings, test.name) })
		})
	}
	time.Sleep(quiet / 4)
	for _, check := range later {
		check()
	}
}

// requireName waits until n knows the name of another node.
func requireName(t *testing.T, n, other *node) {
	t.Helper()
	topicOf(t, n, "/rosout", func(topic bridge.Topic) bool {
		return slices.ContainsFunc(topic.Publishers, func(e bridge.Endpoint) bool { return e.Node == other.Name() })
	})
}

// TestHashesOfPeers checks type hashes as rmw_cyclonedds and rmw_fastrtps of several distributions announce them.
func TestHashesOfPeers(t *testing.T) {
	t.Parallel()
	n, other := newNode(t, "observer"), newNode(t, "other")
	hash, err := n.library.Hash("std_msgs/msg/String")
	require.NoError(t, err)
	for i, test := range []struct{ userData, want string }{
		{"", ""}, // Humble
		{"typehash=" + hash + ";", hash},
		{"typehash=" + hash + ";more=of it", hash},
		{"typehash=RIHS01_unknown;", ""},
		{"of another kind", ""},
	} {
		topic := fmt.Sprint("/test/topic", i)
		w, err := other.newWriter(bridge.TopicToDDS(topic), bridge.TypeToDDS("std_msgs/msg/String"),
			toC(bridge.LatchedQoS()),
			test.userData)
		require.NoError(t, err)
		defer func() { require.NoError(t, w.close()) }()
		found := topicOf(t, n, topic, func(topic bridge.Topic) bool { return len(topic.Publishers) == 1 })
		require.Equal(t, test.want, found.Publishers[0].TypeHash, "%q", test.userData)
	}
}

// TestHashesOfService reads what both ends of a service announce: the hashes of request and response.
func TestHashesOfService(t *testing.T) {
	t.Parallel()
	n, other := newNode(t, "observer"), newNode(t, "other")
	_, err := other.Serve("light", "std_srvs/srv/SetBool", echo)
	require.NoError(t, err)
	request, reply := ends("/test/light", "std_srvs/srv/SetBool")
	w, err := n.newWriter(request.topic, request.typeName, callQoS(), "")
	require.NoError(t, err)
	defer func() { require.NoError(t, w.close()) }()
	r, err := n.newReader(reply.topic, reply.typeName, callQoS(), "")
	require.NoError(t, err)
	defer func() { require.NoError(t, r.close()) }()
	for kind, matched := range map[string]func() []peer{
		"std_srvs/srv/SetBool_Request":  func() []peer { return w.matched("typehash") },
		"std_srvs/srv/SetBool_Response": func() []peer { return matchedPeers(r.entity, false, "typehash") },
	} {
		hash, err := n.library.Hash(kind)
		require.NoError(t, err)
		require.Eventually(t, func() bool { return len(matched()) == 1 }, patience, time.Millisecond)
		require.Equal(t, hash, matched()[0].id)
	}
}

// TestFetchDefinition asks a node for a type that is known there only.
func TestFetchDefinition(t *testing.T) {
	prefix := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(prefix, "share/my_msgs/msg"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(prefix, "share/my_msgs/msg/Wheel.msg"),
		[]byte("# One of four.\nstd_msgs/Header header\nfloat32 speed\n"), 0o644))
	t.Setenv("AMENT_PREFIX_PATH", prefix)
	talker := newNode(t, "talker")
	t.Setenv("AMENT_PREFIX_PATH", "")
	n := newNode(t, "observer")
	bridgetest.ServeTypeDescriptions(t, talker, talker.library, nil)
	_, err := talker.Advertise("wheel", "my_msgs/msg/Wheel", codec.DefaultQoS())
	require.NoError(t, err)

	_, err = n.library.Message("my_msgs/msg/Wheel")
	require.ErrorIs(t, err, rosidl.ErrUnknownType)
	wheel := topicOf(t, n, "/test/wheel", func(topic bridge.Topic) bool {
		return len(topic.Publishers) == 1 && topic.Publishers[0].Node != ""
	})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	text, err := bridge.FetchDefinition(ctx, n, wheel.Publishers[0])
	require.NoError(t, err)
	want, err := talker.library.Concatenated("my_msgs/msg/Wheel")
	require.NoError(t, err)
	require.Equal(t, want, text)
}
