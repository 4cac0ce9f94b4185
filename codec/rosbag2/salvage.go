package rosbag2

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"tapedeck/codec"
	"tapedeck/codec/rosbag2/internal/sqlite"
	"tapedeck/msgs"
	"tapedeck/msgs/plural"
)

// salvage reads a database that SQLite does not, page by page: all messages whose pages are whole, whatever else is
// damaged, and those of a file that is not complete.
type salvage struct {
	path     string
	closer   io.Closer
	database *sqlite.Database
	channels map[int64]*codec.Channel // by topic id
	messages []salvaged               // as they are read
	info     *codec.Info
	damage   error // nil: there is none but that the writer did not complete the file
}

// salvaged is a message that was found.
type salvaged struct {
	time, id int64
	channel  *codec.Channel
	place    sqlite.Place
}

func (m *salvaged) compare(o *salvaged) int {
	return cmp.Or(cmp.Compare(m.time, o.time), cmp.Compare(m.id, o.id))
}

// newSalvage looks for the messages of a file, which it takes over. channels are the topics that are known, by id.
// cause is SQLite's error; nil for a file that its writer did not complete.
func newSalvage(path string, file codec.File, size int64, channels map[int64]*codec.Channel,
	cause error) (*salvage, error) {
	s := &salvage{path: path, closer: file, channels: channels, info: &codec.Info{Format: Name, Path: path, Size: size}}
	var err error
	if s.database, err = sqlite.NewDatabase(file, size); err == nil {
		err = s.scan()
	}
	if err == nil && len(s.channels) == 0 && len(s.messages) == 0 {
		err = cause
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read %s: %w", path, err), file.Close())
	}
	if cause == nil {
		s.event(codec.EventUnfinished, 0, "the file was not closed by its writer; everything up to its end was read")
		return s, nil
	}
	s.event(codec.EventDamage, 0, fmt.Sprintf("SQLite cannot read it: %v; found %s page by page", cause,
		plural.Count(len(s.messages), "message")))
	s.damage = fmt.Errorf("read %s: %w", path, cause)
	return s, nil
}

func (s *salvage) event(kind string, count uint64, text string) {
	s.info.Events = append(s.info.Events, codec.Event{Kind: kind, Count: count, Text: text})
}

// scan finds topics, definitions and messages.
func (s *salvage) scan() error {
	topics, unread := map[int64]*codec.Channel{}, map[int64]error{}
	definitions := map[string]codec.Schema{}
	found := []salvaged{}
	ids := []int64{} // of the topics of found
	cut := uint64(0)
	texts := func(r *sqlite.Row) []string {
		record, err := s.database.Record(r.Place, nil)
		if err != nil {
			return nil
		}
		var list []string
		for _, c := range r.Columns[1:] {
			list = append(list, string(c.Value(record)))
		}
		return list
	}
	err := s.database.Scan(func(r *sqlite.Row) {
		columns := kinds(r)
		if strings.HasPrefix(columns, "_ttt") { // then may be empty
			columns = strings.TrimRight(columns, "_")
		}
		switch columns {
		case "_ib", "_iib":
			columns := r.Columns[len(r.Columns)-3:]
			if err := s.database.Check(r.Place); err != nil {
				cut++
				return
			}
			ids = append(ids, columns[0].Int)
			found = append(found, salvaged{time: columns[1].Int, id: r.ID, place: r.Place})
		case "_ttt", "_tttt", "_ttttt", "_ttt_t":
			t := texts(r)
			switch {
			case t == nil:
			case !strings.Contains(t[1], "/"): // no type, but the encoding of a definition
				definitions[t[0]] = codec.Schema{Encoding: t[1], Data: []byte(t[2])}
			default:
				c := &codec.Channel{Topic: t[0], Type: t[1], Encoding: t[2]}
				if len(t) > 3 {
					c.QoS, unread[r.ID] = codec.ParseQoSProfiles(t[3])
				}
				if len(t) > 4 {
					c.TypeHash = t[4]
				}
				topics[r.ID] = c
			}
		}
	})
	if err != nil {
		return err
	}
	library := msgs.Library()
	for id, c := range topics {
		if s.channels[id] != nil {
			continue
		}
		c.Schema = definitions[c.Type]
		if len(c.Schema.Data) == 0 {
			c.Schema = codec.Schema{}
		}
		c.Define(library)
		s.channels[id] = c
		if err := unread[id]; err != nil {
			s.info.Events = append(s.info.Events, codec.UnreadQoSEvent(c.Topic, err))
		}
	}
	s.assign(found, ids)
	if cut > 0 {
		s.event(codec.EventDamage, cut, fmt.Sprintf("%s cut off", plural.Count(cut, "message")))
	}
	return nil
}

// kinds describes the columns of a row by a letter each.
func kinds(r *sqlite.Row) string {
	var b [8]byte
	if len(r.Columns) > len(b) {
		return ""
	}
	for i, c := range r.Columns {
		b[i] = "_irtb"[c.Kind]
	}
	return string(b[:len(r.Columns)])
}

// assign puts the messages in order and counts them. Those of a topic that was not found keep its number as a name.
func (s *salvage) assign(found []salvaged, ids []int64) {
	for i, id := range ids {
		if s.channels[id] == nil {
			name := fmt.Sprintf("/topic_%d", id)
			s.channels[id] = &codec.Channel{Topic: name, Encoding: codec.EncodingCDR}
			s.event(codec.EventDamage, 0, fmt.Sprintf("the name and the type of topic %d are lost; it is called %s", id,
				name))
		}
		found[i].channel = s.channels[id]
	}
	slices.SortFunc(found, func(a, b salvaged) int { return a.compare(&b) })
	// A page may be there twice.
	s.messages = slices.CompactFunc(found, func(a, b salvaged) bool { return a.compare(&b) == 0 })
	counts := map[*codec.Channel]uint64{}
	for i := range s.messages {
		counts[s.messages[i].channel]++
	}
	for _, id := range slices.Sorted(maps.Keys(s.channels)) {
		s.info.Topics = append(s.info.Topics, codec.TopicInfo{Channel: s.channels[id],
			MessageCount: counts[s.channels[id]]})
	}
	if n := len(s.messages); n > 0 {
		s.info.MessageCount, s.info.StartTime, s.info.EndTime = uint64(n), s.messages[0].time, s.messages[n-1].time
	}
}

func (s *salvage) Info() (*codec.Info, error) { return s.info, nil }

func (s *salvage) Read(q codec.Query) (codec.Iterator, error) {
	if q.Last != nil {
		return codec.ReadLast(q, s.Read)
	}
	if s.damage != nil {
		_ = q.Damage(s.damage) // or the iterator ends with it
	}
	return s.from(q, nil), nil
}

// from returns the messages that q selects, those behind last unless that is nil.
func (s *salvage) from(q codec.Query, last *salvaged) *salvageIterator {
	if last == nil {
		last = &salvaged{time: q.From(), id: -1 << 63}
	}
	i, found := slices.BinarySearchFunc(s.messages, last, func(m salvaged, o *salvaged) int { return m.compare(o) })
	if found {
		i++
	}
	it := &salvageIterator{salvage: s, query: q, rest: s.messages[i:], wanted: map[*codec.Channel]bool{}}
	for _, t := range s.info.Topics {
		it.wanted[t.Channel] = q.Wants(t.Channel)
	}
	return it
}

func (s *salvage) Close() error { return s.closer.Close() }

// salvageIterator yields messages that were found.
type salvageIterator struct {
	salvage *salvage
	query   codec.Query
	wanted  map[*codec.Channel]bool
	rest    []salvaged
	buf     []byte
	msg     codec.Message
	err     error
}

func (it *salvageIterator) Next() (*codec.Message, error) {
	for it.err == nil {
		if len(it.rest) == 0 || it.query.End != 0 && it.rest[0].time >= it.query.End {
			it.err = io.EOF
			if it.query.Damaged == nil {
				it.err = cmp.Or(it.salvage.damage, it.err)
			}
			break
		}
		m := &it.rest[0]
		it.rest = it.rest[1:]
		if !it.wanted[m.channel] {
			continue
		}
		var err error
		if it.buf, err = it.salvage.database.Record(m.place, it.buf[:0]); err == nil {
			it.msg = codec.Message{Channel: m.channel, LogTime: m.time, Data: sqlite.Last(it.buf)}
			return &it.msg, nil
		}
		it.err = it.query.Damage(fmt.Errorf("read %s: message %d: %w", it.salvage.path, m.id, err))
	}
	return nil, it.err
}

func (it *salvageIterator) Close() error {
	it.rest, it.err = nil, io.EOF
	return nil
}
