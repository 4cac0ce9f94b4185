package power

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"tapedeck/bridge"
	"tapedeck/bridge/graph/dds"
	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/msgs"
	"tapedeck/msgs/builtin_interfaces"
	"tapedeck/msgs/nav_msgs"
	"tapedeck/msgs/rosgraph_msgs"
	"tapedeck/test/internal/powerdisk"
	"tapedeck/test/internal/process"
)

// faultTime is how long a recorder receives messages from a disk with a fault.
const faultTime = 2 * time.Second

// faultSlack is how much longer than syncInterval the recorder may run before a message is durable, beside other
// recorders.
const faultSlack = 4 * recorderSlack

// frameTime is the simulated and the real time between two frames of CARLA.
const frameTime = 50 * time.Millisecond

// faultRuns are recorders of every format, with some 4 MB/s or as much as the format allows.
var faultRuns = []recorderRun{
	{storage: "record", streams: loads, options: []string{"--max-bag-duration", "1s"}},
	{storage: "rosbag2", streams: loads, options: []string{"--max-bag-duration", "1s"}},
	{storage: "mcap-file", streams: loads},
	{storage: "session", streams: robot, options: []string{"--max-bag-duration", "1s"}},
	{storage: "carla", streams: drive, options: []string{"--max-bag-duration", "1s"}, late: 350 * time.Millisecond},
}

var loads = append(slices.Clone(texts[:2]), textStream("/huge", 100*time.Millisecond, 400_000))

// drive are the topics of which the recorder makes frames of CARLA.
var drive = []stream{
	{topic: "/clock", period: frameTime, encode: func(number int, _ time.Time) msgs.Message {
		return &rosgraph_msgs.Clock{Clock: simulated(number)}
	}},
	{topic: "/carla/hero/odometry", period: frameTime, encode: func(number int, _ time.Time) msgs.Message {
		m := &nav_msgs.Odometry{ChildFrameId: "hero"}
		m.Header.Stamp, m.Header.FrameId = simulated(number), "map"
		m.Pose.Pose.Position.X = float64(number)
		return m
	}},
	frames[0],
}

func simulated(number int) builtin_interfaces.Time {
	at := time.Duration(number) * frameTime
	return builtin_interfaces.Time{Sec: int32(at / time.Second), Nanosec: uint32(at % time.Second)}
}

// fault is what happens to the disk of a recorder.
type fault struct {
	kind   string // write, flush, full, read-only, slow (each flush) or "" (none)
	number int    // of the first failing write or flush; free blocks of 4 KiB; ms until read-only or of a slow flush
	lasts  bool   // all later requests fail, too, or all later flushes
	pause  bool   // the recorder shall go on
}

func (f fault) String() string {
	text := fmt.Sprint(f.kind, " ", f.number)
	if f.lasts {
		text += " and on"
	}
	if f.pause {
		text += ", pause"
	}
	return text
}

// faultRun is a recorder on a disk with a fault.
type faultRun struct {
	fault
	rr       recorderRun
	disk     *powerdisk.Disk
	begin    int64 // position of the disk before the recorder
	cmd      *exec.Cmd
	recorder *process.Process
	clock    chan []sample
	stop     chan struct{}   // ends measuring
	hit      atomic.Int64    // ns since the Unix epoch of the first failed request, or of the end of the recorder
	requests [2]atomic.Int64 // writes and flushes
	free     int64           // bytes before the recorder
	written  int             // blocks of 4 KiB that the recorder has taken
	expected map[string][]arrival
	code     int
	output   string
}

// fail is a hook of the disk.
func (f *faultRun) fail(q *powerdisk.Request) error {
	if f.kind == "slow" && q.Flush {
		time.Sleep(time.Duration(f.number) * time.Millisecond)
	}
	kind, of := "write", 0
	if q.Flush {
		kind, of = "flush", 1
	}
	n := int(f.requests[of].Add(1))
	begun := f.hit.Load() != 0 && f.lasts && (f.kind == kind || f.kind == "write")
	if begun || f.kind == kind && n == f.number {
		f.hit.CompareAndSwap(0, q.Began.UnixNano())
		return syscall.EIO
	}
	return nil
}

// start starts the recorder.
func (f *faultRun) start(t *testing.T, domain int) {
	f.begin = f.disk.Position()
	var err error
	f.free, _, err = codec.OS{}.Space(f.disk.Dir)
	require.NoError(t, err)
	args := []string{"--output", filepath.Join(f.disk.Dir, "drive"), "-s", f.rr.storage, "--min-space", "0",
		"--sync-interval", syncInterval.String()}
	for _, s := range f.rr.streams {
		if s.encode != nil {
			args = append(args, s.topic)
		}
	}
	if f.pause {
		args = append(args, "--low-space-action", "pause")
	}
	if f.kind == "full" {
		f.fill(t)
	}
	f.disk.Fault(f.fail)
	if f.kind != "slow" { // each split takes several flushes
		args = append(args, f.rr.options...)
	}
	f.cmd = node(exec.Command(filepath.Join(bin, "recorder"), args...), t.TempDir(), domain)
	f.recorder = process.Start(t, f.cmd)
	f.stop, f.clock = make(chan struct{}), make(chan []sample, 1)
	go func() { f.clock <- measure(f.cmd.Process.Pid, f.stop) }()
}

// fill leaves number free blocks.
func (f *faultRun) fill(t *testing.T) {
	file, err := os.Create(filepath.Join(f.disk.Dir, "ballast"))
	require.NoError(t, err)
	defer file.Close()
	size := int64(0)
	for step := int64(64 << 20); step >= 4096; {
		err := unix.Fallocate(int(file.Fd()), 0, size, step)
		if err == nil {
			size += step
			continue
		}
		require.ErrorIs(t, err, unix.ENOSPC)
		step /= 2
	}
	require.NoError(t, file.Truncate(size-int64(f.number)<<12))
	f.disk.Sync()
}

// feed publishes the streams to recorders for a time. It returns what it has published, with the times.
func feed(t *testing.T, domain int, rr recorderRun, length time.Duration, runs []*faultRun) map[string][]arrival {
	publisher, err := dds.Open(bridge.Options{Name: "publisher", Domain: domain})
	require.NoError(t, err)
	defer publisher.Close()
	qos := codec.DefaultQoS()
	qos.History, qos.Depth = codec.KeepAll, 0
	publishers := map[string]bridge.Publisher{}
	streams := slices.DeleteFunc(slices.Clone(rr.streams), func(s stream) bool { return s.encode == nil })
	for _, s := range streams {
		publishers[s.topic], err = publisher.Advertise(s.topic, s.encode(0, time.Time{}).TypeName(), qos)
		require.NoError(t, err)
	}
	running := func() (n int) {
		for _, f := range runs {
			if f.recorder.Running() {
				n++
			} else {
				f.hit.CompareAndSwap(0, time.Now().UnixNano())
			}
		}
		return n
	}
	for began := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		least := len(runs)
		for _, p := range publishers {
			least = min(least, p.Subscribers())
		}
		if least >= running() {
			break
		}
		require.Less(t, time.Since(began), process.Patience, "recorders do not subscribe")
	}
	sent := map[string][]arrival{}
	counts := map[string]int{}
	for began := time.Now(); time.Since(began) < length; time.Sleep(5 * time.Millisecond) {
		for _, s := range streams {
			for n := counts[s.topic]; time.Duration(n)*s.period < time.Since(began); n++ {
				now := time.Now()
				data, err := cdr.Marshal(s.encode(n, now))
				require.NoError(t, err)
				require.NoError(t, publishers[s.topic].Publish(data))
				counts[s.topic] = n + 1
				if s.decode != nil {
					sent[s.topic] = append(sent[s.topic], arrival{Number: n, Time: now})
				} else if s.topic == "/clock" {
					ms := n * int(frameTime/time.Millisecond)
					sent[frames[0].topic] = append(sent[frames[0].topic], arrival{Number: ms, Time: now})
				}
			}
		}
		for _, f := range runs {
			if f.kind == "read-only" && f.hit.Load() == 0 && time.Since(began).Milliseconds() >= int64(f.number) {
				require.NoError(t, f.disk.TurnReadOnly())
				f.hit.CompareAndSwap(0, time.Now().UnixNano())
			}
		}
		running()
	}
	for _, p := range publishers {
		if running() == len(runs) {
			require.NoError(t, p.Flush(t.Context()))
		}
	}
	return sent
}

// runFaults runs recorders of one kind on disks with faults, all at once.
func runFaults(t *testing.T, rr recorderRun, system powerdisk.FileSystem, faults []fault) (runs []*faultRun) {
	domain := process.Domain()
	for _, f := range faults {
		own := system
		if f.kind == "read-only" {
			own.Options = strings.TrimPrefix(own.Options+",errors=remount-ro", ",")
		}
		run := &faultRun{fault: f, rr: rr, disk: powerdisk.New(t, own)}
		runs = append(runs, run)
		run.start(t, domain)
	}
	sent := feed(t, domain, rr, faultTime, runs)
	for _, f := range runs {
		_ = f.cmd.Process.Signal(os.Interrupt) // it may have ended
	}
	for _, f := range runs {
		f.expected = sent
		for n := 0; f.kind == "slow" && f.recorder.Running() && n < 3000; n++ { // the end takes some 20 flushes
			time.Sleep(100 * time.Millisecond)
		}
		f.recorder.Ended()
		free, _, err := codec.OS{}.Space(f.disk.Dir)
		require.NoError(t, err)
		f.written = max(int(f.free-free)>>12, 0)
		f.code, f.output = f.recorder.ExitCode(), f.recorder.Output()
		close(f.stop)
	}
	return runs
}

var droppedCount = regexp.MustCompile(`, (\d+) dropped|(?m)^recorder: .* (\d+) messages? from .* missing`)

// dropped returns how many messages the recorder has reported as dropped or missing.
func (f *faultRun) dropped() (sum int) {
	for _, found := range droppedCount.FindAllStringSubmatch(f.output, -1) {
		n, _ := strconv.Atoi(found[1] + found[2])
		sum += n
	}
	return sum
}

// check looks at the disk after the recorder, as it is or after a power cut.
func (f *faultRun) check(c *cut, clock []sample) {
	f.checkText(c)
	damaged := f.kind == "write" // which lost bytes of files that are not complete
	found := map[string][]arrival{}
	counts := map[string]uint64{}
	paths := f.rr.files(c.dir)
	for _, path := range paths {
		info, err := f.rr.readFile(path, found)
		if f.rr.complete(path) {
			require.NoError(c, err)
			require.True(c, info.Complete, "%s has its final name, and is not complete", path)
		} else if damaged && err != nil { // no checksum covers an open chunk of MCAP, records and sessions
			require.ErrorContains(c, err, "wrong bytes")
			continue
		}
		require.NoError(c, err)
		counts[filepath.Base(path)] = info.MessageCount
	}
	c.checkMetadata(counts)
	hit := time.Unix(0, f.hit.Load())
	missing := 0
	for topic, sent := range f.expected {
		have := map[int]bool{}
		for _, a := range found[topic] {
			number := a.Number
			if f.rr.storage == "carla" {
				number -= found[topic][0].Number
			}
			have[number] = true
		}
		for _, a := range sent {
			if have[a.Number] {
				continue
			}
			missing++
			if f.hit.Load() != 0 && a.Time.Before(hit) {
				require.LessOrEqual(c, ran(clock, hit)-ran(clock, a.Time), syncInterval+faultSlack+f.rr.late,
					"%s: message %d is missing; it was sent %v before the fault", topic, a.Number, hit.Sub(a.Time))
			}
		}
	}
	if f.code == 0 {
		for _, path := range paths {
			require.True(c, f.rr.complete(path), "the recorder has succeeded, and %s is not complete", path)
		}
	}
	if f.code == 0 || f.kind == "full" && f.pause && f.hit.Load() == 0 {
		require.LessOrEqual(c, missing, f.dropped(), "messages are missing, and the recorder does not say it")
	}
	if c.Number%5 == 0 && !damaged {
		f.rr.recover(c, paths, found)
	}
}

// checkText requires that the recorder has said what happened and what to do.
func (f *faultRun) checkText(c *cut) {
	require.NotContains(c, f.output, "panic:")
	require.NotContains(c, f.output, "goroutine ")
	if f.code != 0 {
		require.Equal(c, 1, f.code)
		require.True(c, f.kind == "full" || f.hit.Load() != 0, "nothing has happened")
		require.Contains(c, f.output, filepath.Join(f.disk.Dir, "drive"))
		require.Regexp(c, "look at the disk|free some space|(create|mkdir) /[^:]*: |read-only file system", f.output)
	}
}

// examine looks at the disk as it is, and after a power cut after the recorder.
func (f *faultRun) examine(t *testing.T, viewer *powerdisk.Viewer, system powerdisk.FileSystem, number int) result {
	clock := <-f.clock
	h := &history{Scenario: f.rr.storage, System: system, Begin: f.begin, Log: f.disk.Unmount()}
	r := result{cuts: 1}
	for _, m := range powerdisk.Models[:2] {
		crashes, err := h.Log.Crashes(m, h.seed(m))
		require.NoError(t, err)
		at := powerdisk.Cut{Number: number, Position: h.Log.Position + 1, Time: time.Now()}
		s := scenario{check: func(c *cut) { f.check(c, clock) }}
		found := h.look(t, s, viewer, crashes, at, crashes.Kept(at), false)
		require.NoError(t, crashes.Close())
		if found.unmountable != nil {
			r.unmountable = 1
		}
		if len(found.broken) > 0 {
			r.broken = 1
		}
		if text := found.text(); text != "" {
			t.Errorf("%v, %s, exit code %d: %s\n%s", f, m.Name, f.code, text, f.output)
		}
	}
	return r
}

// chooseFaults returns the faults of recorders that write so much without a fault.
func chooseFaults(system powerdisk.FileSystem, writes, flushes, blocks int) (list []fault) {
	random := rand.New(rand.NewPCG(*seed, 0))
	if *cuts == 0 {
		flush, write := 1+random.IntN(max(flushes, 1)), 1+random.IntN(max(writes, 1))
		return []fault{
			{kind: "flush", number: flush}, {kind: "flush", number: flush, lasts: true},
			{kind: "write", number: write}, {kind: "write", number: write, lasts: true},
			{kind: "write", number: write, pause: true}, {kind: "full", number: random.IntN(max(blocks, 1))},
			{kind: "read-only", number: random.IntN(2000)},
		}
	}
	for n := range flushes {
		list = append(list, fault{kind: "flush", number: n + 1, lasts: n%4 == 1, pause: n%8 >= 6})
	}
	share := 7 // of -cuts
	if system.Kind != "ext4" {
		share = 35
	}
	for n := range max(10, *cuts/share) {
		list = append(list, fault{kind: "write", number: 1 + random.IntN(max(writes, 1)), lasts: n%4 == 1, pause: n%8 >= 6})
	}
	for n := range 12 {
		list = append(list, fault{kind: "full", number: blocks * n / 11, pause: n%4 == 3})
	}
	for n := range 8 {
		if system.Kind == "ext4" {
			list = append(list, fault{kind: "read-only", number: 250 * n, pause: n%4 == 3})
		}
	}
	return list
}

// batchOfFaults is the number of recorders that run at once.
const batchOfFaults = 8

// TestFaults makes the disk of a recorder fail. What the recorder has promised must be there afterwards, and also after
// a power cut.
func TestFaults(t *testing.T) {
	systems := powerdisk.FileSystems[:3]
	if *cuts == 0 {
		systems = systems[:1]
	}
	var sums sums
	t.Cleanup(func() { t.Log(sums.table()) })
	for _, rr := range faultRuns {
		for _, system := range systems {
			t.Run(rr.storage+"/"+system.Name, func(t *testing.T) {
				t.Parallel()
				viewer := powerdisk.NewViewer(t, system)
				batch := func(list []fault) (writes, flushes, blocks int) {
					t.Run(fmt.Sprint(list[0]), func(t *testing.T) {
						for i, f := range runFaults(t, rr, system, list) {
							r := f.examine(t, viewer, system, i)
							for _, name := range []string{rr.storage, system.Name, cmp.Or(f.kind, "no fault"),
								fmt.Sprint("exit code ", f.code), "all"} {
								sums.add(name, r)
							}
							writes, flushes = int(f.requests[0].Load()), int(f.requests[1].Load())
							blocks = f.written
						}
					})
					return writes, flushes, blocks
				}
				writes, flushes, blocks := batch([]fault{{}})
				if *cuts > 0 && system.Kind == "ext4" {
					batch([]fault{{kind: "slow", number: 5000}})
				}
				for list := range slices.Chunk(chooseFaults(system, writes, flushes, blocks), batchOfFaults) {
					batch(list)
				}
			})
		}
	}
}
