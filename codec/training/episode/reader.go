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

// Details is the Info.Extra of a Reader.
type Details struct {
	Episodes []Summary `json:"episodes"`
	// Unread lists data of the recording that the reader does not read, "features that are not read: next.reward".
	Unread []string `json:"unread,omitempty"`
}

// MetadataKey is the key of Info.Metadata under which a Reader puts Details as JSON.
const MetadataKey = "episodes"

var (
	_ codec.Reader = (*Reader)(nil)
	_ Source       = (*Reader)(nil)
)

// Reader reads episodes as messages of ROS 2. The topics of a camera "camera_0" and an arm "arm_0" are:
//
//   - /camera_0/image/compressed (sensor_msgs/msg/CompressedImage) or /camera_0/image_raw (sensor_msgs/msg/Image)
//   - /arm_0/pose (geometry_msgs/msg/PoseStamped)
//   - /arm_0/joint_states (sensor_msgs/msg/JointState): joints in rad, with velocities and efforts
//   - /arm_0/gripper (sensor_msgs/msg/JointState): column names as names, values as positions
//   - /arm_0/command/pose, /arm_0/command/joint_states and /arm_0/command/gripper: commands
//
// Stamps also serve as times of reception.
type Reader struct {
	files        *store.Files
	format, path string
	source       Source
	episodes     func() ([]*Episode, error) // returns the chosen episodes; reads them once
	info         *codec.Info                // nil before Info
	messages     []*channelMessages         // of all episodes, set with channels
	channels     *channels                  // nil before load
	quality      int                        // of the JPEGs made from frames of colour videos; 0: frames stay pixels
}

// CompressVideos makes the frames of colour videos JPEGs of a quality from 1 to 100. Without it they are pixels, which
// take a hundred times as many bytes as the videos. Call Info again afterwards.
func (r *Reader) CompressVideos(quality int) {
	r.quality = quality
	r.forget()
}

// forget makes Info and load start anew.
func (r *Reader) forget() { r.info, r.messages, r.channels = nil, nil, nil }

// Pixels returns the size in bytes of the pixels of all frames of colour videos.
func (r *Reader) Pixels() (bytes int64, err error) {
	episodes, err := r.load()
	for _, e := range episodes {
		for _, c := range e.Cameras {
			bytes += int64(c.Decoded) * int64(len(c.Stamps))
		}
	}
	return bytes, err
}

// NewReader returns a Reader of the episodes of s. format and path describe s in Info. Closing the reader closes s.
// Reading reports the Damage of s to Query.Damaged. If Query.Damaged is nil, damage of a complete source is an error
// after the last message.
func NewReader(files *store.Files, format, path string, s Source) *Reader {
	return &Reader{files: files, format: format, path: path, source: s, episodes: sync.OnceValues(s.Episodes)}
}

// Choose limits the reader to the episodes that choose returns; choose gets all episodes. Call Info again afterwards.
func (r *Reader) Choose(choose func([]*Episode) []*Episode) {
	read := r.episodes
	r.episodes = sync.OnceValues(func() ([]*Episode, error) {
		episodes, err := read()
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

// Losses returns the losses of the source, and of images that became JPEGs.
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
	for _, m := range r.messages {
		if _, ok := counts[m.channel]; !ok {
			info.Topics = append(info.Topics, codec.TopicInfo{Channel: m.channel})
		}
		counts[m.channel] += len(m.stamps)
		start, end := m.stamps[0], m.stamps[len(m.stamps)-1]
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
	if len(r.messages) == 0 && len(details.Unread) > 0 {
		info.Complete = false
	}
	for _, err := range r.Found().Damage {
		e := codec.Event{Kind: codec.EventDamage, Text: err.Error()}
		if m := (*MissingFileError)(nil); errors.As(err, &m) {
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

// unread returns a line for each kind of loss, with the topics of the kind.
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

// notes returns events about unknown units, and about a recording without any data that the format reads.
func (r *Reader) notes(episodes []*Episode, unread []string) (notes []codec.Event) {
	if names := unknownUnits(episodes); len(names) > 0 {
		notes = append(notes, codec.Event{Kind: codec.EventNote, Text: fmt.Sprintf("the unit of %s is unknown: "+
			"numbers are read unchanged; name the unit with --joint-unit when you convert",
			strings.Join(names, ", "))})
	}
	if len(r.messages) == 0 && len(unread) > 0 {
		notes = append(notes, codec.Event{Kind: codec.EventDamage, Text: fmt.Sprintf("no data was read; there are "+
			"%s", strings.Join(unread, "; "))})
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

// load sets the messages and channels.
func (r *Reader) load() ([]*Episode, error) {
	episodes, err := r.episodes()
	if err != nil || r.channels != nil {
		return episodes, err
	}
	c := newChannels()
	c.quality = r.quality
	var messages []*channelMessages
	for _, e := range episodes {
		ofEpisode, err := c.messages(e)
		if err != nil {
			return nil, fmt.Errorf("read %s: %s: %w", r.path, e.Name, err)
		}
		messages = append(messages, ofEpisode...)
	}
	for _, m := range r.Missing() {
		if m.Camera != "" {
			m.Channel = c.images(m.Camera, m.Raw && r.quality == 0)
		}
	}
	r.channels, r.messages = c, messages
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
	depths, counts := map[*codec.Channel]int{}, map[*codec.Channel]int{}
	for i, m := range r.messages {
		depth, known := depths[m.channel]
		if !known {
			depth = q.Depth(m.channel)
			depths[m.channel] = depth
		}
		if depth == 0 {
			continue
		}
		c := &cursor{messages: m, order: i, end: len(m.stamps)}
		c.next = sort.Search(c.end, func(k int) bool { return m.stamps[k] >= q.Start })
		if q.End != 0 {
			c.end = sort.Search(c.end, func(k int) bool { return m.stamps[k] >= q.End })
		}
		if c.next < c.end {
			it.cursors.Push(c)
			counts[m.channel] += c.end - c.next
		}
	}
	for c, n := range counts {
		it.skip[c] = max(n-depths[c], 0)
	}
	return it
}

// cursor is the position of an iterator in the messages of an episode on one channel.
type cursor struct {
	messages  *channelMessages
	order     int     // index in Reader.messages: the order of messages at one time
	next, end int     // indices of messages
	encoder   encoder // nil before the first message
}

func (c *cursor) Before(o *cursor) bool {
	s, t := c.messages.stamps[c.next], o.messages.stamps[o.next]
	return s < t || s == t && c.order < o.order
}

// iterator returns messages in time order.
type iterator struct {
	path    string
	query   codec.Query
	cursors codec.Heap[*cursor]
	skip    map[*codec.Channel]int // number of messages to leave out before the first one
	message codec.Message
	end     error // error after the last message
	err     error // error that ended the iteration
}

func (it *iterator) Next() (*codec.Message, error) {
	for it.err == nil {
		if len(it.cursors) == 0 {
			it.err = it.end
			break
		}
		c := it.cursors[0]
		stamp, i := c.messages.stamps[c.next], c.next
		if it.skip[c.messages.channel] > 0 {
			it.skip[c.messages.channel]--
			it.err = it.advance(c)
			continue
		}
		if c.encoder == nil {
			c.encoder = c.messages.encoder()
		}
		data, err := c.encoder.append(it.message.Data[:0], i)
		if err != nil {
			if errors.Is(err, io.EOF) { // a file of images ends, but the messages do not
				err = fmt.Errorf("%w: %s", io.ErrUnexpectedEOF, err.Error())
			}
			closed := errors.As(err, new(openError))
			err = fmt.Errorf("read %s: %s at %d: %w", it.path, c.messages.channel.Topic, stamp, err)
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
		it.message = codec.Message{Channel: c.messages.channel, LogTime: stamp, Data: data}
		it.err = it.advance(c)
		if it.err != nil {
			break
		}
		return &it.message, nil
	}
	return nil, it.err
}

// advance moves c, the first of the cursors, to its next message.
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
