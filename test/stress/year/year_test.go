// Package year simulates a year of a robot that records each day, in one process and in minutes. The recorder with its
// uploads and its disk guard, and the player, are the products' own commands. They run on the graph, the disk and the
// S3 server of packages bridgetest, disktest and storetest, in bubbles of testing/synctest: time passes only when all
// goroutines wait.
//
// Each day has some boots of the robot, and in the evening a last one at the depot, where the network is good. By the
// seed, the other boots end by a stop, a kill or a power cut, also in the middle of a sequence of operations of the
// disk. Disks fill up or fail, networks go away, stores are down, break connections, and lose or misstate the size of
// what they accepted, and clocks are set. After each boot, invariants are checked: see check_test.go.
//
// A seed repeats its choices and their results. Some things cannot be under simulated time, so they are not here:
//   - Go's scheduler: of operations that happen at the same simulated instant in several goroutines, any may be first
//   - an operation of the disk that takes time: a goroutine that waits for a mutex stops simulated time
//   - DDS, the file systems of the kernel, signals, terminals, web pages, systemd, and the player's exact timers
//   - the wall clock within a boot, apart from the times at which messages are received
//   - uploads in several parts, which begin at 8 MiB: these recordings are small
//
// test/stress/recorder and test/stress/power test the executables with them.
package year

import (
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec/text/human"
)

var (
	days = flag.Int("days", 0, "days to simulate; 0: 30, or 3 with -short")
	seed = flag.Uint64("seed", 1, "seed of all choices")
	list = flag.Bool("list", false, "print what happened")
)

func TestMain(m *testing.M) {
	flag.Parse()
	runtime.GOMAXPROCS(1)     // goroutines that run at the same time would not repeat what they do
	human.Stdout = io.Discard // summaries of thousands of recordings
	os.Exit(m.Run())
}

// TestYear simulates days with a drive each.
func TestYear(t *testing.T) {
	n := *days
	switch {
	case n > 0:
	case testing.Short():
		n = 3
	default:
		n = 30
	}
	w := simulate(t, *seed, n)
	t.Logf("%d days, seed %d: %s", n, *seed, &w.statistics)
	t.Logf("hash of the log: %s", digest(w.log))
	if *list {
		t.Log(strings.Join(w.log, "\n"))
	}
}

// TestSeedsRepeat simulates the same days twice, and compares what happened in them.
func TestSeedsRepeat(t *testing.T) {
	n := 8
	if testing.Short() {
		n = 2
	}
	first := simulate(t, *seed+1000, n)
	second := simulate(t, *seed+1000, n)
	require.Equal(t, strings.Join(first.log, "\n"), strings.Join(second.log, "\n"))
	require.NotEqual(t, digest(first.log), digest(simulate(t, *seed+1001, n).log))
}

// digest returns a hash of the lines of a log.
func digest(lines []string) string {
	sum := sha256.Sum256([]byte(strings.Join(lines, "\n")))
	return hex.EncodeToString(sum[:8])
}

// simulate simulates days. A failure prints how to repeat it.
func simulate(t *testing.T, seed uint64, days int) *world {
	w := newWorld(t, seed)
	for w.day = 1; w.day <= days; w.day++ {
		if !t.Run(fmt.Sprintf("seed %d day %d", seed, w.day), w.live) {
			t.Log(strings.Join(w.log[max(0, len(w.log)-6):], "\n"))
			t.Log(w.latest)
			t.Fatalf("day %d failed; see it again: go test ./test/stress/year -run TestYear -seed %d -days %d", w.day,
				seed, w.day)
		}
	}
	return w
}
