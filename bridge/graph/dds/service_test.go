package dds

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"tapedeck/bridge"
	"tapedeck/bridge/bridgetest"
	"tapedeck/codec"
)

const echoType = "std_srvs/srv/SetBool"

// echo answers with the request.
func echo(_ context.Context, request []byte) ([]byte, error) { return request, nil }

// serverRole is a node with a publisher, a subscription and a service.
func serverRole() error {
	n, err := Open(bridge.Options{Name: "other", Namespace: "/test", Domain: -1})
	if err != nil {
		return err
	}
	defer n.Close()
	if _, err := n.Advertise("numbers", "std_msgs/msg/String", bridge.LatchedQoS()); err != nil {
		return err
	}
	if _, err := n.Subscribe("/words", "std_msgs/msg/String", bridge.SensorDataQoS(),
		func([]bridge.Sample) {}); err != nil {
		return err
	}
	if _, err := n.Serve("echo", echoType, echo); err != nil {
		return err
	}
	bridgetest.UntilEOF()
	return nil
}

// clientRole calls a service COUNT times at once, with SIZE bytes each.
func clientRole() error {
	var count, size int
	if _, err := fmt.Sscan(os.Getenv("COUNT")+" "+os.Getenv("SIZE"), &count, &size); err != nil {
		return err
	}
	n, err := Open(bridge.Options{Name: "other", Namespace: "/test", Domain: -1})
	if err != nil {
		return err
	}
	defer n.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	results := make(chan error)
	for i := range count {
		go func() {
			request := bridgetest.Pattern(size, i)
			response, err := n.Call(ctx, "echo", echoType, request)
			if err == nil && string(response) != string(request) {
				err = fmt.Errorf("call %d: %x was answered with %x", i, request, response)
			}
			results <- err
		}()
	}
	var errs []error
	for range count {
		errs = append(errs, <-results)
	}
	return errors.Join(errs...)
}

func TestCallOtherProcess(t *testing.T) {
	t.Parallel()
	n := newNode(t, "caller")
	start(t, "server")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for i := range 10 {
		request := bridgetest.Pattern(20+4*i, i)
		response, err := n.Call(ctx, "echo", echoType, request)
		require.NoError(t, err)
		require.Equal(t, request, response)
	}
}

func TestServeOtherProcess(t *testing.T) {
	t.Parallel()
	n := newNode(t, "callee")
	var calls atomic.Int32
	s, err := n.Serve("echo", echoType, func(ctx context.Context, request []byte) ([]byte, error) {
		calls.Add(1)
		return echo(ctx, request)
	})
	require.NoError(t, err)
	require.NoError(t, start(t, "client", "COUNT=100", "SIZE=20").Stop())
	require.Equal(t, int32(100), calls.Load())
	require.NoError(t, s.Close())
	require.NoError(t, s.Close())
}

// TestRepliesWaitForALateClient stops a client for a while, as a busy machine may, while its calls are answered. Of the
// replies more are on the way than its socket holds. It gets all of them.
func TestRepliesWaitForALateClient(t *testing.T) {
	t.Parallel()
	n := newNode(t, "callee")
	const count, size = 100, 400_000
	started := make(chan *os.Process, 1)
	var calls atomic.Int32
	_, err := n.Serve("echo", echoType, func(ctx context.Context, request []byte) ([]byte, error) {
		if calls.Add(1) == count/2 {
			client := <-started
			_ = client.Signal(syscall.SIGSTOP)
			time.AfterFunc(time.Second, func() { _ = client.Signal(syscall.SIGCONT) })
		}
		return echo(ctx, request)
	})
	require.NoError(t, err)
	client := start(t, "client", fmt.Sprint("COUNT=", count), fmt.Sprint("SIZE=", size))
	started <- client.Process
	require.NoError(t, client.Stop())
}

// A service that is closed does not wait for a client that is stopped.
func TestNoPatienceWhileClosing(t *testing.T) {
	t.Parallel()
	n := newNode(t, "callee")
	started := make(chan *os.Process, 1)
	served, err := n.Serve("echo", echoType, func(ctx context.Context, request []byte) ([]byte, error) {
		client := <-started
		if err := client.Signal(syscall.SIGSTOP); err != nil {
			return nil, err
		}
		// The signal stops one thread after the other. Until all of them are, one may acknowledge the reply.
		return request, unix.Waitid(unix.P_PID, client.Pid, nil, unix.WSTOPPED, nil)
	})
	require.NoError(t, err)
	client := start(t, "client", "COUNT=1", "SIZE=20").Process
	t.Cleanup(func() { client.Signal(syscall.SIGCONT) })
	started <- client
	s := served.(*service)
	ctx, cancel := context.WithCancel(t.Context())
	await(t, func() bool { return !s.acknowledged(ctx, 0) })
	cancel()
	require.False(t, s.acknowledged(ctx, time.Hour))
}

// promptRole serves until its input ends, and fails if a reply waited for acknowledgements as long as it may.
func promptRole() error {
	n, err := Open(bridge.Options{Name: "other", Namespace: "/test", Domain: -1})
	if err != nil {
		return err
	}
	defer n.Close()
	served, err := n.Serve("echo", echoType, echo)
	if err != nil {
		return err
	}
	bridgetest.UntilEOF()
	s := served.(*service)
	s.replying.Lock()
	defer s.replying.Unlock()
	if s.stuck {
		return errors.New("replies wait for the next heartbeat")
	}
	return nil
}

// TestAcknowledgementsAreAskedFor expects that replies do not wait for the next heartbeat, which here takes longer than
// a service waits.
func TestAcknowledgementsAreAskedFor(t *testing.T) {
	t.Parallel()
	server := start(t, "prompt", "CYCLONEDDS_URI="+patientPeers+
		`,<Internal><HeartbeatInterval minsched="10s" max="20s">10s</HeartbeatInterval></Internal>`)
	require.NoError(t, start(t, "client", "COUNT=100", "SIZE=20").Stop())
	require.NoError(t, server.Stop())
}

// topicOf returns a topic of the graph, as soon as it satisfies a condition.
func topicOf(t *testing.T, n bridge.Node, name string, ok func(bridge.Topic) bool) bridge.Topic {
	t.Helper()
	var found bridge.Topic
	require.Eventually(t, func() bool {
		found = bridge.Topic{}
		for _, topic := range n.Topics() {
			if topic.Name == name {
				found = topic
			}
		}
		return ok(found)
	}, patience, 5*time.Millisecond, name)
	return found
}

func TestGraphOfOtherProcess(t *testing.T) {
	t.Parallel()
	n := newNode(t, "observer")
	other := start(t, "server")
	numbers := topicOf(t, n, "/test/numbers", func(topic bridge.Topic) bool {
		return len(topic.Publishers) == 1 && topic.Publishers[0].Node != ""
	})
	require.Equal(t, []string{"std_msgs/msg/String"}, numbers.Types)
	require.Empty(t, numbers.Subscribers)
	p := numbers.Publishers[0]
	require.Equal(t, "/test/other", p.Node)
	require.Equal(t, bridge.LatchedQoS(), p.QoS)
	require.True(t, strings.HasPrefix(p.TypeHash, "RIHS01_"), p.TypeHash)
	require.Len(t, p.TypeHash, len("RIHS01_")+64)
	require.False(t, p.Own)

	words := topicOf(t, n, "/words", func(topic bridge.Topic) bool {
		return len(topic.Subscribers) == 1 && topic.Subscribers[0].Node != ""
	})
	require.Equal(t, "/test/other", words.Subscribers[0].Node)
	require.Equal(t, codec.BestEffort, words.Subscribers[0].QoS.Reliability)

	require.NoError(t, other.Stop())
	topicOf(t, n, "/test/numbers", func(topic bridge.Topic) bool { return topic.Name == "" })
	require.Eventually(t, func() bool {
		n.graph.mu.Lock()
		defer n.graph.mu.Unlock()
		return len(n.graph.infos) == 1
	}, patience, time.Millisecond, "only the node's own participant is left")
}

// TestOldGIDs checks that a node adopts the GID size of other nodes if ROS_DISTRO is not set.
func TestOldGIDs(t *testing.T) {
	t.Parallel()
	n := newNode(t, "observer")
	start(t, "server", "ROS_DISTRO=humble")
	topicOf(t, n, "/test/numbers", func(topic bridge.Topic) bool {
		return len(topic.Publishers) == 1 && topic.Publishers[0].Node == "/test/other"
	})
	r, err := n.newReader(discoveryTopic, discoveryType, discoveryQoS(), "")
	require.NoError(t, err)
	defer r.close()
	await(t, func() bool { // it announces itself the old way
		blobs, err := r.take()
		require.NoError(t, err)
		for _, b := range blobs {
			p, size, err := unmarshalParticipantInfo(payload(b))
			require.NoError(t, err)
			if p.guid == n.guid && size == oldGID {
				return true
			}
		}
		return false
	})
}

func TestCallID(t *testing.T) {
	guid := bridge.GUID{0x01, 0x10, 0xdd, 0x83, 0xe4, 0x4b, 0x62, 0xaf, 0x5e, 0xa1, 0x1c, 0x06}
	require.Equal(t, " 1.10.dd.83.e4.4b.62.af.5e.a1.1c.6.0.0.0.7", callID(guid, 7))
}

func TestCallHeader(t *testing.T) {
	// A call of a std_srvs/srv/Trigger as rmw_cyclonedds_cpp sends it.
	request := []byte{0, 1, 0, 0, 0x93, 0xd4, 0x32, 0x14, 0xd2, 0xd5, 0x81, 0x25, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
	h, message, err := cutCallHeader(request)
	require.NoError(t, err)
	require.Equal(t, callHeader{client: 0x2581d5d21432d493, call: 1}, h)
	require.Equal(t, []byte{0, 1, 0, 0, 0, 0, 0, 0}, message)
	again, err := addCallHeader(h, message)
	require.NoError(t, err)
	require.Equal(t, request, again)

	big := []byte{0, 0, 0, 0, 1}
	data, err := addCallHeader(h, big)
	require.NoError(t, err)
	back, message, err := cutCallHeader(data)
	require.NoError(t, err)
	require.Equal(t, h, back)
	require.Equal(t, big, message)

	_, _, err = cutCallHeader(request[:19])
	require.ErrorIs(t, err, errNoCallHeader)
	_, err = addCallHeader(h, request[:3])
	require.Error(t, err)
}

func TestAvailable(t *testing.T) {
	cyclone, fast, otherFast := bridge.GUID{0x01, 0x10}, bridge.GUID{0x01, 0x0f}, bridge.GUID{0x01, 0x0f, 1}
	for _, test := range []struct {
		name              string
		requests, replies []peer
		ok, fastDDS       bool
	}{
		{"no server", nil, nil, false, false},
		{"no writer yet", []peer{{cyclone, "a"}}, nil, false, false},
		{"complete server", []peer{{cyclone, "a"}}, []peer{{cyclone, "a"}}, true, false},
		{"readers and writers of two servers", []peer{{cyclone, "a"}}, []peer{{cyclone, "b"}}, false, false},
		{"without ids", []peer{{cyclone, ""}}, []peer{{cyclone, ""}}, true, false},
		{"one without id", []peer{{cyclone, ""}, {cyclone, "a"}}, []peer{{cyclone, ""}}, false, false},
		{"Fast DDS", []peer{{fast, ""}}, []peer{{fast, ""}}, true, true},
		{"Fast DDS, no writer yet", []peer{{fast, ""}}, nil, false, false},
		{"readers and writers of two servers of Fast DDS", []peer{{fast, ""}}, []peer{{otherFast, ""}}, false, false},
		{"Fast DDS beside", []peer{{fast, ""}, {cyclone, "a"}}, []peer{{fast, ""}, {cyclone, "a"}}, true, false},
		{"Fast DDS beside one without id", []peer{{fast, ""}, {cyclone, ""}}, []peer{{fast, ""}, {cyclone, ""}}, true,
			false},
		{"Fast DDS ready first", []peer{{fast, ""}, {cyclone, "a"}}, []peer{{fast, ""}}, true, true},
		{"two incomplete servers", []peer{{cyclone, ""}}, []peer{{fast, ""}}, false, false},
	} {
		ok, fastDDS := available(test.requests, test.replies)
		require.Equal(t, test.ok, ok, test.name)
		require.Equal(t, test.fastDDS, fastDDS, test.name)
	}
}

// A client may be asked while its node closes.
func TestAvailableWhileClosing(t *testing.T) {
	t.Parallel()
	start(t, "server")
	for range 3 {
		n, err := Open(bridge.Options{Name: "client", Namespace: "/test", Domain: domainOf(t), LogLevel: bridge.Fatal})
		require.NoError(t, err)
		c, err := n.Client("echo", echoType)
		require.NoError(t, err)
		await(t, c.Available)
		var asking sync.WaitGroup
		stop := make(chan struct{})
		for range 8 {
			asking.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
						c.Available()
					}
				}
			})
		}
		require.NoError(t, n.Close())
		close(stop)
		asking.Wait()
	}
}
