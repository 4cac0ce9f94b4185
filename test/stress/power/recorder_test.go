package power

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"image"
	"image/jpeg"
	"io"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/codec/format/carla"
	"tapedeck/codec/format/mcap"
	"tapedeck/codec/format/record"
	"tapedeck/codec/format/session"
	"tapedeck/msgs"
	"tapedeck/msgs/builtin_interfaces"
	"tapedeck/msgs/sensor_msgs"
	"tapedeck/msgs/std_msgs"
	"tapedeck/test/internal/process"
	"tapedeck/test/samples/generate"
)

const syncInterval = 500 * time.Millisecond

// recorderSlack is how much longer than syncInterval the recorder may run before a message is durable. Tests measure
// how long the recorder could run only every sampleTime.
const (
	recorderSlack = 250 * time.Millisecond
	sampleTime    = 20 * time.Millisecond
)

var formats = codec.Formats{record.Format, mcap.Format, session.Format, carla.Format}

// recorderRun records what a player publishes.
type recorderRun struct {
	storage  string
	options  []string
	keep     int  // number of files that the recorder keeps; 0: all
	snapshot bool // take snapshots
	renew    bool // continue in other recordings, by recorder split --output
	full     bool // delete the oldest files because the disk is full
	streams  []stream
	late     time.Duration // how long the recorder collects messages before it writes them
}

// recorders are runs of the recorder with everything that it writes.
var recorders = []scenario{
	recorderRun{storage: "record", options: []string{"--max-bag-duration", "2s"}}.scenario("record"),
	recorderRun{storage: "rosbag2", options: []string{"--max-bag-duration", "1s"}, keep: 3}.scenario("rosbag2 keep"),
	recorderRun{storage: "mcap-file", options: []string{"--snapshot", "--max-bag-size", "500kB"}, snapshot: true}.
		scenario("mcap-file snapshots"),
	recorderRun{storage: "mcap-file", renew: true}.scenario("mcap-file split --output"),
	recorderRun{storage: "record", options: []string{"--max-bag-size", "300kB", "--low-space-action", "delete-oldest"},
		full: true}.scenario("record full"),
	recorderRun{storage: "session", options: []string{"--max-bag-duration", "2s"}, streams: robot}.scenario("session"),
	// A frame is written once /clock has begun two further frames, and 200 ms after it began the next one.
	recorderRun{storage: "carla", options: []string{"--max-bag-duration", "2s", "--all"}, streams: frames,
		late: 350 * time.Millisecond}.scenario("carla"),
}

// unsynced is a recorder that breaks the promises.
var unsynced = recorderRun{storage: "rosbag2", options: []string{"--sync", "none"}}.scenario("recorder without fsync")

// scenario returns a scenario with texts unless there are other topics.
func (rr recorderRun) scenario(name string) scenario {
	if rr.streams == nil {
		rr.streams = texts
	}
	return scenario{name, rr.run, rr.check}
}

// stream is a topic of the played recording. Its messages have numbers.
type stream struct {
	topic  string
	period time.Duration
	encode func(number int, at time.Time) msgs.Message
	decode func(data []byte) (number int, intact bool)
}

// texts are topics of any format.
var texts = []stream{
	textStream("/small", 10*time.Millisecond, 100),
	textStream("/medium", 50*time.Millisecond, 2000),
	textStream("/large", 200*time.Millisecond, 40_000),
}

// textStream returns a topic with texts of a size in bytes.
func textStream(topic string, period time.Duration, size int) stream {
	text := func(number int) string {
		word := fmt.Sprintf("%s %d ", topic, number)
		return strings.Repeat(word, size/len(word)+1)
	}
	return stream{topic, period,
		func(number int, _ time.Time) msgs.Message { return &std_msgs.String{Data: text(number)} },
		func(data []byte) (number int, intact bool) {
			var m std_msgs.String
			if cdr.Unmarshal(data, &m) != nil {
				return 0, false
			}
			_, _ = fmt.Sscan(strings.TrimPrefix(m.Data, topic), &number)
			return number, m.Data == text(number)
		}}
}

// frames are the contents of a log of CARLA.
var frames = []stream{{topic: "/carla/log"}}

// robot are the topics of an arm and a camera.
var robot = []stream{
	{"/arm_0/joint_states", 20 * time.Millisecond,
		func(number int, at time.Time) msgs.Message {
			position := []float64{float64(number) / 1000, 1 - float64(number)/1000}
			return &sensor_msgs.JointState{Header: stamped(at), Name: []string{"a", "b"}, Position: position}
		},
		func(data []byte) (number int, intact bool) {
			var m sensor_msgs.JointState
			if cdr.Unmarshal(data, &m) != nil || len(m.Position) != 2 {
				return 0, false
			}
			number = int(math.Round(m.Position[0] * 1000))
			return number, math.Abs(m.Position[0]+m.Position[1]-1) < 1e-9
		}},
	{"/camera_0/image/compressed", 66 * time.Millisecond,
		func(number int, at time.Time) msgs.Message {
			return &sensor_msgs.CompressedImage{Header: stamped(at), Format: "jpeg", Data: numberedPicture(number)}
		},
		func(data []byte) (number int, intact bool) {
			var m sensor_msgs.CompressedImage
			if cdr.Unmarshal(data, &m) != nil || len(m.Data) < 2 {
				return 0, false
			}
			number = int(m.Data[len(m.Data)-2])<<8 | int(m.Data[len(m.Data)-1])
			return number, bytes.Equal(m.Data, numberedPicture(number))
		}},
}

func stamped(at time.Time) std_msgs.Header {
	return std_msgs.Header{Stamp: builtin_interfaces.Time{Sec: int32(at.Unix()), Nanosec: uint32(at.Nanosecond())}}
}

// numberedPicture returns a JPEG of 20 kB with a number behind its end.
func numberedPicture(number int) []byte {
	var b bytes.Buffer
	_ = jpeg.Encode(&b, image.NewGray(image.Rect(0, 0, 8, 8)), nil)
	b.Write(bytes.Repeat([]byte{byte(number)}, 20_000))
	b.Write([]byte{byte(number >> 8), byte(number)})
	return b.Bytes()
}

// recorderFact is a promise of a recorder, or a fact about it.
type recorderFact struct {
	Complete string               `json:",omitzero"` // path of a file or a snapshot that is complete
	Arrivals map[string][]arrival `json:",omitzero"` // by topic, in their order
	Clock    []sample             `json:",omitzero"`
	Last     []string             `json:",omitzero"` // files that the recorder has not deleted
}

// arrival is a message that the recorder has received.
type arrival struct {
	Number int
	Time   time.Time
	Sum    uint32 // of its bytes
}

// sample says how long the recorder could run until a time: not counted is time in which it waited for a processor or
// for the disk, or in which this process, which is the disk, did not run.
type sample struct {
	Time time.Time
	Ran  time.Duration
}

// ran returns how long the recorder could run until a time.
func ran(clock []sample, t time.Time) time.Duration {
	i := sort.Search(len(clock), func(i int) bool { return clock[i].Time.After(t) })
	if i == 0 {
		return 0
	}
	return clock[i-1].Ran
}

// measure measures how long a process can run, until stop is closed.
func measure(pid int, stop chan struct{}) (clock []sample) {
	waits := map[string]time.Duration{} // by thread
	total := time.Duration(0)
	for last := time.Now(); ; {
		time.Sleep(sampleTime)
		threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
		now := time.Now()
		could := min(now.Sub(last), sampleTime)
		last = now
		for _, thread := range threads {
			var used, waited time.Duration
			text, _ := os.ReadFile(thread + "/schedstat")
			_, _ = fmt.Sscan(string(text), &used, &waited)
			could = min(could, sampleTime-(waited-waits[thread]))
			waits[thread] = waited
			status, _ := os.ReadFile(thread + "/stat")
			if _, state, _ := strings.Cut(string(status), ") "); strings.HasPrefix(state, "D") {
				could = 0
			}
		}
		total += max(0, could)
		clock = append(clock, sample{now, total})
		select {
		case <-stop:
			return clock
		default:
		}
	}
}

// generate writes a recording of the streams and returns its path.
func (rr recorderRun) generate(r *run, length time.Duration) string {
	path := filepath.Join(r.temp, "played.mcap")
	if rr.storage == "carla" {
		path = filepath.Join(r.temp, "CARLA.log")
		require.NoError(r, generate.Drive(path))
		return path
	}
	w, err := mcap.Format.Create(path, codec.CreateOptions{})
	require.NoError(r, err)
	qos := codec.DefaultQoS()
	qos.History, qos.Depth = codec.KeepAll, 0
	begin := time.Unix(1_700_000_000, 0)
	var all []codec.Message
	for _, s := range rr.streams {
		channel, err := codec.NewChannel(msgs.Library(), s.topic, s.encode(0, begin).TypeName(), qos)
		require.NoError(r, err)
		for n := range int(length / s.period) {
			at := begin.Add(time.Duration(n) * s.period)
			data, err := cdr.Marshal(s.encode(n, at))
			require.NoError(r, err)
			all = append(all, codec.Message{Channel: channel, LogTime: at.UnixNano(), Data: data})
		}
	}
	slices.SortStableFunc(all, func(a, b codec.Message) int { return int(a.LogTime - b.LogTime) })
	for i := range all {
		require.NoError(r, w.Write(&all[i]))
	}
	require.NoError(r, w.Close())
	return path
}

// node returns a command of a ROS domain, for a test or for a cut.
func node(cmd *exec.Cmd, dir string, domain int) *exec.Cmd {
	cmd.Dir, cmd.Env = dir, process.InDomain(domain)
	return cmd
}

func (rr recorderRun) run(r *run) {
	length := 8 * time.Second
	if *cuts > 0 {
		length = 16 * time.Second
	}
	domain := process.Domain()
	start := func(name string, args ...string) *process.Process {
		return process.Start(r.T, node(exec.Command(filepath.Join(bin, name), args...), r.temp, domain))
	}
	played := rr.generate(r, length)
	splits := start("recorder", "echo", "/events/write_split", "--json")
	args := []string{"--output", filepath.Join(r.dir, "drive"), "-s", rr.storage, "--sync-interval",
		syncInterval.String(), "--max-bag-files", fmt.Sprint(rr.keep)}
	for _, s := range rr.streams {
		if s.decode != nil {
			args = append(args, s.topic)
		}
	}
	if rr.full {
		free, _, err := codec.OS{}.Space(r.dir)
		require.NoError(r, err)
		args = append(args, "--min-space", fmt.Sprint(free-1_000_000))
	}
	cmd := node(exec.Command(filepath.Join(bin, "recorder"), append(args, rr.options...)...), r.temp, domain)
	recorder := process.Start(r.T, cmd)
	stop := make(chan struct{})
	var clock []sample
	measured, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(measured)
		clock = measure(cmd.Process.Pid, stop)
	}()
	kept := filepath.Join(r.temp, "kept")
	go func() {
		defer close(watched)
		for printed := 0; ; time.Sleep(10 * time.Millisecond) {
			lines := strings.SplitAfter(splits.Stdout(), "\n")
			for _, line := range lines[printed : len(lines)-1] {
				var event struct {
					Message struct {
						Closed string `json:"closed_file"`
					}
				}
				if json.Unmarshal([]byte(line), &event) == nil {
					r.promiseFact(recorderFact{Complete: r.name(event.Message.Closed)})
				}
			}
			printed = len(lines) - 1
			rr.keepComplete(r.dir, kept)
			select {
			case <-stop:
				return
			default:
			}
		}
	}()
	playing := append([]string{played, "--wait-for-subscribers"}, process.Patient...)
	if rr.storage == "session" { // its times are the stamps
		playing = append(playing, "--restamp")
	}
	player := start("player", playing...)
	if rr.snapshot {
		for range 4 {
			time.Sleep(length / 5)
			out := start("recorder", "trigger").Wait(0)
			r.promiseFact(recorderFact{Complete: r.name(strings.TrimSpace(out))})
		}
	}
	if rr.renew {
		for n := range 9 {
			time.Sleep(length / 10)
			start("recorder", "split", "--output", fmt.Sprintf("drive_%d.mcap", n+1)).Wait(0)
		}
	}
	player.Wait(0)
	ended := time.Now()
	printed := recorder.Interrupt()
	require.Contains(r, printed, " 0 dropped, 0 lost in transport")
	var last []string
	for _, path := range rr.files(r.dir) {
		last = append(last, r.name(path))
		r.promiseFact(recorderFact{Complete: r.name(path)})
	}
	close(stop)
	<-measured
	<-watched
	rr.keepComplete(r.dir, kept)
	arrivals := map[string][]arrival{}
	all := rr.files(kept)
	require.Equal(r, rr.keep > 0 || rr.full, len(last) < len(all), "%d of %d files are left", len(last), len(all))
	for _, path := range all {
		_, err := rr.readFile(path, arrivals)
		require.NoError(r, err)
	}
	for _, list := range arrivals {
		for i := range list {
			if rr.storage == "carla" { // the times of frames are those of a simulation, in ms
				early := time.Duration(list[len(list)-1].Number-list[i].Number) * time.Millisecond
				list[i].Time = ended.Add(-early)
			}
		}
	}
	fact, err := json.Marshal(recorderFact{Arrivals: arrivals, Clock: clock, Last: last})
	require.NoError(r, err)
	r.know("%s", fact)
	splits.Interrupt()
}

// name returns a path relative to the disk.
func (r *run) name(path string) string {
	if relative, err := filepath.Rel(r.dir, path); err == nil && filepath.IsAbs(path) {
		return relative
	}
	return path
}

func (r *run) promiseFact(f recorderFact) {
	text, err := json.Marshal(f)
	require.NoError(r, err)
	r.promise("%s", text)
}

// keepComplete copies complete files of a recording that a folder does not have yet. The recorder may delete them.
func (rr recorderRun) keepComplete(from, to string) {
	for _, path := range rr.files(from) {
		target := filepath.Join(to, filepath.Base(path))
		_, err := os.Stat(target)
		if err == nil || !rr.complete(path) || os.MkdirAll(to, 0o777) != nil || copyAll(path, target+".tmp") != nil {
			continue // copied before, or deleted meanwhile
		}
		_ = os.Rename(target+".tmp", target)
	}
}

// copyAll copies a file or a folder.
func copyAll(from, to string) error {
	stat, err := os.Stat(from)
	if err != nil {
		return err
	}
	if stat.IsDir() {
		return os.CopyFS(to, os.DirFS(from))
	}
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o666)
}

var numberedFile = regexp.MustCompile(`^drive(?:_(\d+))?(?:\.record\.(\d+)|\.mcap|\.log)?(?:\.active)?$`)

// fileNumber returns the number of a file of the recording, or -1 if the path is another file.
func fileNumber(path string) int {
	found := numberedFile.FindStringSubmatch(filepath.Base(path))
	if found == nil {
		return -1
	}
	number, _ := strconv.Atoi(found[1] + found[2])
	return number
}

// files returns the files of the recording in their order, complete or not, without snapshots. A file of a session is a
// folder.
func (rr recorderRun) files(dir string) (paths []string) {
	if rr.storage == "rosbag2" && filepath.Base(dir) != "kept" {
		dir = filepath.Join(dir, "drive")
	}
	list, _ := os.ReadDir(dir)
	for _, entry := range list {
		if fileNumber(entry.Name()) >= 0 && entry.IsDir() == (rr.storage == "session") {
			paths = append(paths, filepath.Join(dir, entry.Name()))
		}
	}
	slices.SortStableFunc(paths, func(a, b string) int { return fileNumber(a) - fileNumber(b) })
	return paths
}

// complete reports whether a file claims to be complete.
func (rr recorderRun) complete(path string) bool {
	if rr.storage == "session" {
		_, err := os.Stat(filepath.Join(path, "metadata.json"))
		return err == nil
	}
	return !strings.HasSuffix(path, codec.ActiveSuffix)
}

// readFile adds the messages of a file to arrivals, and returns what the file says of itself. Messages with wrong bytes
// or out of order are errors, whatever the damage of the file.
func (rr recorderRun) readFile(path string, arrivals map[string][]arrival) (*codec.Info, error) {
	reader, err := formats.Open(path)
	if errors.Is(err, codec.ErrUnknownFormat) && !rr.complete(path) {
		return &codec.Info{}, nil // nothing was written yet
	}
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	info, err := reader.Info()
	if err != nil {
		return nil, err
	}
	wanted := map[string]stream{}
	for _, s := range rr.streams {
		wanted[s.topic] = s
	}
	it, err := reader.Read(codec.Query{
		Topics:  func(c *codec.Channel) bool { return wanted[c.Topic].topic != "" },
		Damaged: func(error) {},
		Sound:   !rr.complete(path),
	})
	if err != nil {
		return nil, err
	}
	defer it.Close()
	for {
		m, err := it.Next()
		if errors.Is(err, io.EOF) {
			return info, nil
		}
		if err != nil {
			return nil, err
		}
		topic := m.Channel.Topic
		number, intact := int(m.LogTime/1e6), true
		if decode := wanted[topic].decode; decode != nil {
			number, intact = decode(m.Data)
		}
		if !intact {
			return nil, fmt.Errorf("%s: a message of %s at %d has wrong bytes", path, topic, m.LogTime)
		}
		if list := arrivals[topic]; len(list) > 0 && list[len(list)-1].Number >= number {
			return nil, fmt.Errorf("%s: message %d of %s comes after %d", path, number, topic,
				list[len(list)-1].Number)
		}
		sum := crc32.ChecksumIEEE(m.Data)
		if rr.storage == "carla" { // without the duration of the frame, which the next frame completes
			sum = crc32.ChecksumIEEE(slices.Delete(slices.Clone(m.Data), 13, 21))
		}
		arrivals[topic] = append(arrivals[topic], arrival{number, time.Unix(0, m.LogTime), sum})
	}
}

func (rr recorderRun) check(c *cut) {
	var known recorderFact
	var complete []string
	for _, text := range c.promises {
		var f recorderFact
		require.NoError(c, json.Unmarshal([]byte(text), &f))
		if f.Complete != "" {
			complete = append(complete, f.Complete)
		} else {
			known = f
		}
	}
	paths := rr.files(c.dir)
	newest, oldest := -1, 0
	if len(paths) > 0 {
		oldest, newest = fileNumber(paths[0]), fileNumber(paths[len(paths)-1])
	}
	for _, name := range complete {
		number := fileNumber(name)
		deleted := number >= 0 && (rr.keep > 0 && number <= newest-rr.keep ||
			rr.full && number < oldest && !slices.Contains(known.Last, name))
		_, err := os.Stat(filepath.Join(c.dir, name))
		require.True(c, err == nil || deleted, "%s was complete: %v", name, err)
	}
	found := map[string][]arrival{}
	counts := map[string]uint64{} // by name of the file
	for _, path := range paths {
		info, err := rr.readFile(path, found)
		require.NoError(c, err)
		if rr.complete(path) {
			require.True(c, info.Complete, "%s has its final name, and is not complete", path)
		}
		counts[filepath.Base(path)] = info.MessageCount
	}
	rr.checkArrivals(c, known, found)
	c.checkMetadata(counts)
	if c.Number%5 == 0 {
		rr.recover(c, paths, found)
		rr.startAgain(c)
	}
}

// checkArrivals requires the messages that the recorder had received syncInterval before the power cut. With deleted
// files, the first messages may be missing.
func (rr recorderRun) checkArrivals(c *cut, known recorderFact, found map[string][]arrival) {
	c.lost = 0
	for topic, arrivals := range known.Arrivals {
		have := found[topic]
		if (rr.keep > 0 || rr.full) && len(have) > 0 {
			first := slices.IndexFunc(arrivals, func(a arrival) bool { return a.Number == have[0].Number })
			require.GreaterOrEqual(c, first, 0, "%s: message %d was never received", topic, have[0].Number)
			arrivals = arrivals[first:]
		}
		for i, a := range arrivals {
			if i < len(have) {
				require.Equal(c, a.Number, have[i].Number, "%s: a message is missing between others", topic)
				require.Equal(c, a.Sum, have[i].Sum, "%s: message %d has other bytes", topic, a.Number)
				continue
			}
			if a.Time.Before(c.Time) {
				c.lost = max(c.lost, c.Time.Sub(a.Time))
				could := ran(known.Clock, c.Time) - ran(known.Clock, a.Time)
				require.LessOrEqual(c, could, syncInterval+recorderSlack+rr.late,
					"%s: message %d is missing; it arrived %v before the power cut", topic, a.Number,
					c.Time.Sub(a.Time))
			}
			break
		}
	}
}

// checkMetadata requires that metadata.yaml, unless it is missing, lists files that exist, with their messages.
func (c *cut) checkMetadata(counts map[string]uint64) {
	path := filepath.Join(c.dir, "drive", "metadata.yaml")
	text, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return
	}
	require.NoError(c, err)
	var metadata struct {
		Information struct {
			Files []struct {
				Path  string
				Count uint64 `yaml:"message_count"`
			}
		} `yaml:"rosbag2_bagfile_information"`
	}
	require.NoError(c, yaml.Unmarshal(text, &metadata), "%s is damaged", path)
	require.NotEmpty(c, metadata.Information.Files, "%s is damaged", path)
	for _, file := range metadata.Information.Files {
		count, exists := counts[file.Path]
		require.True(c, exists, "metadata.yaml lists %s, which is not there", file.Path)
		require.Equal(c, count, file.Count, "metadata.yaml has a wrong number of messages of %s", file.Path)
	}
}

// recover requires that converter recover finds the messages of each file that is not complete.
func (rr recorderRun) recover(c *cut, paths []string, found map[string][]arrival) {
	saved := map[string][]arrival{}
	for i, path := range paths {
		recovered := path
		if !rr.complete(path) {
			messages := map[string][]arrival{}
			_, err := rr.readFile(path, messages)
			require.NoError(c, err)
			if len(messages) == 0 {
				continue // there is nothing to recover
			}
			alone := filepath.Join(c.temp, fmt.Sprint(i), filepath.Base(path))
			require.NoError(c, os.MkdirAll(filepath.Dir(alone), 0o777))
			require.NoError(c, copyAll(path, alone))
			recovered = filepath.Join(c.temp, fmt.Sprint(i), "recovered.mcap")
			if rr.storage == "carla" {
				recovered = filepath.Join(c.temp, fmt.Sprint(i), "recovered.log")
			}
			out, err := exec.CommandContext(c.ctx, filepath.Join(bin, "converter"), "recover", alone,
				recovered).CombinedOutput()
			require.NoError(c, err, "converter recover: %s", out)
		}
		_, err := rr.readFile(recovered, saved)
		require.NoError(c, err)
	}
	require.Equal(c, len(found), len(saved), "topics by converter recover")
	for topic, list := range found {
		require.Len(c, saved[topic], len(list), "messages of %s by converter recover", topic)
	}
}

// startAgain requires that a recorder starts on the disk as it is, with another name and with the same one. It must
// leave the files of the recording alone unless it shall overwrite them. Sessions and logs of CARLA have nothing that
// these recorders receive.
func (rr recorderRun) startAgain(c *cut) {
	before := c.sizes()
	c.startRecorder("--output-prefix", filepath.Join(c.dir, "next"), "-s", rr.storage)
	after := c.sizes()
	for path, size := range before {
		require.Equal(c, size, after[path], "the next recorder has changed %s", path)
	}
	if rr.storage == "session" || rr.storage == "carla" {
		return
	}
	require.Greater(c, len(after), len(before), "the next recorder has written nothing")
	c.startRecorder("--output", filepath.Join(c.dir, "drive"), "--overwrite", "-s", rr.storage)
	remaining := rr.files(c.dir)
	require.Len(c, remaining, 1, "files after --overwrite")
	again := map[string][]arrival{}
	info, err := rr.readFile(remaining[0], again)
	require.NoError(c, err)
	require.True(c, info.Complete, "%s", remaining[0])
	require.Empty(c, again, "%s has messages of the overwritten recording", remaining[0])
}

// startRecorder records what the recorder itself publishes, and interrupts it.
func (c *cut) startRecorder(args ...string) {
	out, err := os.Create(filepath.Join(c.temp, "recorder.txt"))
	require.NoError(c, err)
	defer out.Close()
	cmd := node(exec.CommandContext(c.ctx, filepath.Join(bin, "recorder"), append(args, "--all")...), c.temp,
		process.Domain())
	cmd.Env = append(cmd.Env, c.env...)
	cmd.Stdout, cmd.Stderr = out, out
	require.NoError(c, cmd.Start())
	text := ""
	for began := time.Now(); !strings.Contains(text, "/rosout"); time.Sleep(5 * time.Millisecond) {
		require.Less(c, time.Since(began), process.Patience, "the recorder does not start: %s", text)
		if cmd.Process.Signal(syscall.Signal(0)) != nil {
			break
		}
		printed, err := os.ReadFile(out.Name())
		require.NoError(c, err)
		text = string(printed)
	}
	require.NoError(c, cmd.Process.Signal(os.Interrupt))
	err = cmd.Wait()
	printed, _ := os.ReadFile(out.Name())
	require.NoError(c, err, "recorder %v: %s", args, printed)
}

// sizes returns the sizes of all files.
func (c *cut) sizes() map[string]int64 {
	sizes := map[string]int64{}
	require.NoError(c, filepath.WalkDir(c.dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			sizes[path] = info.Size()
		}
		return err
	}))
	return sizes
}
