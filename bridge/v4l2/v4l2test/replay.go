package v4l2test

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
	"unsafe"

	"golang.org/x/sys/unix"

	"tapedeck/bridge/v4l2"
	"tapedeck/bridge/v4l2/internal/kernel"
)

// Replay is a v4l2.System that answers as was recorded, and notices what is asked otherwise than it was then. A recording is text: one
// system call a line, in order, what it was asked before " = " and after it what it answered, as strace shows them.
//
//	node /dev/video0 name="HD Pro Webcam C920" serial=8A2F port=1-2
//	nodes = /dev/video0
//	open /dev/video0
//	open /dev/video0 = EBUSY
//	QUERYCAP = card="HD Pro Webcam C920" capabilities=0x84a00001 device_caps=0x04200001
//	ENUM_FMT index=0 type=1 = pixelformat="YUYV" description="YUYV 4:2:2"
//	ENUM_FMT index=1 type=1 = EINVAL
//	mmap 0 614400
//	poll = ready
//	clock 100.033 1700000000.033
//	DQBUF type=1 = index=0 bytesused=4 timestamp=100.001 data=ffd8ffd9
//	munmap
//	close
//
// Fields are those of the structs in linux/videodev2.h, those of a struct or union in them as "pix.width". The plane of a buffer is "plane.",
// "data" are bytes in the buffer that is dequeued. Fields that are not there are not compared, and not changed. "clock" sets the
// monotonic and the realtime clock, "poll" is answered by "ready", "timeout", an error, or "wait", for Wake. "node" describes what "nodes" then
// lists. Empty lines and those with # are left out.
type Replay struct {
	nodes   map[string]v4l2.Node
	woken   chan struct{}
	waiting chan struct{}
	memory  [][]byte // of the buffers that are mapped
	clocks  map[int32]int64

	mutex sync.Mutex
	steps []step
	err   error
}

// step is a line of a recording.
type step struct {
	line      int
	call      string
	arguments []string
	answer    []string
}

// NewReplay returns a Replay of a recording.
func NewReplay(recording string) (*Replay, error) {
	r := &Replay{
		nodes: make(map[string]v4l2.Node), woken: make(chan struct{}, 1), waiting: make(chan struct{}),
		clocks: map[int32]int64{unix.CLOCK_MONOTONIC: 0, unix.CLOCK_REALTIME: 0},
	}
	for i, line := range strings.Split(recording, "\n") {
		words := split(line)
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		s := step{line: i + 1, call: words[0], arguments: words[1:]}
		if at := slices.Index(s.arguments, "="); at >= 0 {
			s.arguments, s.answer = s.arguments[:at], s.arguments[at+1:]
		}
		if s.call == "node" && len(s.arguments) > 0 {
			node := v4l2.Node{Path: s.arguments[0]}
			for _, argument := range s.arguments[1:] {
				if err := set(reflect.ValueOf(&node).Elem(), argument); err != nil {
					return nil, fmt.Errorf("line %d: %w", s.line, err)
				}
			}
			r.nodes[node.Path] = node
			continue
		}
		r.steps = append(r.steps, s)
	}
	return r, nil
}

// split returns the words of a line. What is in quotes is one word, without them.
func split(line string) []string {
	var words []string
	var word strings.Builder
	quoted, any := false, false
	for _, r := range line + " " {
		switch {
		case r == '"':
			quoted, any = !quoted, true
		case unicode.IsSpace(r) && !quoted:
			if any {
				words = append(words, word.String())
			}
			word.Reset()
			any = false
		default:
			word.WriteRune(r)
			any = true
		}
	}
	return words
}

// Waiting returns a channel that is closed when a line "poll = wait" waits, of which a recording can have one, or when a call was not as
// recorded.
func (r *Replay) Waiting() <-chan struct{} { return r.waiting }

// Finish returns the first call that was not as recorded, or that some are missing.
func (r *Replay) Finish() error {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.err == nil && len(r.steps) > 0 {
		return fmt.Errorf("line %d and what follows was not called: %s %v", r.steps[0].line, r.steps[0].call, r.steps[0].arguments)
	}
	return r.err
}

// take returns the next line, if it is the wanted call.
func (r *Replay) take(call string, arguments ...string) (step, error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for len(r.steps) > 0 && r.steps[0].call == "clock" {
		for i, clock := range []int32{unix.CLOCK_MONOTONIC, unix.CLOCK_REALTIME} {
			nanoseconds, err := parseSeconds(r.steps[0].arguments[i])
			if err != nil {
				return step{}, r.fail(fmt.Errorf("line %d: %w", r.steps[0].line, err))
			}
			r.clocks[clock] = nanoseconds
		}
		r.steps = r.steps[1:]
	}
	if r.err != nil {
		return step{}, r.err
	}
	if len(r.steps) == 0 {
		return step{}, r.fail(fmt.Errorf("%s %v is called after the end of the recording", call, arguments))
	}
	s := r.steps[0]
	if s.call != call || arguments != nil && !slices.Equal(s.arguments, arguments) {
		return step{}, r.fail(fmt.Errorf("line %d: %s %v was recorded, but %s %v is called", s.line, s.call, s.arguments, call, arguments))
	}
	r.steps = r.steps[1:]
	return s, nil
}

// fail keeps an error. The caller has the lock.
func (r *Replay) fail(err error) error {
	if r.err == nil {
		r.err = err
		r.wait()
	}
	return err
}

// wait closes the channel of Waiting. The caller has the lock.
func (r *Replay) wait() {
	select {
	case <-r.waiting:
	default:
		close(r.waiting)
	}
}

// wrong keeps an error of a line.
func (r *Replay) wrong(s step, err error) error {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.fail(fmt.Errorf("line %d: %s: %w", s.line, s.call, err))
}

// errno returns the error that a line has, if it has one.
func (s *step) errno() error {
	if len(s.answer) == 0 || strings.Contains(s.answer[0], "=") {
		return nil
	}
	for errno := range unix.Errno(200) {
		if unix.ErrnoName(errno) == s.answer[0] {
			return errno
		}
	}
	return nil
}

// Open implements v4l2.System.
func (r *Replay) Open(path string) (v4l2.Device, error) {
	s, err := r.take("open", path)
	if err != nil {
		return nil, err
	}
	if err := s.errno(); err != nil {
		return nil, err
	}
	return replayDevice{r}, nil
}

// Nodes implements v4l2.System.
func (r *Replay) Nodes() ([]v4l2.Node, error) {
	s, err := r.take("nodes")
	if err != nil {
		return nil, err
	}
	var nodes []v4l2.Node
	for _, path := range s.answer {
		nodes = append(nodes, r.nodes[path])
	}
	return nodes, nil
}

// replayDevice is the Replay as an opened device: a recording has one at a time.
type replayDevice struct{ *Replay }

func (r replayDevice) Mmap(offset int64, length int) ([]byte, error) {
	s, err := r.take("mmap", strconv.FormatInt(offset, 10), strconv.Itoa(length))
	if err != nil {
		return nil, err
	}
	if err := s.errno(); err != nil {
		return nil, err
	}
	memory := make([]byte, length)
	r.memory = append(r.memory, memory)
	return memory, nil
}

func (r replayDevice) Munmap([]byte) error {
	s, err := r.take("munmap")
	if err != nil {
		return err
	}
	return s.errno()
}

func (r replayDevice) Poll(time.Duration) (bool, error) {
	s, err := r.take("poll")
	if err != nil {
		return false, err
	}
	switch answer := strings.Join(s.answer, " "); answer {
	case "ready":
		return true, nil
	case "timeout":
		return false, nil
	case "wait":
		r.mutex.Lock()
		r.wait()
		r.mutex.Unlock()
		<-r.woken
		return false, unix.ECANCELED
	default:
		if err := s.errno(); err != nil {
			return false, err
		}
		return false, r.wrong(s, fmt.Errorf("unknown answer %q", answer))
	}
}

func (r replayDevice) Wake() {
	select {
	case r.woken <- struct{}{}:
	default:
	}
}

func (r replayDevice) Now(clock int32) int64 {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.clocks[clock]
}

func (r replayDevice) Close() error {
	r.memory = nil
	s, err := r.take("close")
	if err != nil {
		return err
	}
	return s.errno()
}

func (r replayDevice) Ioctl(request uint32, argument unsafe.Pointer) error {
	call, ok := calls[request]
	if !ok {
		return unix.ENOTTY
	}
	s, err := r.take(call.name)
	if err != nil {
		return err
	}
	fields := reflect.NewAt(call.argument, argument).Elem()
	for _, want := range s.arguments {
		if err := compare(fields, want); err != nil {
			return r.wrong(s, err)
		}
	}
	if err := s.errno(); err != nil {
		return err
	}
	var data []byte
	for _, answer := range s.answer {
		if digits, ok := strings.CutPrefix(answer, "data="); ok {
			data, err = hex.DecodeString(digits)
		} else {
			err = set(fields, answer)
		}
		if err != nil {
			return r.wrong(s, err)
		}
	}
	if data == nil {
		return nil
	}
	if request == kernel.VIDIOC_DQBUF {
		if index := (*kernel.Buffer)(argument).Index; int(index) < len(r.memory) && len(data) <= len(r.memory[index]) {
			copy(r.memory[index], data)
			return nil
		}
	}
	return r.wrong(s, fmt.Errorf("there is no buffer for %d bytes of data", len(data)))
}

// calls are the requests that a recording can have, and their arguments.
var calls = map[uint32]struct {
	name     string
	argument reflect.Type
}{
	kernel.VIDIOC_QUERYCAP:            {"QUERYCAP", reflect.TypeFor[kernel.Capability]()},
	kernel.VIDIOC_ENUM_FMT:            {"ENUM_FMT", reflect.TypeFor[kernel.FmtDesc]()},
	kernel.VIDIOC_G_FMT:               {"G_FMT", reflect.TypeFor[kernel.Format]()},
	kernel.VIDIOC_S_FMT:               {"S_FMT", reflect.TypeFor[kernel.Format]()},
	kernel.VIDIOC_REQBUFS:             {"REQBUFS", reflect.TypeFor[kernel.RequestBuffers]()},
	kernel.VIDIOC_QUERYBUF:            {"QUERYBUF", reflect.TypeFor[kernel.Buffer]()},
	kernel.VIDIOC_QBUF:                {"QBUF", reflect.TypeFor[kernel.Buffer]()},
	kernel.VIDIOC_DQBUF:               {"DQBUF", reflect.TypeFor[kernel.Buffer]()},
	kernel.VIDIOC_STREAMON:            {"STREAMON", reflect.TypeFor[kernel.BufType]()},
	kernel.VIDIOC_STREAMOFF:           {"STREAMOFF", reflect.TypeFor[kernel.BufType]()},
	kernel.VIDIOC_G_PARM:              {"G_PARM", reflect.TypeFor[kernel.StreamParm]()},
	kernel.VIDIOC_S_PARM:              {"S_PARM", reflect.TypeFor[kernel.StreamParm]()},
	kernel.VIDIOC_S_CTRL:              {"S_CTRL", reflect.TypeFor[kernel.Control]()},
	kernel.VIDIOC_S_EXT_CTRLS:         {"S_EXT_CTRLS", reflect.TypeFor[kernel.ExtControls]()},
	kernel.VIDIOC_QUERYCTRL:           {"QUERYCTRL", reflect.TypeFor[kernel.QueryCtrl]()},
	kernel.VIDIOC_QUERY_EXT_CTRL:      {"QUERY_EXT_CTRL", reflect.TypeFor[kernel.QueryExtCtrl]()},
	kernel.VIDIOC_QUERYMENU:           {"QUERYMENU", reflect.TypeFor[kernel.QueryMenu]()},
	kernel.VIDIOC_ENUM_FRAMESIZES:     {"ENUM_FRAMESIZES", reflect.TypeFor[kernel.FrmSizeEnum]()},
	kernel.VIDIOC_ENUM_FRAMEINTERVALS: {"ENUM_FRAMEINTERVALS", reflect.TypeFor[kernel.FrmIvalEnum]()},
}

// compare returns an error if a field does not have the value in "field=value".
func compare(fields reflect.Value, want string) error {
	key, _, _ := strings.Cut(want, "=")
	field, err := find(fields, key)
	if err != nil {
		return err
	}
	wanted := reflect.New(field.Type()).Elem()
	if err := assign(wanted, want); err != nil {
		return err
	}
	if !field.Equal(wanted) {
		return fmt.Errorf("%s was recorded, but is %v", want, field.Interface())
	}
	return nil
}

// set gives a field the value in "field=value".
func set(fields reflect.Value, answer string) error {
	key, _, _ := strings.Cut(answer, "=")
	field, err := find(fields, key)
	if err != nil {
		return err
	}
	return assign(field, answer)
}

// unions turns the names of members of unions in C into those in package kernel.
var unions = strings.NewReplacer("fmt.pix", "pix", "parm.capture.", "", "value64", "value",
	"discrete.width", "min_width", "discrete.height", "max_width", "discrete.", "min.", "stepwise.", "")

// find returns a field by its name in C.
func find(fields reflect.Value, path string) (reflect.Value, error) {
	for name := range strings.SplitSeq(unions.Replace(path), ".") {
		switch at := fields.Addr().Interface().(type) {
		case *kernel.Format:
			if name == "pix_mp" {
				fields = reflect.ValueOf(at.PixMP()).Elem()
				continue
			}
		case *kernel.Buffer:
			if name == "plane" {
				fields = reflect.ValueOf(*(**kernel.Plane)(unsafe.Pointer(&at.M))).Elem()
				continue
			}
		case *kernel.QueryMenu:
			if name == "value" {
				return reflect.NewAt(reflect.TypeFor[int64](), unsafe.Pointer(&at.Name)).Elem(), nil
			}
		case *kernel.BufType:
			return fields, nil
		}
		switch fields.Kind() {
		case reflect.Array:
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= fields.Len() {
				return fields, fmt.Errorf("there is no %s", path)
			}
			fields = fields.Index(i)
		case reflect.Pointer, reflect.Struct:
			fields = reflect.Indirect(fields).FieldByNameFunc(func(field string) bool {
				return strings.EqualFold(field, strings.ReplaceAll(name, "_", ""))
			})
		}
		if !fields.IsValid() || !fields.CanAddr() {
			return fields, fmt.Errorf("there is no field %s", path)
		}
	}
	return fields, nil
}

// assign gives a field the value in "field=value": a number, a text, four characters of a pixel format, or seconds of a time.
func assign(field reflect.Value, assignment string) error {
	_, text, _ := strings.Cut(assignment, "=")
	switch at := field.Addr().Interface().(type) {
	case *unix.Timeval:
		nanoseconds, err := parseSeconds(text)
		*at = unix.NsecToTimeval(nanoseconds)
		return err
	case *string:
		*at = text
		return nil
	case *[8]byte: // a value64
		n, err := strconv.ParseInt(text, 0, 64)
		binary.NativeEndian.PutUint64(at[:], uint64(n))
		return err
	}
	switch field.Kind() {
	case reflect.Array:
		if field.Type().Elem().Kind() == reflect.Uint8 && len(text) <= field.Len() {
			field.SetZero()
			reflect.Copy(field, reflect.ValueOf([]byte(text)))
			return nil
		}
	case reflect.Int32, reflect.Int64:
		n, err := strconv.ParseInt(text, 0, 64)
		field.SetInt(n)
		return err
	case reflect.Uint8, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		n, err := strconv.ParseUint(text, 0, 64)
		if code, e := v4l2.ParseFourCC(text); err != nil && e == nil {
			n, err = uint64(code), nil
		}
		field.SetUint(n)
		return err
	}
	return fmt.Errorf("a %v cannot be %s", field.Type(), assignment)
}

// parseSeconds returns the nanoseconds in seconds with decimals.
func parseSeconds(text string) (int64, error) {
	seconds, fraction, _ := strings.Cut(text, ".")
	if len(fraction) > 9 {
		return 0, fmt.Errorf("time %q has more than nine decimals", text)
	}
	return strconv.ParseInt(seconds+fraction+strings.Repeat("0", 9-len(fraction)), 10, 64)
}
