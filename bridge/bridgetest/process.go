package bridgetest

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/codec"
)

// roleVariable is the environment variable with the role of a process.
const roleVariable = "TAPEDECK_TEST_ROLE"

// Roles holds the functions that other processes of a test may run, by name. A function must return when the standard
// input of its process ends.
type Roles map[string]func() error

// Play runs the role of a process that Start started, and exits. In any other process it returns. Play adds the roles
// publisher and sink, whose nodes open opens.
func (r Roles) Play(open func(bridge.Options) (bridge.Node, error)) {
	name := os.Getenv(roleVariable)
	if name == "" {
		return
	}
	play := map[string]func(bridge.Node) error{"publisher": publish, "sink": sink}[name]
	err := fmt.Errorf("there is no role %s", name)
	switch {
	case r[name] != nil:
		err = r[name]()
	case play != nil:
		err = inNode(open, play)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, name, "fails:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// inNode runs play with a new node, and closes the node when standard input ends.
func inNode(open func(bridge.Options) (bridge.Node, error), play func(bridge.Node) error) error {
	n, err := open(bridge.Options{Name: "other", Namespace: "/test", Domain: -1})
	if err != nil {
		return err
	}
	defer n.Close()
	if err := play(n); err != nil {
		return err
	}
	UntilEOF()
	return nil
}

// Process is a process that runs a role of this test binary.
type Process struct {
	*exec.Cmd
	Stop func() error // ends the process and returns its error
}

// Start starts a process with a role and additional environment variables. The process ends with the test at the
// latest.
func Start(t testing.TB, role string, env ...string) Process {
	t.Helper()
	p := Process{Cmd: exec.Command(os.Args[0])}
	p.Env = append(os.Environ(), append(env, roleVariable+"="+role)...)
	p.Stderr = os.Stderr
	stdin, err := p.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, p.Cmd.Start())
	p.Stop = sync.OnceValue(func() error {
		stdin.Close()
		return p.Wait()
	})
	t.Cleanup(func() { require.NoError(t, p.Stop()) })
	return p
}

// UntilEOF waits for the end of standard input.
func UntilEOF() { _, _ = io.Copy(io.Discard, bufio.NewReader(os.Stdin)) }

// KeepAll returns a reliable QoS with a history that keeps all samples.
func KeepAll() codec.QoS {
	q := codec.DefaultQoS()
	q.History = codec.KeepAll
	return q
}

// BytesType is the type of the messages that the processes of tests publish.
const BytesType = "std_msgs/msg/UInt8MultiArray"

// Pattern returns a payload with the given size in bytes. The payload contains number.
func Pattern(size, number int) []byte {
	b := make([]byte, size)
	b[1] = 1
	for i := 12; i < size; i++ {
		b[i] = byte(i*7 + i>>8 + number)
	}
	binary.LittleEndian.PutUint64(b[4:], uint64(number))
	return b
}

// offer advertises the topic bytes and waits for a subscriber.
func offer(n bridge.Node) (bridge.Publisher, error) {
	p, err := n.Advertise("bytes", BytesType, KeepAll())
	if err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(patience); p.Subscribers() == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("no subscriber of %s", p.Topic())
		}
	}
	return p, nil
}

// amount returns the SIZE of payloads in bytes, and the COUNT of payloads, from the environment.
func amount() (size, count int) {
	_, _ = fmt.Sscan(os.Getenv("SIZE"), &size)
	_, _ = fmt.Sscan(os.Getenv("COUNT"), &count)
	return size, count
}

// publish publishes COUNT patterns of SIZE bytes, each with its own source time.
func publish(n bridge.Node) error {
	p, err := offer(n)
	if err != nil {
		return err
	}
	size, count := amount()
	for i := range count {
		if err := p.PublishAt(Pattern(size, i), int64(i)*1000+1); err != nil {
			return err
		}
	}
	return nil
}

// sink receives messages and ignores them.
func sink(n bridge.Node) error {
	_, err := n.Subscribe("bytes", BytesType, KeepAll(), func([]bridge.Sample) {})
	return err
}
