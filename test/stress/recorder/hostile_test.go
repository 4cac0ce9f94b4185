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

var attacks = flag.Int("attacks", 5000, "how many damaged discovery messages to send to the recorder")

// TestHostileDiscovery has a participant send damaged discovery messages to a recorder and to the source that it
// records. Both live, the recorder takes no more memory than for the topics that it finds, and no message is lost.
func TestHostileDiscovery(t *testing.T) {
	g := newGraph(t)
	domain := process.Domain()
	// Without a tag, which the attacker does not have.
	g.env = append(process.InDomain(domain), "CYCLONEDDS_URI=<Discovery><LeaseDuration>3600s</LeaseDuration></Discovery>")
	recorder := g.start("recorder", "--all", "-o", "drive")
	source := g.publish(load{[]topic{{"/small", 1, 500, 100}}, time.Hour})
	source.begun()

	attacker, err := newAttacker(domain, *seed)
	require.NoError(t, err)
	defer attacker.Close()
	attacker.Replies = replies(t)
	before := recorder.Memory()
	for i := range *attacks {
		require.NoError(t, attacker.Attack())
		if i%10 == 0 {
			time.Sleep(time.Millisecond) // or the system drops them
		}
	}
	require.NoError(t, attacker.Leave())
	sent := source.finish().Sent[0]
	grown := recorder.Memory() - before
	printed := recorder.Interrupt()
	require.Contains(t, printed, "0 dropped, 0 lost in transport")
	require.Equal(t, sent, g.recording("record", "drive").read(1).total())
	require.Less(t, grown, 32<<20)
	t.Logf("%d damaged messages, seed %d: the recorder grew by %d kB", *attacks, *seed, grown>>10)
}

// replies returns messages of Fast DDS's TypeLookup service, none where the samples are missing.
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
