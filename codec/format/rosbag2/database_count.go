package rosbag2

import (
	"fmt"
	"maps"
	"slices"

	"tapedeck/codec"
	"tapedeck/codec/format/rosbag2/internal/sqlite"
	"tapedeck/codec/text/plural"
)

// countFromMetadata takes the counts from the metadata, which avoids reading all messages. It does so if the metadata
// describes this file alone, no row was removed, and the ids and times of the first and the last message match.
func (d *database) countFromMetadata() error {
	m := d.whole
	if m == nil {
		var err error
		m, err = d.ownMetadata()
		if err != nil || m == nil {
			return err
		}
	}
	if len(m.Paths) != 1 || m.Messages == 0 {
		return nil
	}
	ids := map[topicKey]int64{}
	for id, c := range d.channels {
		ids[topicKey{c.Topic, c.Type, c.Encoding}] = id
	}
	info := &codec.Info{
		Format: Name, Path: d.path, Complete: true, Indexed: true, MessageCount: m.Messages,
		StartTime: m.Start.Nanoseconds, EndTime: m.Start.Nanoseconds + m.Duration.Nanoseconds,
	}
	counts := map[int64]uint64{}
	for _, t := range m.Topics {
		id, ok := ids[topicKey{t.Topic.Name, t.Topic.Type, t.Topic.Encoding}]
		if !ok && t.Messages > 0 {
			return nil
		}
		counts[id] += t.Messages
	}
	var sum uint64
	for _, id := range d.ids() {
		sum += counts[id]
		info.Topics = append(info.Topics, codec.TopicInfo{Channel: d.channels[id], MessageCount: counts[id]})
	}
	if sum != m.Messages || len(ids) != len(d.channels) {
		return nil
	}
	sound, err := d.matches(info)
	if err != nil || !sound {
		return err
	}
	d.info, d.counts = info, counts
	return nil
}

// matches reports whether info can describe the file: its number of messages, and the first and the last time.
func (d *database) matches(info *codec.Info) (bool, error) {
	t := d.messages
	if t.Unused() || t.index == 0 {
		return false, nil // rows may have been deleted
	}
	first, last, err := t.Ends(t.root)
	if err != nil || uint64(last-first) != info.MessageCount-1 {
		return false, err
	}
	ends := sqlite.Range{From: sqlite.FirstEntry, To: sqlite.LastEntry, MaxPages: 1}
	front, _, err := t.Entries(t.index, ends)
	if err != nil {
		return false, err
	}
	ends.Back = true
	back, _, err := t.Entries(t.index, ends)
	return err == nil && len(front) > 0 && len(back) > 0 && front[0].Value == info.StartTime &&
		back[len(back)-1].Value == info.EndTime, err
}

// tally is the number of a topic's messages, and the times of the first and the last message.
type tally struct {
	count       uint64
	first, last int64
}

// count counts the messages by reading the whole table. It remembers the latched messages for a Query with Last.
func (d *database) count() error {
	tallies := map[int64]*tally{}
	latched := map[int64][]row{}
	for id, c := range d.channels {
		if codec.LatchedDepth(c) > 0 {
			latched[id] = []row{}
		}
	}
	unset, odd, err := d.messages.each(func(r row) {
		t := tallies[r.topic]
		if t == nil {
			t = &tally{first: r.time, last: r.time}
			tallies[r.topic] = t
		}
		t.count++
		t.first, t.last = min(t.first, r.time), max(t.last, r.time)
		if rows := latched[r.topic]; rows != nil && len(rows) <= maxRare {
			latched[r.topic] = append(rows, r)
		}
	})
	if err == nil && odd > 0 {
		err = fmt.Errorf("%s that cannot be messages", plural.Count(odd, "row"))
	}
	if err != nil {
		return err
	}
	for id, rows := range latched {
		if len(rows) <= maxRare {
			slices.SortFunc(rows, compareRows)
			d.rare[id] = rows
		}
	}
	info := &codec.Info{Format: Name, Path: d.path, Complete: true, Indexed: true}
	d.counts = map[int64]uint64{}
	for id, t := range tallies {
		if info.MessageCount == 0 || t.first < info.StartTime {
			info.StartTime = t.first
		}
		if info.MessageCount == 0 || t.last > info.EndTime {
			info.EndTime = t.last
		}
		d.counts[id] = t.count
		info.MessageCount += t.count
	}
	for _, id := range d.ids() {
		info.Topics = append(info.Topics, codec.TopicInfo{Channel: d.channels[id], MessageCount: d.counts[id]})
	}
	for _, id := range slices.Sorted(maps.Keys(d.counts)) {
		if d.channels[id] != nil {
			continue
		}
		count := d.counts[id]
		d.skip(count, "%s of topic id %d, which is not among the topics; they are left out",
			plural.Count(count, "message"), id)
		info.MessageCount -= count
	}
	if unset > 0 {
		d.skip(unset, "%s without topic, time or payload; they are left out", plural.Count(unset, "row"))
	}
	d.info = info
	return nil
}

// skip adds an event about rows of the file that are not messages.
func (d *database) skip(rows uint64, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	d.events = append(d.events, codec.Event{Kind: codec.EventDamage, Count: rows, Text: text})
	d.invalidRows = append(d.invalidRows, text)
}

// invalidRowsError is the error about rows of a file that are not messages.
type invalidRowsError struct{ text string }

func (e *invalidRowsError) Error() string { return e.text }
