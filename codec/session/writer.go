package session

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"tapedeck/codec"
	"tapedeck/codec/align"
	"tapedeck/codec/episode"
	"tapedeck/codec/internal/output"
	"tapedeck/codec/pixel"
)

// Options say how a session is written.
type Options struct {
	// EasyTeleop has it written as EasyTeleop 0.1 does, not as it documents: grippers in end_effector.csv, tables of arm_0
	// and arm_1 even if there is nothing in them, and in metadata.json all devices in one object, without the name and the
	// start.
	EasyTeleop bool
	// Quaternions has poses with quaternions written as such, in seven numbers instead of six.
	Quaternions bool
	Overwrite   bool
	Workers     int             // that make PNGs; 0 is as many as there are processors
	Task        string          // what is done, in words
	Success     *bool           // whether it was done; nil is not known
	Metadata    json.RawMessage // what more is to be in metadata.json, as a JSON object; nil is nothing
}

// flushPace is how long samples wait at most to be written.
const flushPace = time.Second

// Writer writes a session. Samples are in their tables within a second, pictures have their names when they are whole,
// and metadata.json comes at the end: what is there when the writer is killed can be read. The methods are not for
// concurrent use, except that Sync may be called beside the others.
//
// Frame and Sample take a stamp in ns since the Unix epoch. When the disk fails they, Sync and Complete return a
// *codec.MissingError, in which the topics are those of the Track or Vector, or else their names; their channels are
// those that were declared.
type Writer struct {
	path    string
	options Options
	cameras map[string]*cameraWriter
	arms    map[string]*armWriter
	vectors map[*align.Vector]*vectorWriter
	tables  tableList
	start   int64  // earliest stamp
	end     int64  // latest
	taken   uint64 // frames and samples
	events  []event
	given   json.RawMessage // metadata.json as it is to be; nil: it is made

	complete bool // metadata.json is written

	pictures *pictures
	stop     chan struct{}
	ticking  sync.WaitGroup

	bytes  atomic.Int64
	late   atomic.Uint64
	folder *os.File

	syncing sync.Mutex // held while the folder is synced or closed; locked before mu

	mu       sync.Mutex
	channels map[string]*codec.Channel // by topic, that errors name
	err      error                     // of the disk, the first
	lost     map[[2]string]*lostError  // by name and table
	missing  *codec.MissingError       // that was returned
	closed   bool
}

var _ output.Part = (*Writer)(nil)

// cameraWriter is a camera of a session that is written.
type cameraWriter struct {
	device json.RawMessage
	topic  string
	folder string
	latest int64
}

// armWriter is an arm of a session that is written.
type armWriter struct {
	device json.RawMessage
	info   armInfo
	grip   [2]float64
	folder string
	tables [episode.Roles]*csvFile
}

// vectorWriter is how samples of a vector are written.
type vectorWriter struct {
	table      *csvFile
	stream     episode.Role
	unit       string // of joints
	keys       []key
	fractions  []bool // columns that have some; nil: not known
	quaternion bool   // of the pose
	values     [6]float64
}

// tableList are the tables of a session.
type tableList struct {
	mu   sync.Mutex
	list []*csvFile
}

func (l *tableList) add(f *csvFile) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, f)
}

func (l *tableList) all() []*csvFile {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.list)
}

// Create begins a session in the folder path, which must not exist unless o.Overwrite is set and it is a session.
func Create(path string, o Options) (*Writer, error) {
	w := &Writer{
		path: filepath.Clean(path), options: o, stop: make(chan struct{}),
		channels: map[string]*codec.Channel{}, lost: map[[2]string]*lostError{},
		cameras: map[string]*cameraWriter{}, arms: map[string]*armWriter{}, vectors: map[*align.Vector]*vectorWriter{},
	}
	if o.Metadata != nil {
		var object map[string]json.RawMessage
		if err := json.Unmarshal(o.Metadata, &object); err != nil {
			return nil, fmt.Errorf("create %s: metadata are no JSON object: %w", path, err)
		}
	}
	if err := w.create(); err != nil {
		return nil, fmt.Errorf("create %s: %w", path, codec.Pathless(err))
	}
	workers := cmp.Or(o.Workers, runtime.GOMAXPROCS(0))
	w.pictures = newPictures(max(workers, 1), w.pictured)
	w.ticking.Go(w.flushRegularly)
	return w, nil
}

// create makes what every session has.
func (w *Writer) create() error {
	if w.options.Overwrite {
		if err := remove(w.path); err != nil {
			return err
		}
	}
	if err := os.Mkdir(w.path, 0o777); err != nil {
		return err
	}
	folder, err := os.Open(w.path)
	if err != nil {
		return err
	}
	w.folder = folder
	err = os.Mkdir(filepath.Join(w.path, framesName), 0o777)
	if err == nil {
		err = os.WriteFile(w.metadataPath()+partSuffix, w.describe(), 0o666)
	}
	if err == nil && w.options.EasyTeleop {
		err = w.createPair()
	}
	if err != nil {
		folder.Close()
		return err
	}
	codec.SyncFolder(filepath.Dir(w.path))
	return nil
}

// createPair makes the tables that EasyTeleop makes of every session.
func (w *Writer) createPair() error {
	for _, name := range []string{"arm_0", "arm_1"} {
		a, err := w.arm(&episode.Arm{Name: name})
		if err != nil {
			return err
		}
		for _, s := range []episode.Role{episode.Pose, episode.Joint, episode.Gripper} {
			if _, err := w.table(a, name, s); err != nil {
				return err
			}
		}
	}
	return nil
}

// remove removes the session at path, if there is one. Nothing but a session is removed.
func remove(path string) error {
	entries, err := os.ReadDir(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if len(entries) > 0 && !isSession(path, entries) {
		return errors.New("the folder there is no session, and is not overwritten")
	}
	return os.RemoveAll(path)
}

func (w *Writer) metadataPath() string { return filepath.Join(w.path, metadataName) }

// Size returns how many bytes were written.
func (w *Writer) Size() int64 { return w.bytes.Load() }

// Late returns how many frames had to wait until there was a worker to make a PNG of them: whoever writes has waited as
// long.
func (w *Writer) Late() uint64 { return w.late.Load() }

// Declare has errors name the channel c where they are about its topic.
func (w *Writer) Declare(c *codec.Channel) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.channels[c.Topic] = c
	return nil
}

// declared returns the channels by topic.
func (w *Writer) declared() map[string]*codec.Channel {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.channels)
}

// Write keeps an event in metadata.json. Other messages have no place in a session.
func (w *Writer) Write(m *codec.Message) error {
	e, ok := codec.ParseEvent(m)
	if !ok {
		return fmt.Errorf("write %s: %s: a session keeps frames and samples, not messages", w.path, m.Channel.Topic)
	}
	w.events = append(w.events, event(e))
	return nil
}

// Frame adds what a camera saw. A frame that is a JPEG or a PNG is written as it is, of pixels a PNG is made in the
// background; when these are more than can be made, Frame waits. The frame is the caller's again when it returns. A
// second frame with the same stamp is refused.
func (w *Writer) Frame(c *episode.Camera, stamp int64, f episode.Frame) error {
	if err := w.failure(); err != nil {
		return err
	}
	if err := w.frame(c, stamp, &f); err != nil {
		return w.refuse(err, "%s at %s", c.Name, formatStamp(stamp))
	}
	return nil
}

func (w *Writer) frame(c *episode.Camera, stamp int64, f *episode.Frame) error {
	camera := w.cameras[c.Name]
	if camera == nil {
		if err := checkName(c.Name); err != nil {
			return err
		}
		camera = &cameraWriter{device: c.Device, topic: cmp.Or(c.Topic, c.Name),
			folder: filepath.Join(w.path, framesName, c.Name), latest: math.MinInt64}
		if err := os.MkdirAll(camera.folder, 0o777); err != nil {
			return err
		}
		w.cameras[c.Name] = camera
	}
	name := filepath.Join(camera.folder, framePrefix+formatStamp(stamp))
	if stamp <= camera.latest {
		w.pictures.wait()
		for _, ext := range []string{".png", ".jpg"} {
			if _, err := os.Lstat(name + ext); err == nil {
				return errors.New("there is a frame with that stamp already")
			}
		}
	}
	switch f.Encoding {
	case "jpeg", "png":
		if found := pixel.Detect(f.Data); found != f.Encoding {
			return fmt.Errorf("the picture is no %s, it begins with %q", f.Encoding, f.Data[:min(len(f.Data), 8)])
		}
		ext := map[string]string{"jpeg": ".jpg", "png": ".png"}[f.Encoding]
		if err := writePicture(name+ext, f.Data); err != nil {
			return err
		}
		w.bytes.Add(int64(len(f.Data)))
	default:
		if _, err := f.Config(); err != nil {
			return err
		}
		if w.pictures.take(camera.topic, name+".png", stamp, f) {
			w.late.Add(1)
		}
	}
	camera.latest = max(camera.latest, stamp)
	w.took(stamp)
	return nil
}

// pictured is told how it went with a picture.
func (w *Writer) pictured(p *picture, size int64, err error) {
	if err == nil {
		w.bytes.Add(size)
		return
	}
	w.fail(&lostError{name: p.topic, path: p.path, count: 1, start: p.stamp, end: p.stamp, err: codec.Pathless(err)})
}

// took notes the time of something that was taken.
func (w *Writer) took(stamp int64) {
	if w.taken == 0 {
		w.start, w.end = stamp, stamp
	}
	w.start, w.end = min(w.start, stamp), max(w.end, stamp)
	w.taken++
}

// Sample adds a sample of a vector, which is one of the arm's. values are as many as the vector has columns now; there
// may be more behind them later. Those that align.IsMissing are left out. Angles become the table's, as the units of
// columns tell.
func (w *Writer) Sample(a *episode.Arm, v *align.Vector, stamp int64, values []float64) error {
	if err := w.failure(); err != nil {
		return err
	}
	if err := w.sample(a, v, stamp, values); err != nil {
		return w.refuse(err, "%s at %s", v.Name, formatStamp(stamp))
	}
	return nil
}

func (w *Writer) sample(a *episode.Arm, v *align.Vector, stamp int64, values []float64) error {
	out := w.vectors[v]
	if out == nil {
		var err error
		if out, err = w.vector(a, v); err != nil {
			return err
		}
		w.vectors[v] = out
	}
	if len(values) != len(v.Columns) {
		return fmt.Errorf("there are %d numbers for %d columns", len(values), len(v.Columns))
	}
	if err := out.settle(v.Columns, !w.options.Quaternions); err != nil {
		return err
	}
	if out.quaternion {
		values = out.euler(values)
	}
	if err := out.table.append(stamp, out.keys, values); err != nil {
		w.failed(err)
	}
	w.took(stamp)
	return nil
}

// vector begins to write a vector of an arm.
func (w *Writer) vector(a *episode.Arm, v *align.Vector) (*vectorWriter, error) {
	arm, err := w.arm(a)
	if err != nil {
		return nil, err
	}
	for s := range episode.Roles {
		if *s.Of(a) != v {
			continue
		}
		table, err := w.table(arm, cmp.Or(v.Topic, a.Name+"/"+s.String()), s)
		if err != nil {
			return nil, err
		}
		return &vectorWriter{table: table, stream: s, unit: arm.info.JointUnit}, nil
	}
	return nil, fmt.Errorf("it is no vector of %s", a.Name)
}

// arm returns what writes an arm.
func (w *Writer) arm(a *episode.Arm) (*armWriter, error) {
	arm := w.arms[a.Name]
	if arm == nil {
		if err := checkName(a.Name); err != nil {
			return nil, err
		}
		if a.Name == framesName {
			return nil, fmt.Errorf("an arm cannot be called %s", a.Name)
		}
		arm = &armWriter{folder: filepath.Join(w.path, a.Name)}
		if err := os.MkdirAll(arm.folder, 0o777); err != nil {
			return nil, err
		}
		w.arms[a.Name] = arm
	}
	if arm.info.JointUnit == "" || arm.device == nil && a.Device != nil {
		info, err := parseArm(a.Device)
		if err != nil {
			return nil, fmt.Errorf("device %s: %w", a.Name, err)
		}
		arm.device, arm.info = a.Device, info
	}
	if a.GripperRange != [2]float64{} {
		arm.grip = a.GripperRange
	}
	return arm, nil
}

// table returns the table of a stream.
func (w *Writer) table(arm *armWriter, name string, s episode.Role) (*csvFile, error) {
	if arm.tables[s] == nil {
		file := fileNames[s]
		if s == episode.Gripper && w.options.EasyTeleop {
			file = endEffector
		}
		table, err := createTable(filepath.Join(arm.folder, file), name)
		if err != nil {
			return nil, err
		}
		arm.tables[s] = table
		w.tables.add(table)
	}
	arm.tables[s].name = name
	return arm.tables[s], nil
}

// settle finds out how columns are written, unless that is known.
func (out *vectorWriter) settle(columns []align.Column, euler bool) error {
	if len(out.keys) == len(columns) || out.quaternion && len(columns) == 7 {
		return nil
	}
	if len(columns) > maxColumns {
		return fmt.Errorf("%d columns are too many", len(columns))
	}
	out.keys = out.keys[:0]
	out.quaternion = euler && out.stream.Base() == episode.Pose && len(columns) == 7 && isQuaternion(columns[3:])
	if out.quaternion {
		columns = columns[:6]
	}
	seen := map[string]bool{}
	for i := range columns {
		k := key{text: indexOf(out.stream, i, &columns[i]),
			whole:  out.stream.Base() == episode.Gripper && (i >= len(out.fractions) || !out.fractions[i]),
			factor: out.factor(columns[i].Unit)}
		if n, ok := wholeIndex(k.text); k.text == "" || strings.ContainsAny(k.text, ",\"\r\n") ||
			strings.TrimSpace(k.text) != k.text || ok && n > maxIndex || seen[k.text] {
			return fmt.Errorf("a column cannot be called %q", k.text)
		}
		seen[k.text] = true
		if out.quaternion {
			k.factor = 1
		}
		out.keys = append(out.keys, k)
	}
	return nil
}

// factor returns what numbers of a unit are to be multiplied with.
func (out *vectorWriter) factor(unit string) float64 {
	to := out.unit
	switch {
	case out.stream.Base() == episode.Gripper, out.stream == episode.Effort:
		return 1
	case out.stream.Base() == episode.Pose:
		to = "rad"
	}
	switch degrees := strings.HasPrefix(unit, "deg"); {
	case degrees && to == "rad":
		return math.Pi / 180
	case strings.HasPrefix(unit, "rad") && to == "deg":
		return 180 / math.Pi
	}
	return 1
}

// isQuaternion reports whether columns are one.
func isQuaternion(columns []align.Column) bool {
	return len(columns) == 4 && !slices.ContainsFunc(columns,
		func(c align.Column) bool { return c.Interp != align.Quaternion && !strings.HasPrefix(c.Name, "q") })
}

// euler returns a pose with its quaternion as roll, pitch and yaw about fixed axes.
func (out *vectorWriter) euler(pose []float64) []float64 {
	x, y, z, q := pose[3], pose[4], pose[5], pose[6]
	norm := math.Sqrt(x*x + y*y + z*z + q*q)
	x, y, z, q = x/norm, y/norm, z/norm, q/norm
	copy(out.values[:], pose[:3])
	out.values[3] = math.Atan2(2*(q*x+y*z), 1-2*(x*x+y*y))
	out.values[4] = math.Asin(min(max(2*(q*y-z*x), -1), 1))
	out.values[5] = math.Atan2(2*(q*z+x*y), 1-2*(y*y+z*z))
	return out.values[:]
}

// nameForm is how names of cameras and arms look.
var nameForm = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9_.-]{0,99}$`)

// checkName returns an error for a name that no folder should have.
func checkName(name string) error {
	if !nameForm.MatchString(name) {
		return fmt.Errorf("a device cannot be called %.120q: want letters, digits, _, . and -", name)
	}
	return nil
}

// refuse returns the error of a frame or a sample that was not taken: if it is one of the disk, that is the end of the
// session.
func (w *Writer) refuse(err error, what string, args ...any) error {
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		return fmt.Errorf("write %s: %s: %w", w.path, fmt.Sprintf(what, args...), err)
	}
	w.fail(&lostError{err: err, path: pathOf(err)})
	return w.failure()
}

// pathOf returns the path that an error of package os names.
func pathOf(err error) string {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Path
	}
	return ""
}

// failed notes what a table could not write.
func (w *Writer) failed(err error) {
	var lost *lostError
	if errors.As(err, &lost) {
		w.fail(lost)
	}
}

// fail notes an error of the disk and what is lost with it.
func (w *Writer) fail(l *lostError) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = codec.Pathless(l.err)
		if l.path != "" {
			w.err = fmt.Errorf("%s: %w", filepath.Base(l.path), w.err)
		}
	}
	if l.count == 0 {
		return
	}
	key := [2]string{l.name, l.table}
	if known := w.lost[key]; known != nil {
		known.count += l.count
		known.start, known.end = min(known.start, l.start), max(known.end, l.end)
	} else {
		w.lost[key] = l
	}
}

// failure returns an error if the disk has failed: all that is missing.
func (w *Writer) failure() error {
	w.mu.Lock()
	err, missing, closed := w.err, w.missing, w.closed
	w.mu.Unlock()
	switch {
	case missing != nil:
		return missing
	case closed:
		return fmt.Errorf("write %s: %w", w.path, fs.ErrClosed)
	case err == nil:
		return nil
	}
	w.pictures.wait()
	w.flush()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.missing == nil {
		w.missing = w.account()
	}
	return w.missing
}

// account returns what is lost. Of a message on a topic several tables may have a part.
func (w *Writer) account() *codec.MissingError {
	m := &codec.MissingError{Path: w.path, Err: w.err}
	counts := map[string]uint64{}
	for key, l := range w.lost {
		if len(counts) == 0 {
			m.Start, m.End = l.start, l.end
		}
		m.Start, m.End = min(m.Start, l.start), max(m.End, l.end)
		counts[key[0]] = max(counts[key[0]], l.count)
	}
	for _, name := range slices.SortedFunc(maps.Keys(counts), naturally) {
		c := cmp.Or(w.channels[name], &codec.Channel{Topic: name})
		m.Topics = append(m.Topics, codec.TopicInfo{Channel: c, MessageCount: counts[name]})
	}
	return m
}

// flush writes what tables have collected.
func (w *Writer) flush() {
	for _, table := range w.tables.all() {
		w.failed(table.flush())
	}
}

func (w *Writer) flushRegularly() {
	tick := time.NewTicker(flushPace)
	defer tick.Stop()
	for {
		select {
		case <-w.stop:
			return
		case <-tick.C:
			w.flush()
		}
	}
}

// Sync writes everything so far and asks the system to put it on the disk.
func (w *Writer) Sync() error {
	w.syncing.Lock()
	defer w.syncing.Unlock()
	w.mu.Lock()
	closed := w.closed
	w.mu.Unlock()
	if closed {
		return nil
	}
	w.pictures.wait()
	w.flush()
	if err := w.failure(); err != nil {
		return err
	}
	// There are too many files to ask for each.
	if err := unix.Syncfs(int(w.folder.Fd())); err != nil {
		return fmt.Errorf("sync %s: %w", w.path, err)
	}
	return nil
}

// Complete implements output.Part: what was taken is written, and metadata.json last of all. It is on the disk then,
// durable or not.
func (w *Writer) Complete(bool) error {
	w.mu.Lock()
	returned := w.missing
	w.mu.Unlock()
	close(w.stop)
	w.ticking.Wait()
	w.pictures.close()
	for _, table := range w.tables.all() {
		w.failed(table.close())
	}
	err := w.failure()
	if returned != nil {
		err = nil
	}
	if metadataErr := w.finish(); metadataErr != nil {
		err = cmp.Or(err, metadataErr)
	} else {
		w.complete = true
	}
	w.syncing.Lock()
	defer w.syncing.Unlock()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	w.folder.Close()
	return err
}

// Info describes what was taken. It does not list the topics.
func (w *Writer) Info() *codec.Info {
	info := &codec.Info{
		Format: Name, Path: w.path, Size: w.Size(), MessageCount: w.taken, StartTime: w.start, EndTime: w.end,
		Complete: w.complete,
	}
	info.Files = []codec.FileInfo{{
		Path: info.Path, Size: info.Size, MessageCount: info.MessageCount, StartTime: info.StartTime, EndTime: info.EndTime,
	}}
	return info
}

// finish writes metadata.json.
func (w *Writer) finish() error {
	path := w.metadataPath()
	err := os.WriteFile(path+partSuffix, w.describe(), 0o666)
	if err == nil {
		err = unix.Syncfs(int(w.folder.Fd())) // metadata.json says that everything before is there
	}
	if err == nil {
		err = os.Rename(path+partSuffix, path)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, codec.Pathless(err))
	}
	codec.SyncFolder(w.path)
	return nil
}
