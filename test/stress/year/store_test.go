package year

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"tapedeck/codec/store/storetest"
)

// depot is the store that the robot uploads to.
type depot struct {
	*storetest.Server
	world *world

	mu      sync.Mutex
	sent    map[string][32]byte // hash of the first content that was accepted for each key of data
	keys    map[[32]byte]string // key by hash
	dirty   map[string]bool     // keys of objects that changed since the last check
	shrunk  map[string][]byte   // what should be in objects that the store truncated
	counts  map[string]int      // requests of the boot, by method and key
	link    *link
	faults  faults
	fumbled map[string]int // faults that happened
}

// faults say what goes wrong with the store during a boot.
type faults struct {
	from, until time.Duration // the network is away, since the boot
	silently    bool          // it does not refuse connections, but lets them hang
	odds        float64       // share of requests that fail
	shrinks     bool          // the store truncates some objects that it accepts
	lies        bool          // the store sometimes names a wrong size
}

func newDepot(w *world) *depot {
	return &depot{Server: storetest.New(w.t), world: w, sent: map[string][32]byte{}, keys: map[[32]byte]string{},
		dirty: map[string]bool{}, shrunk: map[string][]byte{}, fumbled: map[string]int{}}
}

// repair puts back what the store truncated.
func (d *depot) repair() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for key, content := range d.shrunk {
		if now, ok := d.Content(key); ok && len(now) < len(content) {
			d.Put(key, content)
			d.dirty[key] = true
		}
	}
	clear(d.shrunk)
}

// link is the network between the robot and the depot during a boot: connections in memory.
type link struct {
	depot  *depot
	server *http.Server
	began  time.Time
	conns  chan net.Conn
	ctx    context.Context // ends with the link
	cut    context.CancelFunc
}

// connect serves the store during a boot.
func (d *depot) connect(f faults) *link {
	l := &link{depot: d, began: time.Now(), conns: make(chan net.Conn)}
	l.ctx, l.cut = context.WithCancel(context.Background())
	l.server = &http.Server{Handler: http.HandlerFunc(l.serve)}
	d.mu.Lock()
	d.faults, d.link, d.counts = f, l, map[string]int{}
	d.mu.Unlock()
	go func() { _ = l.server.Serve(l) }()
	return l
}

func (l *link) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.ctx.Done():
		return nil, net.ErrClosed
	}
}

func (l *link) Close() error   { return nil }
func (l *link) Addr() net.Addr { return &net.TCPAddr{} }

// away returns how long the network stays away; 0: it is there.
func (l *link) away() time.Duration {
	if now, f := time.Since(l.began), l.depot.faults; now >= f.from {
		return max(f.until-now, 0)
	}
	return 0
}

// dial connects the robot with the store.
func (l *link) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if away := l.away(); away > 0 && l.depot.faults.silently {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-l.ctx.Done():
			return nil, net.ErrClosed
		case <-time.After(min(away, 30*time.Second)):
			return nil, &net.OpError{Op: "dial", Net: network, Err: os.ErrDeadlineExceeded}
		}
	} else if away > 0 || l.ctx.Err() != nil {
		return nil, &net.OpError{Op: "dial", Net: network, Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	}
	robot, store := net.Pipe()
	select {
	case l.conns <- store:
		return robot, nil
	case <-l.ctx.Done():
		return nil, net.ErrClosed
	}
}

// serve handles a request after a while, with faults.
func (l *link) serve(w http.ResponseWriter, r *http.Request) {
	d, key := l.depot, strings.TrimPrefix(r.URL.Path, "/"+storetest.Bucket+"/")
	d.mu.Lock()
	request := r.Method + " " + key
	d.counts[request]++
	random := d.world.random("request", request, strconv.Itoa(d.counts[request]))
	d.mu.Unlock()
	if away := l.away(); away > 0 {
		l.sleep(away)
		panic(http.ErrAbortHandler)
	}
	l.sleep(time.Duration(20+random.IntN(200))*time.Millisecond + odd(random))
	body, err := io.ReadAll(r.Body)
	if err != nil || l.ctx.Err() != nil {
		panic(http.ErrAbortHandler)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	fate := 1.0
	if d.faults.odds > 0 {
		fate = random.Float64() / d.faults.odds
	}
	switch {
	case fate < 0.4:
		d.fumble("unavailable")
		storetest.Unavailable(w)
		return
	case fate < 0.7:
		d.fumble("request lost")
		panic(http.ErrAbortHandler)
	}
	answer := httptest.NewRecorder()
	d.Handler.ServeHTTP(answer, r)
	if r.Method == http.MethodPut && answer.Code == http.StatusOK {
		d.accepted(key, body)
		if d.faults.shrinks && len(body) > 10 && random.IntN(4) == 0 {
			d.fumble("truncated")
			d.mu.Lock()
			d.shrunk[key] = body
			d.mu.Unlock()
			d.Put(key, body[:random.IntN(len(body))])
		}
	}
	l.sleep(time.Duration(20+random.IntN(200))*time.Millisecond + odd(random))
	if fate < 1 {
		d.fumble("answer lost")
		panic(http.ErrAbortHandler)
	}
	for name, values := range answer.Header() {
		w.Header()[name] = values
	}
	if size, err := strconv.Atoi(answer.Header().Get("Content-Length")); err == nil && d.faults.lies &&
		r.Method == http.MethodHead && random.IntN(3) == 0 {
		d.fumble("wrong size")
		w.Header().Set("Content-Length", strconv.Itoa(size+random.IntN(3)-1))
	}
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes())
}

// sleep waits unless the link is cut meanwhile.
func (l *link) sleep(d time.Duration) {
	select {
	case <-time.After(d):
	case <-l.ctx.Done():
		panic(http.ErrAbortHandler)
	}
}

// accepted notes an object that the store accepted.
func (d *depot) accepted(key string, content []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.dirty[key] = true
	if path.Base(key) == "recording.json" {
		return
	}
	sum := sha256.Sum256(content)
	if before, known := d.sent[key]; known && before != sum {
		d.world.wrong("%s was uploaded twice with different contents", key)
	}
	d.sent[key] = sum
	d.keys[sum] = key
}

func (d *depot) fumble(what string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fumbled[what]++
}

// holds reports whether the store has an object with a content.
func (d *depot) holds(content []byte) bool {
	d.mu.Lock()
	key, known := d.keys[sha256.Sum256(content)]
	d.mu.Unlock()
	now, ok := d.Content(key)
	return known && ok && bytes.Equal(now, content)
}

// close ends the link: what is under way is lost.
func (l *link) close() {
	l.cut()
	err := l.server.Close()
	if err != nil && !errors.Is(err, net.ErrClosed) {
		l.depot.world.wrong("close the store: %v", err)
	}
}
