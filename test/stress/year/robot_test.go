package year

import (
	"bytes"
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/cryptotest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/bridge/bridgetest"
	"tapedeck/codec"
	"tapedeck/codec/disktest"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/codec/store/s3"
	"tapedeck/config"
	"tapedeck/msgs/std_msgs"
	"tapedeck/nodes/recorder/recorder"
)

const (
	folder   = "/data"
	diskSize = 6 << 20
	step     = 97*time.Millisecond + 13 // time between messages; nothing of the recorder has such a period
	restart  = 2 * time.Second          // after which systemd starts a recorder again
	restarts = 20
)

// topics are the topics of the robot.
var topics = []string{"/robot/imu", "/robot/camera"}

// rarity is how many steps are between two messages of a topic.
var rarity = map[string]int{"/robot/imu": 1, "/robot/camera": 4}

// stream names the messages of a topic during a boot.
type stream struct {
	boot  int
	topic string
}

// message is a message that the recorder received.
type message struct {
	at       time.Duration // since the boot
	promised bool          // it must be readable from now on
}

// world is a robot with its disk, and the depot.
type world struct {
	t     *testing.T
	seed  uint64
	day   int
	boots int // since the beginning of the year
	disk  *disktest.Disk
	depot *depot

	sent     map[stream][]message
	finals   map[string]string // hash of each file with its final name, by path
	known    map[string]*contents
	inStore  map[string]*contents // by key
	keyOf    map[[32]byte]string  // keys by the hashes of their contents
	copied   []*contents          // of files that people copied
	released map[stream]map[int]bool
	trimmed  map[string]bool // files that the recorder deleted though they were not uploaded, as it was told to
	stepped  map[int]bool    // boots in which the clock was set

	log    []string
	latest *running

	mu     sync.Mutex
	wrongs []string // what products did wrong, noted by any goroutine
	statistics
}

// statistics count what happened.
type statistics struct {
	boots, ends, errs, left map[string]int
	messages, played, heard int
}

func (s *statistics) String() string {
	return fmt.Sprintf("%v boots, %d messages; %d recordings played, %d messages heard; ends of recorders: %v; "+
		"errors: %v; left on the disk in the evening: %v", s.boots, s.messages, s.played, s.heard, s.ends, s.errs, s.left)
}

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{
		t: t, seed: seed, disk: &disktest.Disk{Size: diskSize},
		sent: map[stream][]message{}, finals: map[string]string{}, known: map[string]*contents{},
		inStore: map[string]*contents{}, keyOf: map[[32]byte]string{},
		released: map[stream]map[int]bool{}, stepped: map[int]bool{},
		trimmed: map[string]bool{},
		statistics: statistics{boots: map[string]int{}, ends: map[string]int{}, errs: map[string]int{},
			left: map[string]int{}},
	}
	require.NoError(t, w.disk.MkdirAll(folder))
	w.disk = w.disk.Killed()
	w.depot = newDepot(w)
	return w
}

// random returns the random numbers for a purpose in the present boot.
func (w *world) random(purpose ...string) *rand.Rand {
	h := fnv.New64()
	fmt.Fprint(h, w.day, w.boots, purpose)
	return rand.New(rand.NewPCG(w.seed, h.Sum64()))
}

// live lives through a day.
func (w *world) live(t *testing.T) {
	w.t = t
	cryptotest.SetGlobalRandom(t, w.seed<<16+uint64(w.day))
	r := w.random("day")
	for range 1 + r.IntN(3) {
		w.boots++
		w.boot(t, w.plan())
		w.check(t, w.boots)
	}
	w.boots++
	w.depot.repair()
	w.boot(t, w.evening())
	w.check(t, w.boots)
	w.clear(t)
	if w.day%10 == 0 {
		w.checkPromises(t, 1)
		w.checkManifests(t, "")
	}
}

// plan is what happens in a boot.
type plan struct {
	start   time.Duration // by the wall clock, since the beginning of 2000
	storage string
	args    []string
	drive   time.Duration
	end     string // limit, interrupt, kill or power
	trigger trigger
	sync    time.Duration
	deletes bool // the recorder may delete files that are not uploaded
	faults  faults
	full    window        // the disk has only few bytes left
	broken  window        // the disk fails
	step    time.Duration // by which the clock is set in the middle of the drive
	depot   bool          // it is evening
}

func (p *plan) String() string {
	return fmt.Sprintf("start %v, args %v, drive %v, end %s %+v, faults %+v, full %v, broken %v, step %v", p.start, p.args,
		p.drive, p.end, p.trigger, p.faults, p.full, p.broken, p.step)
}

// window is a time since the boot.
type window struct{ from, until time.Duration }

func (w window) has(t time.Duration) bool { return w.from <= t && t < w.until }

// trigger is when a kill or a power cut happens: at the n-th of some operations of the disk after a time, or at the
// time if operation is "".
type trigger struct {
	after           time.Duration
	operation, kind string
	n               int
	late            bool // after the operation, not before it
}

var (
	storages = []string{"mcap", "mcap-file", "record"}
	triggers = []trigger{
		{operation: "create", kind: "active"}, {operation: "write", kind: "active"}, {operation: "sync", kind: "active"},
		{operation: "rename", kind: "data"}, {operation: "folder", kind: "folder"}, {operation: "create", kind: "list"},
		{operation: "write", kind: "list"}, {operation: "sync", kind: "list"}, {operation: "rename", kind: "list"},
		{operation: "create", kind: "spool"}, {operation: "write", kind: "spool"}, {operation: "sync", kind: "spool"},
		{operation: "rename", kind: "spool"}, {operation: "remove", kind: "data"}, {operation: "remove", kind: "spool"},
		{operation: "mkdir", kind: "folder"},
	}
)

// pick returns a random element.
func pick[T any](r *rand.Rand, list ...T) T { return list[r.IntN(len(list))] }

// between returns a random time that is no whole number of ms.
func between(r *rand.Rand, least, most time.Duration) time.Duration {
	return least + time.Duration(r.Int64N(int64(most-least)/1e6))*time.Millisecond + odd(r)
}

// args returns arguments for a recorder.
func (w *world) args(p *plan, r *rand.Rand) []string {
	p.storage = pick(r, storages...)
	p.sync = pick(r, 200*time.Millisecond, 500*time.Millisecond, time.Second) + 1011*time.Nanosecond
	args := []string{"--regex", "^/(robot|replay)/", "--output-prefix", folder + "/robot", "-s", p.storage,
		"--sync-interval", p.sync.String(), "--chunk-duration", pick(r, "100ms", "1s"),
		"--upload", w.depot.URL("fleet"), "--upload-timeout", "40s", "--disable-keyboard-controls"}
	if p.storage != "record" {
		args = append(args, "--compression", pick(r, "none", "zstd", "lz4"), "--chunk-groups", pick(r, "one", "auto"))
	}
	if r.IntN(4) > 0 {
		args = append(args, "--max-bag-duration", pick(r, "2s", "5s", "9s"))
	}
	if r.IntN(5) == 0 {
		args = append(args, "--split-names", "time")
	}
	if r.IntN(2) == 0 {
		args = append(args, "--delete-after-upload")
	}
	return args
}

// plan makes the plan of a boot.
func (w *world) plan() *plan {
	r := w.random("plan")
	p := &plan{drive: between(r, 8*time.Second, 40*time.Second), end: pick(r, "limit", "interrupt", "kill", "power",
		"power")}
	p.start = time.Duration(w.day)*24*time.Hour + time.Duration(6+w.boots%4)*time.Hour
	if r.IntN(8) == 0 { // the battery of the clock is empty
		p.start = time.Duration(10+r.IntN(5)) * time.Second
	}
	p.args = w.args(p, r)
	if p.end == "limit" {
		p.args = append(p.args, "--max-duration", p.drive.String())
	}
	if p.end == "kill" || p.end == "power" {
		p.trigger.after = between(r, 0, p.drive)
		if r.IntN(3) > 0 {
			after := p.trigger.after
			p.trigger = pick(r, triggers...)
			p.trigger.after, p.trigger.n, p.trigger.late = after, 1+r.IntN(3), r.IntN(2) == 0
		}
	}
	switch action := pick(r, "stop", "pause", "delete-oldest", "delete-uploaded"); r.IntN(4) {
	case 0:
		from := between(r, time.Second, p.drive)
		p.full = window{from, from + between(r, 5*time.Second, 40*time.Second)}
		fallthrough
	case 1:
		p.deletes = action == "delete-oldest"
		p.args = append(p.args, "--low-space-action", action)
	case 2:
		if r.IntN(3) == 0 {
			p.deletes = true
			p.args = append(p.args, "--max-bag-files", "3")
		}
	}
	if r.IntN(12) == 0 {
		from := between(r, time.Second, p.drive)
		p.broken = window{from, from + between(r, 100*time.Millisecond, 2*time.Second)}
	}
	if r.IntN(6) == 0 {
		p.step = pick(r, -time.Hour, -time.Second, 30*time.Minute, -20*365*24*time.Hour)
	}
	switch r.IntN(4) {
	case 0: // a good network
	case 1:
		p.faults.from = between(r, 0, p.drive)
		p.faults.until = p.faults.from + between(r, time.Second, 5*time.Minute)
		p.faults.silently = r.IntN(2) == 0
	case 2:
		p.faults.odds = pick(r, 0.05, 0.3)
	case 3:
		p.faults.shrinks, p.faults.lies = r.IntN(2) == 0, r.IntN(2) == 0
	}
	return p
}

// evening returns the plan of the last boot of a day.
func (w *world) evening() *plan {
	p := &plan{drive: 10*time.Second + 7, end: "limit", depot: true}
	p.start = time.Duration(w.day)*24*time.Hour + 20*time.Hour
	p.args = append(w.args(p, w.random("evening")), "--max-duration", p.drive.String())
	p.args = slices.DeleteFunc(p.args, func(a string) bool { return a == "--upload-timeout" || a == "40s" })
	return p
}

// running is a boot that goes on.
type running struct {
	*plan
	world *world
	t     *testing.T
	began time.Time
	net   *bridgetest.Network
	disk  *robotDisk
	link  *link
	died  chan struct{}

	mu      sync.Mutex
	next    *disktest.Disk // after the kill or the power cut; nil: none happened
	death   time.Duration  // since the boot
	ended   time.Duration  // since the boot
	matched int            // operations that the trigger counts
	console bytes.Buffer
}

// Write implements io.Writer for the logs of nodes.
func (b *running) Write(line []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.console.Write(line)
}

// open opens a node on the robot's graph.
func (b *running) open(o bridge.Options) (bridge.Node, error) {
	o.Console = b
	return b.net.Open(o)
}

func (b *running) now() time.Duration { return time.Since(b.began) }

// boot runs a recorder from the start of the robot to its end.
func (w *world) boot(t *testing.T, p *plan) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(p.start - time.Duration(time.Now().UnixNano()-year2000))
		b := &running{plan: p, world: w, t: t, began: time.Now(), net: &bridgetest.Network{}, died: make(chan struct{})}
		w.depot.world.t = t
		b.disk = newRobotDisk(w.disk, b.before, b.after)
		b.link = w.depot.connect(p.faults)
		fail := w.disk.Fail
		w.disk.Fail = func(path string, n int) (int, error) {
			if p.broken.has(b.now()) {
				return 0, syscall.EIO
			}
			return fail(path, n)
		}
		peer, err := b.open(bridge.Options{Name: "robot"})
		require.NoError(t, err)
		if p.full.until > 0 {
			b.fill()
		}
		switch {
		case p.end != "kill" && p.end != "power":
		case p.trigger.operation == "":
			time.AfterFunc(p.trigger.after, b.die)
		default:
			time.AfterFunc(p.drive, b.die) // the operation may never come
		}
		b.run(peer)
		b.ended = b.now()
		require.NoError(t, peer.Close())
		b.link.close()
		time.Sleep(time.Minute) // connections end; after the end of the bubble's first goroutine no time passes
		if b.next == nil {
			b.next = w.disk.Killed()
		}
		w.disk = b.next
		w.latest = b
		b.report()
	})
}

const year2000 = 946684800e9

// odd returns a few ns. Durations with it do not end when one of the recorder's timers does: the order of what happens
// at the same simulated instant is random.
func odd(r *rand.Rand) time.Duration { return time.Duration(1 + r.IntN(999)) }

// fill lets another program fill the disk for a while.
func (b *running) fill() {
	time.AfterFunc(b.full.from, func() {
		free, _, _ := b.disk.Space(folder)
		bytes := max(free-int64(b.world.random("fill").IntN(400_000)), 0)
		b.disk.Fill(bytes)
		time.AfterFunc(b.full.until-b.full.from, func() { b.disk.Fill(-bytes) })
	})
}

// run starts recorders, publishes, and returns when the robot is off.
func (b *running) run(peer bridge.Node) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	driven := make(chan struct{})
	go func() {
		defer close(driven)
		b.publish(ctx, peer)
		if b.depot {
			b.replay()
		}
		if b.end != "limit" {
			cancel()
		}
	}()
	off := func() bool {
		select {
		case <-b.died:
		case <-ctx.Done():
		default:
			return false
		}
		return true
	}
	for range restarts {
		began := b.now()
		system := recorder.System{Disk: b.disk, Graph: b.open, Store: s3.Over(b.link.dial)}
		err := config.Execute(ctx, recorder.NewCommand(system), b.args)
		if err != nil && b.alive() {
			b.explain(err)
		}
		if off() || err == nil && b.end == "limit" || b.now() > b.drive {
			break
		}
		if err == nil {
			b.world.wrong("the recorder ended by itself after %v", b.now()-began)
		}
		time.Sleep(restart)
	}
	cancel()
	<-driven
}

// explain counts the error of a recorder, and fails unless something went wrong with the disk or the store.
func (b *running) explain(err error) {
	b.world.log = append(b.world.log, fmt.Sprintf("boot %d: %v after %v", b.world.boots, err, b.now()))
	for _, e := range []struct {
		text     string
		expected bool
	}{
		{syscall.EIO.Error(), b.broken.until > 0},
		{syscall.ENOSPC.Error(), b.full.until > 0},
		{"less than the", b.full.until > 0},
		{"is full", b.full.until > 0},
		{"has no older file to delete", b.full.until > 0},
		{"already exists", b.start < time.Minute}, // a second later the name is another one
		{"object of this name with other", b.start < time.Minute || b.depot},
		{"not uploaded", !b.depot},
	} {
		if e.expected && strings.Contains(err.Error(), e.text) {
			b.world.errs[e.text]++
			return
		}
	}
	b.world.wrong("the recorder failed: %v", err)
}

// publish publishes the robot's messages, and notes those that a recorder receives.
func (b *running) publish(ctx context.Context, peer bridge.Node) {
	publishers := map[string]bridge.Publisher{}
	for _, topic := range topics {
		p, err := peer.Advertise(topic, "std_msgs/msg/String", codec.DefaultQoS())
		require.NoError(b.t, err)
		publishers[topic] = p
	}
	stepped := false
	for i := 0; b.now() < b.drive; i++ {
		select {
		case <-time.After(step):
		case <-b.died:
			return
		case <-ctx.Done():
			return
		}
		if !stepped && b.step != 0 && b.now() > b.drive/2 {
			stepped = true
			b.world.stepped[b.world.boots] = true
			b.net.SetClock(b.step)
		}
		for _, topic := range topics {
			if p := publishers[topic]; i%rarity[topic] == 0 && p.Subscribers() > 0 {
				s := stream{b.world.boots, topic}
				n := len(b.world.sent[s])
				b.world.sent[s] = append(b.world.sent[s], message{at: b.now()})
				data, err := cdr.Marshal(&std_msgs.String{Data: text(s, n)})
				require.NoError(b.t, err)
				require.NoError(b.t, p.Publish(data))
			}
		}
	}
}

// text returns the text of a message.
func text(s stream, n int) string {
	h := fnv.New64()
	fmt.Fprint(h, s, n)
	r := rand.New(rand.NewPCG(h.Sum64(), 0))
	size := 50 + r.IntN(200)
	if s.topic == "/robot/camera" {
		size = 500 + r.IntN(5000)
	}
	filler := make([]byte, size)
	for i := range filler {
		filler[i] = byte('a' + r.IntN(26))
	}
	return fmt.Sprintf("%d %s %d %s", s.boot, s.topic, n, filler)
}

// wrong notes something that must not happen. It does not end the goroutine, which the bubble waits for.
func (w *world) wrong(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wrongs = append(w.wrongs, fmt.Sprintf(format, args...))
}

// alive reports whether the recorder was neither killed nor lost power.
func (b *running) alive() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.next == nil
}

// before is called before an operation of the disk.
func (b *running) before(operation, path string) {
	if !b.alive() {
		return
	}
	if operation == "remove" && kind(path) == "data" {
		b.checkRemoval(path)
	}
	if b.triggered(operation, path, false) {
		b.die()
	}
}

// after is called after an operation of the disk.
func (b *running) after(operation, path string) {
	if b.alive() && b.triggered(operation, path, true) {
		b.die()
	}
}

func (b *running) triggered(operation, path string, late bool) bool {
	g := b.trigger
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.end != "kill" && b.end != "power" || g.operation != operation || g.kind != kind(path) || g.late != late ||
		b.now() < g.after {
		return false
	}
	b.matched++
	return b.matched == g.n
}

// die kills the recorder, or cuts the power: what it does from now on has no effect.
func (b *running) die() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.next != nil {
		return
	}
	if b.end == "kill" {
		b.next = b.world.disk.Killed()
	} else {
		b.next = b.world.disk.PowerCut(func(path string) *rand.Rand { return b.world.random("cut", path) })
	}
	b.death = b.now()
	b.link.cut()
	close(b.died)
}

// report adds the boot to the log and to the statistics, and decides which messages are promised.
func (b *running) report() {
	w := b.world
	end := b.end
	if b.death > 0 && b.trigger.operation != "" {
		end += " at " + b.trigger.operation + " " + b.trigger.kind
	}
	w.statistics.ends[end]++
	w.statistics.boots[b.storage]++
	until := b.ended
	if b.death > 0 {
		until = b.death - b.sync
	}
	for _, trouble := range []window{b.full, b.broken} {
		if trouble.until > 0 {
			until = min(until, trouble.from-b.sync)
		}
	}
	counts := ""
	for _, topic := range topics {
		list := w.sent[stream{w.boots, topic}]
		promised := 0
		for i := range list {
			list[i].promised = list[i].at < until
			if list[i].promised {
				promised++
			}
		}
		w.messages += len(list)
		counts += fmt.Sprintf(" %s %d of %d promised", topic, promised, len(list))
	}
	w.log = append(w.log, fmt.Sprintf("day %d boot %d: %v\n  death %v,%s", w.day, w.boots, b.plan, b.death, counts))
}

func (b *running) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return fmt.Sprintf("boot %d: %v\n%s", b.world.boots, b.plan, &b.console)
}
