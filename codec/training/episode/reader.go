package episode

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"sort"
	"strings"
	"sync"

	"tapedeck/codec"
	"tapedeck/codec/store"
)

// Details is Info.Extra of a Reader.
type Details struct {
	Episodes []Summary `json:"episodes"`
	// Unread is what the recording has and the reader does not read, "features that are not read: next.reward".
	Unread []string `json:"unread,omitempty"`
}

// MetadataKey is the key in Info.Metadata of Details as JSON.
const MetadataKey = "episodes"

var (
	_ codec.Reader = (*Reader)(nil)
	_ Source       = (*Reader)(nil)
)

// Reader reads episodes as messages of ROS 2: frames on /camera_0/image/compressed (sensor_msgs/msg/CompressedImage) or
// /camera_0/image_raw (Image), poses on /arm_0/pose (geometry_msgs/msg/PoseStamped), joints in rad with their
// velocities and efforts on /arm_0/joint_states (sensor_msgs/msg/JointState), grippers on /arm_0/gripper (the same,
// with column names as names and values as positions), and commands on /arm_0/command/pose, joint_states and gripper.
// Stamps also serve as times of reception.
type Reader struct {
	files        *store.Files
	format, path string
	source       Source
	episodes     func() ([]*Episode, error) // reads those that were chosen, once
	info         *codec.Info
	streams      []*stream // of all episodes; nil before they are known
	channels     *channels
	quality      int // of JPEGs of the frames of videos; 0: they are pixels
}

// CompressVideos has the frames of colour videos be JPEGs of a quality, 1 to 100, in place of pixels, which take a
// hundred times as many bytes as the videos. What Info returned before does not hold any more.
func (r *Reader) CompressVideos(quality int) {
	r.quality = quality
	r.forget()
}

// forget forgets what was found out about the episodes.
func (r *Reader) forget() { r.info, r.streams, r.channels = nil, nil, nil }

// Pixels returns the size in bytes of all frames of colour videos as pixels.
func (r *Reader) Pixels() (bytes int64, err error) {
	episodes, err := r.load()
	for _, e := range episodes {
		for _, c := range e.Cameras {
			bytes += int64(c.Decoded) * int64(len(c.Stamps))
		}
	}
	return bytes, err
}

// NewReader returns the episodes of s, which is at path and of a format, as messages. Closing it closes s. Reading
// reports the Damage of s to Query.Damaged; without that, damage of a complete source is an error after the last
// message.
func NewReader(files *store.Files, format, path string, s Source) *Reader {
	return &Reader{files: files, format: format, path: path, source: s, episodes: sync.OnceValues(s.Episodes)}
}

// Choose has the reader read only the episodes that choose returns of all. What Info returned before does not hold any
// more.
func (r *Reader) Choose(choose func([]*Episode) []*Episode) {
	all := r.episodes
	r.episodes = sync.OnceValues(func() ([]*Episode, error) {
		episodes, err := all()
		if err != nil {
			return nil, err
		}
		return choose(episodes), nil
	})
	r.forget()
}

// Episodes implements Source.
func (r *Reader) Episodes() ([]*Episode, error) { return r.episodes() }

// Found implements Source.
func (r *Reader) Found() *Findings { return r.source.Found() }

// Losses returns what the images and numbers of the episodes lost in reading.
func (r *Reader) Losses() []codec.Loss {
	lost := codec.LossCounts{}
	maps.Copy(lost, r.Found().Lost)
	if r.channels != nil {
		for topic, n := range r.channels.encoded {
			if count := n.Load(); count > 0 {
				lost.Add(topic, fmt.Sprintf("pixels of videos, as JPEGs of quality %d; --images raw keeps them",
					r.quality), count)
			}
		}
	}
	return lost.Losses()
}

// Info implements codec.Reader.
func (r *Reader) Info() (*codec.Info, error) {
	if r.info != nil {
		return r.info, nil
	}
	episodes, err := r.load()
	if err != nil {
		return nil, err
	}
	info := &codec.Info{Format: r.format, Path: r.path, Complete: !r.Found().Incomplete}
	info.Size, err = size(r.files, r.path)
	if err != nil {
		return nil, err
	}
	counts := map[*codec.Channel]int{}
	first := true
	for _, s := range r.streams {
		if _, ok := counts[s.channel]; !ok {
			info.Topics = append(info.Topics, codec.TopicInfo{Channel: s.channel})
		}
		counts[s.channel] += len(s.stamps)
		start, end := s.stamps[0], s.stamps[len(s.stamps)-1]
		if first {
			info.StartTime, info.EndTime, first = start, end, false
		}
		info.StartTime, info.EndTime = min(info.StartTime, start), max(info.EndTime, end)
	}
	for _, m := range r.Missing() {
		if _, ok := counts[m.Channel]; !ok && m.Channel != nil {
			counts[m.Channel] = 0
			info.Topics = append(info.Topics, codec.TopicInfo{Channel: m.Channel})
		}
	}
	for i := range info.Topics {
		t := &info.Topics[i]
		t.MessageCount = uint64(counts[t.Channel])
		info.MessageCount += t.MessageCount
	}
	info.Files = []codec.FileInfo{{
		Path: r.path, Size: info.Size, MessageCount: info.MessageCount,
		StartTime: info.StartTime, EndTime: info.EndTime,
	}}
	details := Details{Episodes: []Summary{}}
	for _, e := range episodes {
		details.Episodes = append(details.Episodes, Summarize(e))
	}
	if text, err := json.Marshal(details); err == nil {
		info.Metadata = map[string]string{MetadataKey: string(text)}
	}
	details.Unread = unread(r.Found().Lost.Losses())
	info.Extra = details
	info.Events = slices.Clone(r.Found().Events)
	if len(r.streams) == 0 && len(details.Unread) > 0 {
		info.Complete = false
	}
	for _, err := range r.Found().Damage {
		e := codec.Event{Kind: codec.EventDamage, Text: err.Error()}
		if m := (*MissingError)(nil); errors.As(err, &m) {
			e.Kind = codec.EventMissing
			if m.Channel != nil {
				e.Topic = m.Channel.Topic
			}
		}
		info.Events = append(info.Events, e)
	}
	info.Events = append(info.Events, r.notes(episodes, details.Unread)...)
	slices.SortStableFunc(info.Events, func(a, b codec.Event) int { return cmp.Compare(a.Time, b.Time) })
	r.info = info
	return info, nil
}

// unread returns a line for each kind of losses, with its topics.
func unread(lost []codec.Loss) (lines []string) {
	topics := map[string][]string{}
	for _, l := range lost {
		topics[l.What] = append(topics[l.What], l.Topic)
	}
	for _, what := range slices.Sorted(maps.Keys(topics)) {
		lines = append(lines, what+": "+strings.Join(topics[what], ", "))
	}
	return lines
}

// notes returns remarks on the episodes beside their damage.
func (r *Reader) notes(episodes []*Episode, unread []string) (notes []codec.Event) {
	if names := unknownUnits(episodes); len(names) > 0 {
		notes = append(notes, codec.Event{Kind: codec.EventNote, Text: fmt.Sprintf("nothing says in which unit %s "+
			"are: their numbers stay as they are; name it with --joint-unit when you convert",
			strings.Join(names, ", "))})
	}
	if len(r.streams) == 0 && len(unread) > 0 {
		notes = append(notes, codec.Event{Kind: codec.EventDamage, Text: fmt.Sprintf("nothing of it is understood; "+
			"it has %s", strings.Join(unread, "; "))})
	}
	return notes
}

// size returns the size of the file or folder at path in bytes.
func size(files *store.Files, path string) (bytes int64, err error) {
	err = files.WalkDir(path, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		stat, err := d.Info()
		if err == nil {
			bytes += stat.Size()
		}
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("size of %s: %w", path, err)
	}
	return bytes, nil
}

// load sets the streams.
func (r *Reader) load() ([]*Episode, error) {
	episodes, err := r.episodes()
	if err != nil || r.channels != nil {
		return episodes, err
	}
	c := newChannels()
	c.quality = r.quality
	var all []*stream
	for _, e := range episodes {
		streams, err := c.streams(e)
		if err != nil {
			return nil, fmt.Errorf("read %s: %s: %w", r.path, e.Name, err)
		}
		all = append(all, streams...)
	}
	for _, m := range r.Missing() {
		if m.Camera != "" {
			m.Channel = c.images(m.Camera, m.Raw && r.quality == 0)
		}
	}
	r.channels, r.streams = c, all
	return episodes, nil
}

// Read implements codec.Reader.
func (r *Reader) Read(q codec.Query) (codec.Iterator, error) {
	if _, err := r.load(); err != nil {
		return nil, err
	}
	it := r.iterator(q)
	if q.Last != nil {
		return it, nil
	}
	for _, err := range r.Found().Damage {
		err = q.Damage(err)
		if err != nil && errors.Is(it.end, io.EOF) && !r.Found().Incomplete {
			it.end = err
		}
	}
	return it, nil
}

// Close implements codec.Reader.
func (r *Reader) Close() error { return r.source.Close() }

func (r *Reader) iterator(q codec.Query) *iterator {
	it := &iterator{path: r.path, query: q, skip: map[*codec.Channel]int{}, end: io.EOF}
	wanted, counts := map[*codec.Channel]int{}, map[*codec.Channel]int{}
	for i, s := range r.streams {
		n, asked := wanted[s.channel]
		if !asked {
			n = q.Depth(s.channel)
			wanted[s.channel] = n
		}
		if n == 0 {
			continue
		}
		c := &cursor{stream: s, order: i, end: len(s.stamps)}
		c.next = sort.Search(c.end, func(k int) bool { return s.stamps[k] >= q.Start })
		if q.End != 0 {
			c.end = sort.Search(c.end, func(k int) bool { return s.stamps[k] >= q.End })
		}
		if c.next < c.end {
			it.cursors.Push(c)
			counts[s.channel] += c.end - c.next
		}
	}
	for c, n := range counts {
		it.skip[c] = max(n-wanted[c], 0)
	}
	return it
}

// cursor is the position of an iterator in a stream.
type cursor struct {
	stream    *stream
	order     int // among the streams
	next, end int // indices of messages
	encoder   encoder
}

func (c *cursor) Before(o *cursor) bool {
	s, t := c.stream.stamps[c.next], o.stream.stamps[o.next]
	return s < t || s == t && c.order < o.order
}

// iterator returns the messages of streams in time order.
type iterator struct {
	path    string
	query   codec.Query
	cursors codec.Heap[*cursor]
	skip    map[*codec.Channel]int // number of first messages to leave out
	message codec.Message
	end     error // after the last message
	err     error
}

func (it *iterator) Next() (*codec.Message, error) {
	for it.err == nil {
		if len(it.cursors) == 0 {
			it.err = it.end
			break
		}
		c := it.cursors[0]
		stamp, i := c.stream.stamps[c.next], c.next
		if it.skip[c.stream.channel] > 0 {
			it.skip[c.stream.channel]--
			it.err = it.advance(c)
			continue
		}
		if c.encoder == nil {
			c.encoder = c.stream.encoder()
		}
		data, err := c.encoder.append(it.message.Data[:0], i)
		if err != nil {
			if errors.Is(err, io.EOF) { // of a file of images, not of the messages
				err = fmt.Errorf("%w: %s", io.ErrUnexpectedEOF, err.Error())
			}
			closed := errors.As(err, new(openError))
			err = fmt.Errorf("read %s: %s at %d: %w", it.path, c.stream.channel.Topic, stamp, err)
			it.err = it.query.Damage(err)
			if it.err != nil {
				break
			}
			if closed {
				c.next = c.end - 1
			}
			it.err = it.advance(c)
			continue
		}
		it.message = codec.Message{Channel: c.stream.channel, LogTime: stamp, Data: data}
		it.err = it.advance(c)
		if it.err != nil {
			break
		}
		return &it.message, nil
	}
	return nil, it.err
}

// advance moves the first cursor to its next message.
func (it *iterator) advance(c *cursor) error {
	c.next++
	if c.next < c.end {
		it.cursors.Fix()
		return nil
	}
	it.cursors.Pop()
	return c.close()
}

func (c *cursor) close() error {
	if c.encoder == nil {
		return nil
	}
	return c.encoder.close()
}

func (it *iterator) Close() error {
	var errs []error
	for _, c := range it.cursors {
		errs = append(errs, c.close())
	}
	it.cursors = nil
	if it.err == nil {
		it.err = errors.New("read " + it.path + ": the iterator is closed")
	}
	return errors.Join(errs...)
}
