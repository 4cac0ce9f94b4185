package session

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"path/filepath"
	"regexp"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"tapedeck/codec"
	"tapedeck/codec/encoding/pixel"
	"tapedeck/codec/internal/output"
	"tapedeck/codec/store"
	"tapedeck/codec/text/plural"
	"tapedeck/codec/training/align"
	"tapedeck/codec/training/episode"
)

// Options are the options of writing a session.
type Options struct {
	// EasyTeleop selects the layout that EasyTeleop 0.1 writes, instead of the documented layout. Grippers are in
	// end_effector.csv. Tables of arm_0 and arm_1 exist even if they are empty. metadata.json has all devices in one
	// object, but neither the name nor the start.
	EasyTeleop bool
	// Quaternions keeps the quaternions of poses: seven numbers instead of six.
	Quaternions bool
	Overwrite   bool             // replace an existing session
	Dated       func() time.Time // codec.CreateOptions.Dated; only Record uses it
	Disk        codec.Disk       // nil: codec.OS
	Workers     int              // goroutines that encode PNGs; 0: one for each processor
	Task        string           // the task in words
	Success     *bool            // whether the task succeeded; nil: unknown
	Discarded   bool             // the episode is discarded, as by Discard
	Metadata    json.RawMessage  // a JSON object with more members of metadata.json; nil: none
	// Lost is called with losses of images. Complete calls it with losses of images that became PNGs, and Write with
	// the number of damaged images that it omitted. For a camera without a topic, topic is the camera's name. If Lost
	// is nil, Write returns the error of a damaged image.
	Lost func(topic, what string, images uint64)
	// Ending is codec.CreateOptions.Ending.
	Ending func(path string, missing *codec.MissingError) []codec.Event
}

// flushPace is the longest time for which samples wait to be written.
const flushPace = time.Second

// Writer writes a session. It writes samples to tables within a second, renames frames when they are complete, and
// writes metadata.json last. So a session can be read even if the writer is killed. The methods are not for concurrent
// use, except that Sync, Size and Late may be called concurrently with all other methods.
//
// Frame and Sample take a stamp in ns since the Unix epoch. When the disk fails, Frame, Sample, Sync and Complete
// return a *codec.MissingError. The error lists the declared channels of cameras and streams with missing data, or
// their names if no channel is declared.
type Writer struct {
	disk    codec.Disk
	path    string
	options Options
	cameras map[string]*cameraWriter // by name
	arms    map[string]*armWriter    // by name
	start   int64                    // earliest stamp
	end     int64                    // latest stamp
	taken   uint64                   // number of frames and samples
	events  []event
	given   json.RawMessage // complete metadata.json, from Write; nil: describe makes it

	syncing sync.Mutex   // guards syncer and syncErr, and is held during Syncer.Sync
	syncer  codec.Syncer // nil after Complete
	syncErr error        // first error of syncer: data may be lost, though the next call may succeed

	describing sync.Mutex // held while metadata.json is written; locked before mu
	discarded  bool
	complete   bool // metadata.json has its final name

	pictures *pictures
	stop     chan struct{}  // closed to end flushRegularly
	ticking  sync.WaitGroup // waits for flushRegularly

	bytes atomic.Int64  // bytes of frames and tables
	late  atomic.Uint64 // number of frames that had to wait for a worker

	mu       sync.Mutex                // guards the fields below
	channels map[string]*codec.Channel // by topic, for errors
	err      error                     // first error of the disk
	tables   []*csvFile
	lost     map[[2]string]*failure // by name and table
	missing  *codec.MissingError    // the error that methods return after err; nil: not returned yet
	closed   bool                   // Complete has returned
}

var _ output.FileWriter = (*Writer)(nil)

// cameraWriter writes the frames of a camera.
type cameraWriter struct {
	device json.RawMessage
	topic  string
	folder string
	latest int64 // latest stamp
	lost   pixel.LossCounter
}

// armWriter writes the tables of an arm.
type armWriter struct {
	device json.RawMessage
	info   armInfo
	grip   [2]float64 // range of the gripper; zero: unknown
	folder string
	tables [episode.Roles]*tableWriter
}

// Create begins a session in the folder path. The folder must not exist; with o.Overwrite it may be a session.
func Create(path string, o Options) (*Writer, error) {
	w := &Writer{
		disk: cmp.Or[codec.Disk](o.Disk, codec.OS{}), path: filepath.Clean(path), options: o,
		stop: make(chan struct{}), discarded: o.Discarded,
		channels: map[string]*codec.Channel{}, lost: map[[2]string]*failure{},
		cameras: map[string]*cameraWriter{}, arms: map[string]*armWriter{},
	}
	if o.Metadata != nil {
		var object map[string]json.RawMessage
		if err := json.Unmarshal(o.Metadata, &object); err != nil {
			return nil, fmt.Errorf("create %s: metadata is not a JSON object: %w", path, err)
		}
	}
	if err := w.create(); err != nil {
		return nil, fmt.Errorf("create %s: %w", path, codec.Pathless(err))
	}
	workers := cmp.Or(o.Workers, runtime.GOMAXPROCS(0))
	w.pictures = newPictures(w.disk, max(workers, 1), w.pictureDone)
	w.ticking.Go(w.flushRegularly)
	return w, nil
}

// create creates the folders and files of every session.
func (w *Writer) create() error {
	if w.options.Overwrite {
		if err := remove(w.disk, w.path); err != nil {
			return err
		}
	}
	if err := w.disk.Mkdir(w.path); err != nil {
		return err
	}
	err := w.disk.Mkdir(filepath.Join(w.path, framesName))
	if err == nil {
		err = output.WriteFile(w.disk, w.metadataPath()+tempSuffix, w.describe(false), false)
	}
	if err == nil && w.options.EasyTeleop {
		err = w.createEasyTeleopTables()
	}
	if err == nil {
		err = w.disk.SyncFolder(filepath.Dir(w.path))
	}
	if err == nil {
		w.syncer, err = w.disk.Syncer(w.path)
	}
	return err
}

// createEasyTeleopTables creates the tables that EasyTeleop creates in every session.
func (w *Writer) createEasyTeleopTables() error {
	for _, name := range []string{"arm_0", "arm_1"} {
		a, err := w.arm(&episode.Arm{Name: name})
		if err != nil {
			return err
		}
		for _, role := range []episode.Role{episode.Pose, episode.Joint, episode.Gripper} {
			if _, err := w.table(a, name, role); err != nil {
				return err
			}
		}
	}
	return nil
}

// remove removes the session at path, if there is one. Any other folder is an error.
func remove(d codec.Disk, path string) error {
	entries, err := d.ReadDir(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if len(entries) > 0 && !isSession(store.On(d), path, entries) {
		return errors.New("not overwritten: the folder is not a session")
	}
	return d.RemoveAll(path)
}

// metadataPath returns the final path of metadata.json.
func (w *Writer) metadataPath() string { return filepath.Join(w.path, metadataName) }

// Size returns how many bytes of frames and tables were written.
func (w *Writer) Size() int64 { return w.bytes.Load() }

// Late returns the number of frames for which Frame blocked because all workers were busy.
func (w *Writer) Late() uint64 { return w.late.Load() }

// Declare sets the channel that errors name for its topic.
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

// Frame adds a frame of a camera. It writes JPEGs and PNGs unchanged. Workers encode pixels as PNG; Frame blocks if the
// workers cannot keep up. The caller may reuse f when Frame returns. A second frame with an equal stamp is an error.
func (w *Writer) Frame(c *episode.Camera, stamp int64, f episode.Frame) error {
	if err := w.failed(); err != nil {
		return err
	}
	if err := w.frame(c, stamp, &f); err != nil {
		return w.refuse(err, "%s at %s", c.Name, align.FormatStamp(stamp))
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
		if err := w.disk.MkdirAll(camera.folder); err != nil {
			return err
		}
		w.cameras[c.Name] = camera
	}
	name := filepath.Join(camera.folder, framePrefix+align.FormatStamp(stamp))
	if stamp <= camera.latest {
		w.pictures.wait()
		for _, ext := range []string{".png", ".jpg"} {
			if _, err := w.disk.Lstat(name + ext); err == nil {
				return errors.New("a frame with this stamp exists already")
			}
		}
	}
	switch f.Encoding {
	case "jpeg", "png":
		if found := pixel.Detect(f.Data); found != f.Encoding {
			return fmt.Errorf("the frame is not a %s: its data begins with %q", f.Encoding,
				f.Data[:min(len(f.Data), 8)])
		}
		ext := map[string]string{"jpeg": ".jpg", "png": ".png"}[f.Encoding]
		if err := writePicture(w.disk, name+ext, f.Data); err != nil {
			return err
		}
		w.bytes.Add(int64(len(f.Data)))
	default:
		if _, err := f.Config(); err != nil {
			return err
		}
		if w.pictures.take(camera, name+".png", stamp, f) {
			w.late.Add(1)
		}
	}
	camera.latest = max(camera.latest, stamp)
	w.count(stamp)
	return nil
}

// pictureDone is called by a worker after writing a picture, with or without an error.
func (w *Writer) pictureDone(p *picture, size int64, err error) {
	if err == nil {
		w.bytes.Add(size)
		return
	}
	w.fail(&failure{name: p.topic, path: p.path, count: 1, start: p.stamp, end: p.stamp, err: codec.Pathless(err)})
}

// count counts a frame or a sample, and extends the time of the session.
func (w *Writer) count(stamp int64) {
	if w.taken == 0 {
		w.start, w.end = stamp, stamp
	}
	w.start, w.end = min(w.start, stamp), max(w.end, stamp)
	w.taken++
}

// Sample adds a sample of the arm's stream in a role. values has a value for each current column of the stream; later
// samples may have more columns. Sample omits missing values, and converts angles from the units of the columns to the
// unit of the table. The caller may reuse values when Sample returns.
func (w *Writer) Sample(a *episode.Arm, role episode.Role, stamp int64, values []float64) error {
	if err := w.failed(); err != nil {
		return err
	}
	if err := w.sample(a, role, stamp, values); err != nil {
		return w.refuse(err, "%s at %s", a.Streams[role].Name, align.FormatStamp(stamp))
	}
	return nil
}

func (w *Writer) sample(a *episode.Arm, role episode.Role, stamp int64, values []float64) error {
	out, err := w.stream(a, role)
	if err != nil {
		return err
	}
	columns := a.Streams[role].Columns
	if len(values) != len(columns) {
		return fmt.Errorf("%s for %s", plural.Count(len(values), "value"), plural.Count(len(columns), "column"))
	}
	if err := out.settle(columns, !w.options.Quaternions); err != nil {
		return err
	}
	if out.quaternion {
		values = out.euler(values)
	}
	w.fail(out.append(stamp, out.keys, values))
	w.count(stamp)
	return nil
}

// stream returns the table of an arm's stream.
func (w *Writer) stream(a *episode.Arm, role episode.Role) (*tableWriter, error) {
	if arm := w.arms[a.Name]; arm != nil && arm.tables[role] != nil && arm.tables[role].unit != "" {
		return arm.tables[role], nil
	}
	arm, err := w.arm(a)
	if err != nil {
		return nil, err
	}
	out, err := w.table(arm, cmp.Or(a.Streams[role].Topic, a.Name+"/"+role.String()), role)
	if err == nil {
		out.unit = arm.info.JointUnit
	}
	return out, err
}

// arm returns the writer of an arm.
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
		if err := w.disk.MkdirAll(arm.folder); err != nil {
			return nil, err
		}
		w.arms[a.Name] = arm
	}
	if arm.info.JointUnit == "" || arm.device == nil && a.Device != nil {
		info, err := parseArm(a.Device, defaultUnit(a))
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

// table returns the table of a role. name is the name of the stream.
func (w *Writer) table(arm *armWriter, name string, role episode.Role) (*tableWriter, error) {
	if arm.tables[role] == nil {
		file := fileNames[role]
		if role == episode.Gripper && w.options.EasyTeleop {
			file = endEffector
		}
		table, err := createTable(w.disk, filepath.Join(arm.folder, file), name, &w.bytes)
		if err != nil {
			return nil, err
		}
		arm.tables[role] = &tableWriter{csvFile: table, role: role}
		w.mu.Lock()
		w.tables = append(w.tables, table)
		w.mu.Unlock()
	}
	arm.tables[role].name = name
	return arm.tables[role], nil
}

// nameForm matches names of cameras and arms.
var nameForm = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9_.-]{0,99}$`)

// checkName checks the name of a camera or an arm, which becomes the name of a folder.
func checkName(name string) error {
	if !nameForm.MatchString(name) {
		return fmt.Errorf("a device cannot be called %.120q: want letters, digits, _, . and -", name)
	}
	return nil
}
