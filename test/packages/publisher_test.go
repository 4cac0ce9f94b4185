package packages

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/test/internal/process"
)

// foreignPublisher publishes texts by Fast DDS.
type foreignPublisher struct {
	t *testing.T
	*process.Process
}

// publish starts publisher/publisher.cpp in a machine of its own, in domain 0.
func publish(t *testing.T, shared, topic string) foreignPublisher {
	t.Helper()
	m := newMachine(t, shared, "bookworm", "amd64", "g++", "libfastrtps-dev")
	source, err := os.ReadFile("publisher/publisher.cpp")
	require.NoError(t, err)
	program := filepath.Join(shared, "publisher")
	sum := sha256.Sum256(source)
	kept := filepath.Join(work(), fmt.Sprintf("publisher-%x", sum[:4]))
	if _, err := os.Stat(kept); err != nil {
		require.NoError(t, os.WriteFile(program+".cpp", source, 0o644))
		m.run(superuser, "g++", "-O1", "-Wall", "-Wextra", "-o", program, program+".cpp", "-lfastrtps", "-lfastcdr")
		require.NoError(t, os.Rename(program, kept))
	}
	require.NoError(t, os.Link(kept, program))
	return foreignPublisher{t, m.start(plainUser, program, "0", topic)}
}

// end waits until the publisher has sent 300 messages to a subscriber, and ends it. It returns the numbers of messages
// that the publisher has sent at all, and those to a subscriber.
func (p foreignPublisher) end() (sent, heard int) {
	p.t.Helper()
	p.Prints("300 heard")
	p.Signal(syscall.SIGTERM)
	lines := strings.Split(strings.TrimSpace(p.Wait(0)), "\n")
	_, err := fmt.Sscanf(lines[len(lines)-1], "sent %d, heard %d", &sent, &heard)
	require.NoError(p.t, err, lines)
	return sent, heard
}

// text returns a message of the publisher.
func text(number int) string {
	text := fmt.Sprint("message ", number)
	return text + strings.Repeat(".", 100+number%50-len(text))
}
