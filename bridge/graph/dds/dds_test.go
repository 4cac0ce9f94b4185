package dds

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/bridge/bridgetest"
	"tapedeck/codec"
)

// patience is the longest time to wait for anything.
const patience = 90 * time.Second

// quiet is the time in which nothing may happen.
const quiet = 2 * time.Second

// TestMain keeps the tests on this machine, each in a domain of its own. If a role is named, the process plays the role
// of a test's other process instead.
func TestMain(m *testing.M) {
	roles.Play(Open)
	domain, claim, err := claimDomain()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Setenv("ROS_DOMAIN_ID", fmt.Sprint(domain)) // of tests that do not name one
	os.Setenv("ROS_LOCALHOST_ONLY", "1")
	os.Setenv("CYCLONEDDS_URI", patientPeers)
	for _, name := range []string{"ROS_DISTRO", "ROS_AUTOMATIC_DISCOVERY_RANGE", "ROS_STATIC_PEERS"} {
		os.Unsetenv(name)
	}
	flag.Parse()
	if parallel := flag.Lookup("test.parallel"); parallel.Value.String() == parallel.DefValue {
		_ = parallel.Value.Set("8") // the tests wait for one another's processes more than they compute
	}
	code := m.Run()
	claim.Close()
	os.Exit(code)
}

// patientPeers is a configuration by which a process that is stopped, or not scheduled for a while, does not count as
// gone.
const patientPeers = "<Discovery><LeaseDuration>3600s</LeaseDuration></Discovery>"

// await waits until a condition holds. The condition runs in the goroutine of the test, so it may use require. The
// condition of require.Eventually may not.
func await(t *testing.T, condition func() bool) {
	t.Helper()
	for began := time.Now(); !condition(); time.Sleep(time.Millisecond) {
		require.Less(t, time.Since(began), patience)
	}
}

// claimDomain returns a domain that no other test of any process uses until the file is closed. A tag would not
// separate tests that speak DDS without a node. The tests of other packages use domains below 100.
func claimDomain() (int, *os.File, error) {
	const first, count = 100, 130
	offset := rand.IntN(count)
	for i := range count {
		domain := first + (offset+i)%count
		path := filepath.Join(os.TempDir(), fmt.Sprintf("tapedeck-domain-%d.lock", domain))
		file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
		if errors.Is(err, fs.ErrPermission) {
			continue // another user's
		}
		if err != nil {
			return 0, nil, err
		}
		if syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			return domain, file, nil
		}
		file.Close()
	}
	return 0, nil, errors.New("all domains are in use")
}

// domainsOf holds the domains of tests, by name.
var domainsOf = struct {
	sync.Mutex
	byTest map[string]int
}{byTest: make(map[string]int)}

// domainOf returns the domain that belongs to a test until the test ends.
func domainOf(t testing.TB) int {
	t.Helper()
	domainsOf.Lock()
	defer domainsOf.Unlock()
	if domain, ok := domainsOf.byTest[t.Name()]; ok {
		return domain
	}
	domain, file, err := claimDomain()
	require.NoError(t, err)
	domainsOf.byTest[t.Name()] = domain
	t.Cleanup(func() {
		domainsOf.Lock()
		defer domainsOf.Unlock()
		delete(domainsOf.byTest, t.Name())
		file.Close()
	})
	return domain
}

// start starts a process in the domain of a test.
func start(t testing.TB, role string, env ...string) bridgetest.Process {
	t.Helper()
	return bridgetest.Start(t, role, append([]string{fmt.Sprint("ROS_DOMAIN_ID=", domainOf(t))}, env...)...)
}

var roles = bridgetest.Roles{"server": serverRole, "client": clientRole, "caller": callerRole,
	"prompt": promptRole, "seeker": seekerRole,
	"ticker": tickerRole, "lender": lenderRole, "witness": witnessRole}

func TestOpenFails(t *testing.T) {
	for range 3 {
		_, err := Open(bridge.Options{Name: "node", Domain: -1, Parameters: map[string]any{"use_sim_time": "maybe"}})
		require.ErrorContains(t, err, "use_sim_time")
		require.Empty(t, domains.byID)
		runtime.GC() // panics if a pinned pointer was not unpinned
	}
	_, err := Open(bridge.Options{
		Name: "node", Domain: -1,
		Parameters: map[string]any{"count": "many"}, Declare: []bridge.Parameter{{Name: "count", Value: int64(1)}},
	})
	require.ErrorContains(t, err, `parameter count: "many" is not a value of type integer`)
	require.Empty(t, domains.byID)
	_, err = Open(bridge.Options{Name: "no/de", Domain: -1})
	require.ErrorContains(t, err, "no/de")
}

// TestAnnouncedOnce checks that a node announces itself no earlier than with its parameter services.
func TestAnnouncedOnce(t *testing.T) {
	t.Parallel()
	n := newNode(t, "node")
	require.Equal(t, int64(2), n.graph.announce.next(), "one announcement was written")
	require.Len(t, n.graph.own.nodes[0].readers, 6, "request readers of the parameter services")
	require.Len(t, n.graph.own.nodes[0].writers, 8, "reply writers, /rosout and /parameter_events")
}

// TestDomains checks a process in two domains at once, with several nodes in one of the domains.
func TestDomains(t *testing.T) {
	here := newNode(t, "here")
	too, err := Open(bridge.Options{Name: "too", Namespace: "/test", Domain: domainOf(t)})
	require.NoError(t, err)
	other, file, err := claimDomain()
	require.NoError(t, err)
	defer file.Close()
	there, err := Open(bridge.Options{Name: "there", Namespace: "/test", Domain: other})
	require.NoError(t, err)
	require.Len(t, domains.byID, 2)
	_, err = there.Advertise("numbers", "std_msgs/msg/String", codec.DefaultQoS())
	require.NoError(t, err)
	_, err = too.Advertise("words", "std_msgs/msg/String", codec.DefaultQoS())
	require.NoError(t, err)
	topicOf(t, here, "/test/words", func(topic bridge.Topic) bool { return len(topic.Publishers) == 1 })
	require.Empty(t, publishersOf(here, "/test/numbers"))
	require.NoError(t, there.Close())
	require.NoError(t, too.Close())
	require.Len(t, domains.byID, 1)
	topicOf(t, here, "/test/words", func(topic bridge.Topic) bool { return topic.Name == "" })
}

// What is asked of a node that is closed starts nothing again.
func TestClosedNodeRests(t *testing.T) {
	t.Parallel()
	n, err := Open(bridge.Options{Name: "node", Namespace: "/test", Domain: domainOf(t)})
	require.NoError(t, err)
	require.NoError(t, n.Close())
	n.Topics()
	require.False(t, n.(*node).graph.settling.Stop(), "the timer runs")
}

func newNode(t testing.TB, name string) *node {
	t.Helper()
	n, err := Open(bridge.Options{Name: name, Namespace: "/test", Domain: domainOf(t)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Close()) })
	return n.(*node)
}

// tickerRole publishes every millisecond.
func tickerRole() error {
	n, err := Open(bridge.Options{Name: "other", Namespace: "/test", Domain: -1})
	if err != nil {
		return err
	}
	defer n.Close()
	q := bridgetest.KeepAll()
	q.Reliability = codec.BestEffort
	p, err := n.Advertise("bytes", bridgetest.BytesType, q)
	if err != nil {
		return err
	}
	end := make(chan struct{})
	go func() {
		bridgetest.UntilEOF()
		close(end)
	}()
	for tick := time.NewTicker(time.Millisecond); ; {
		select {
		case <-tick.C:
			if err := p.Publish(bridgetest.Pattern(100, 0)); err != nil {
				return err
			}
		case <-end:
			return nil
		}
	}
}

func TestReceiveFromOtherProcess(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ size, count int }{{12, 1000}, {100, 2000}, {1 << 20, 10}, {8<<20 + 4, 3}} {
		t.Run(fmt.Sprint(test.size), func(t *testing.T) {
			n := newNode(t, "receiver")
			var mu sync.Mutex
			var kept []bridge.Payload
			var samples []bridge.Sample
			done := make(chan struct{})
			s, err := n.Subscribe("bytes", bridgetest.BytesType, bridgetest.KeepAll(), func(batch []bridge.Sample) {
				mu.Lock()
				defer mu.Unlock()
				for _, sample := range batch {
					kept = append(kept, sample.Retain())
					samples = append(samples, sample)
				}
				if len(samples) >= test.count {
					close(done)
				}
			})
			require.NoError(t, err)
			begin := time.Now().UnixNano()
			start(t, "publisher", fmt.Sprint("SIZE=", test.size), fmt.Sprint("COUNT=", test.count))
			select {
			case <-done:
			case <-time.After(patience):
				require.FailNow(t, "samples are missing")
			}
			require.NoError(t, s.Close())
			require.Len(t, kept, test.count)
			publishers := publishersOf(n, s.Topic())
			require.Len(t, publishers, 1)
			end := time.Now().UnixNano()
			for i := range kept {
				got, s := kept[i].Data, samples[i]
				if !bytes.Equal(bridgetest.Pattern(test.size, i), got) || s.SourceTime != int64(i)*1000+1 ||
					s.Sequence != uint64(i+1) || s.Publisher != publishers[0].GUID ||
					s.ReceiveTime <= begin || s.ReceiveTime > end {
					require.FailNow(t, "another sample", "%d is %+v with %d bytes", i, s, len(got))
				}
				kept[i].Release()
			}
			require.Zero(t, s.Lost())
		})
	}
}

func publishersOf(n bridge.Node, name string) []bridge.Endpoint {
	for _, t := range n.Topics() {
		if t.Name == name {
			return t.Publishers
		}
	}
	return nil
}

// TestCloseBlocked closes a publisher whose subscriber's process has stopped acknowledging samples.
func TestCloseBlocked(t *testing.T) {
	t.Parallel()
	n := newNode(t, "sender")
	p, err := n.Advertise("bytes", bridgetest.BytesType, bridgetest.KeepAll())
	require.NoError(t, err)
	other := start(t, "sink")
	require.Eventually(t, func() bool { return p.Subscribers() > 0 }, patience, time.Millisecond)
	require.NoError(t, other.Process.Signal(syscall.SIGSTOP))
	t.Cleanup(func() { other.Process.Signal(syscall.SIGCONT) })

	var published atomic.Int32
	failed := make(chan error)
	go func() {
		for {
			if err := p.Publish(bridgetest.Pattern(1<<20, 0)); err != nil {
				failed <- err
				return
			}
			published.Add(1)
		}
	}()
	require.Eventually(t, func() bool {
		before := published.Load()
		time.Sleep(200 * time.Millisecond)
		return before > 0 && published.Load() == before
	}, patience, time.Millisecond, "publishing blocks")
	require.Equal(t, 1, p.Subscribers(), "asking does not wait")
	closed := make(chan error)
	go func() { closed <- p.Close() }()
	select {
	case err := <-failed:
		require.ErrorIs(t, err, errClosed)
	case <-time.After(patience):
		require.FailNow(t, "publishing still blocks")
	}
	require.NoError(t, <-closed)
}

// TestLost checks the count of losses in a process that loses about every fifth packet. The packets are not repeated.
func TestLost(t *testing.T) {
	t.Parallel()
	n := newNode(t, "receiver")
	q := bridgetest.KeepAll()
	q.Reliability = codec.BestEffort
	var mu sync.Mutex
	var sequences []uint64
	var lost uint64
	s, err := n.Subscribe("bytes", bridgetest.BytesType, q, func(batch []bridge.Sample) {
		mu.Lock()
		defer mu.Unlock()
		for _, sample := range batch {
			lost += sample.Lost
			sequences = append(sequences, sample.Sequence)
		}
	})
	require.NoError(t, err)
	start(t, "ticker",
		"CYCLONEDDS_URI=<CycloneDDS><Domain><Internal><Test><XmitLossiness>200</XmitLossiness></Test></Internal>"+
			"</Domain></CycloneDDS>")
	require.Eventually(t, func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(sequences) > 500
	}, patience, 5*time.Millisecond)
	require.NoError(t, s.Close())
	sent := sequences[len(sequences)-1] - sequences[0] + 1
	require.Equal(t, sent-uint64(len(sequences)), s.Lost())
	require.Equal(t, s.Lost(), lost)
	require.NotZero(t, lost)
}
