package e2e

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"tapedeck/bridge/bridgetest"
	"tapedeck/codec"
	"tapedeck/msgs/std_msgs"
	"tapedeck/test/internal/process"
)

// inEnclave returns the graph for processes with the keys of an enclave.
func (g *graph) inEnclave(k *bridgetest.Keystore, enclave string) *graph {
	secured := *g
	secured.env = slices.Concat(g.env, k.Environment(enclave))
	return &secured
}

// writeTexts writes a recording of a topic with 1,000 equal texts at intervals of 10 ms.
func (g *graph) writeTexts(name, topic, text string) {
	g.t.Helper()
	w, err := formats.Create(g.path(name), codec.CreateOptions{})
	require.NoError(g.t, err)
	c := &codec.Channel{Topic: topic, Type: "std_msgs/msg/String", Encoding: codec.EncodingCDR}
	for i := range int64(1000) {
		require.NoError(g.t, w.Write(&codec.Message{Channel: c, LogTime: epoch + i*1e7,
			Data: marshal(g.t, &std_msgs.String{Data: text})}))
	}
	require.NoError(g.t, w.Close())
}

// sniffer looks for texts in the packets on the loopback interface.
type sniffer struct {
	texts [][]byte
	seen  []atomic.Int64
	fd    int
	ended chan struct{}
}

func newSniffer(t *testing.T, texts ...string) (*sniffer, error) {
	const allProtocols = unix.ETH_P_ALL>>8 | unix.ETH_P_ALL&0xff<<8 // in network order
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, allProtocols)
	if err != nil {
		return nil, err
	}
	s := &sniffer{fd: fd, seen: make([]atomic.Int64, len(texts)), ended: make(chan struct{})}
	for _, text := range texts {
		s.texts = append(s.texts, []byte(text))
	}
	require.NoError(t, unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: allProtocols, Ifindex: 1}))
	require.NoError(t, unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Usec: 100_000}))
	var stop atomic.Bool
	go func() {
		defer close(s.ended)
		packet := make([]byte, 1<<17)
		for !stop.Load() {
			n, _, err := unix.Recvfrom(fd, packet, 0)
			for i := 0; err == nil && i < len(s.texts); i++ {
				if bytes.Contains(packet[:n], s.texts[i]) {
					s.seen[i].Add(1)
				}
			}
		}
	}()
	t.Cleanup(func() {
		stop.Store(true)
		<-s.ended
		unix.Close(fd)
	})
	return s, nil
}

// TestSecurity checks that a recorder with keys records encrypted messages of a player with keys. Nodes without keys,
// with keys of another CA and with permissions for other topics must not receive the messages. Nodes with expired keys
// must not start.
func TestSecurity(t *testing.T) {
	t.Parallel()
	g := isolate(t)
	ours, foreign := bridgetest.NewKeystore(t, g.domain), bridgetest.NewKeystore(t, g.domain)
	ours.Add("/recorder", bridgetest.Enclave{})
	ours.Add("/player", bridgetest.Enclave{})
	ours.Add("/expired", bridgetest.Enclave{Days: -1})
	ours.Add("/narrow", bridgetest.Enclave{Topics: []string{
		"rt/rosout", "rt/parameter_events", "rt/diagnostics", "rt/events/*", "rt/begin_write", "rt/other", "rt/clock",
		"rq/_*Request", "rr/_*Reply", "rq/recorder/*Request", "rr/recorder/*Reply", "rq/player/get_*Request",
		"rr/player/get_*Reply",
	}})
	foreign.Add("/recorder", bridgetest.Enclave{})
	strangers := map[string]*graph{
		"none": g, "foreign": g.inEnclave(foreign, "/recorder"), "narrow": g.inEnclave(ours, "/narrow"),
	}
	const secret, public = "the door code is 4711", "the weather is fine"
	g.writeTexts("secret.record", "/secret", secret)
	g.writeTexts("public.record", "/public", public)
	sniffer, noSniffer := newSniffer(t, secret, public)

	for _, name := range []string{"recorder", "player"} {
		args := map[string][]string{"recorder": {"-o", "none", "--all"}, "player": {"secret.record"}}[name]
		out := g.inEnclave(ours, "/expired").run(1, name, args...)
		require.Contains(t, out, "cert.pem, identity_ca.cert.pem in "+ours.Path+"/enclaves/expired")
		require.Contains(t, out, "certificate has expired")
	}
	listeners := map[string]*process.Process{}
	for name, s := range strangers {
		listeners[name] = s.start("recorder", "-o", name, "/secret", "/public", "--allow-unmatched")
		process.Await(t, func() bool {
			_, err := os.Stat(g.path(name + ".record.00000" + codec.ActiveSuffix))
			return err == nil
		})
	}
	play := func(in *graph, args ...string) *process.Process {
		return process.Start(t, in.command(filepath.Join(g.bin, "player"), append(args, "--loop")...))
	}
	weather := play(g, "public.record")
	listeners["none"].Prints("recording /public")

	recorder := g.inEnclave(ours, "/recorder").start("recorder", "-o", "good", "/secret", "/public",
		"--max-recording-messages", "100", "--allow-unmatched")
	recorder.Prints("security is on, enclave /, keys in " + ours.Path + "/enclaves/recorder, Enforce")
	door := play(g.inEnclave(ours, "/player"), "secret.record")
	recorder.Prints("recording /secret")

	pause := func(in *graph, want string) {
		t.Helper()
		cmd := in.command(filepath.Join(g.bin, "player"), "pause", "--timeout", "5s", "--node", "/player")
		require.Contains(t, process.Start(t, cmd).Wait(1), want)
	}
	require.Contains(t, g.inEnclave(ours, "/recorder").remote(0, "player", "rate", "--node", "/player"),
		"/player: rate 1")
	pause(strangers["foreign"], "no player /player was found within ")
	pause(strangers["narrow"], "permissions.p7s does not allow to publish the DDS topic rq/player/pauseRequest")
	recorder.Wait(0)
	require.Len(t, messages(t, g.path("good.record.00000"))["/secret"], 100)
	require.Contains(t, g.inEnclave(ours, "/recorder").remote(0, "player", "pause", "--node", "/player"),
		"/player: paused")
	door.Stop()
	weather.Stop()
	for name, l := range listeners {
		output := l.Stop()
		heard := messages(t, g.path(name+".record.00000"))
		require.Empty(t, heard["/secret"], name)
		require.Equal(t, name == "none", len(heard["/public"]) > 0, name)
		require.LessOrEqual(t, strings.Count(output, "signature failure; subject: /CN=\\/player"), 1, output)
	}
	require.Empty(t, messages(t, g.path("good.record.00000"))["/public"])

	t.Run("on the network", func(t *testing.T) {
		if noSniffer != nil {
			t.Skip("listening to the loopback interface is not allowed: ", noSniffer)
		}
		require.Positive(t, sniffer.seen[1].Load(), "messages without keys must be readable")
		require.Zero(t, sniffer.seen[0].Load(), "messages with keys must not be readable")
	})
}
