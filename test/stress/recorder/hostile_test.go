package recorder

import (
	"encoding/binary"
	"flag"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/test/internal/process"
	"tapedeck/test/samples"
)

var attacks = flag.Int("attacks", 5000, "number of damaged discovery messages to send to the recorder")

// TestHostileDiscovery sends damaged discovery messages to a recorder and to publishers. It checks that both processes
// survive, that the recorder takes little memory, and that it loses no message.
func TestHostileDiscovery(t *testing.T) {
	g := newGraph(t)
	domain := process.Domain()
	// Without the tag of InDomain, which the attacker does not have.
	g.env = append(process.InDomain(domain), "CYCLONEDDS_URI=<Discovery><LeaseDuration>3600s</LeaseDuration></Discovery>")
	recorder := g.start("recorder", "--all", "-o", "drive")
	publishers := g.startPublishers(load{[]topic{{"/small", 1, 500, 100}}, time.Hour})
	publishers.waitUntilPublishing()

	attacker, err := newAttacker(domain, *seed)
	require.NoError(t, err)
	defer attacker.Close()
	attacker.Replies = replies(t)
	before := recorder.Memory()
	for i := range *attacks {
		require.NoError(t, attacker.Attack())
		if i%10 == 0 {
			time.Sleep(time.Millisecond) // without pauses, socket buffers overflow
		}
	}
	require.NoError(t, attacker.Leave())
	sent := publishers.finish().Sent[0]
	grown := recorder.Memory() - before
	printed := recorder.Interrupt()
	require.Contains(t, printed, "0 dropped, 0 lost in transport")
	require.Equal(t, sent, g.recording("record", "drive").read(1).total())
	require.Less(t, grown, 32<<20)
	t.Logf("%d damaged messages, seed %d: the recorder grew by %d kB", *attacks, *seed, grown>>10)
}

// replies returns RTPS messages of Fast DDS's TypeLookup service, or none if the samples are missing.
func replies(t *testing.T) (list [][]byte) {
	path, ok := samples.Find("dds/fastdds-3.6.1-typelookup-replies.rtps")
	if !ok {
		return nil
	}
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	for len(data) > 0 {
		size := 4 + int(binary.BigEndian.Uint32(data))
		list = append(list, data[4:size])
		data = data[size:]
	}
	return list
}
