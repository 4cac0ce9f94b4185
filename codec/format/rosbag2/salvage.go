package rosbag2

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"tapedeck/codec"
	"tapedeck/codec/format/rosbag2/internal/sqlite"
	"tapedeck/codec/text/plural"
	"tapedeck/msgs"
)

// salvage reads a database page by page: all messages whose pages are whole, whatever else is damaged or missing.
type salvage struct {
	database *database
	messages []row // in the order of reading
	info     *codec.Info
	damage   error // nil: the file is only incomplete
}

// newSalvage searches a database for messages. It adds unknown channels to the database. cause is why the database is
// not read by its tables, or nil if its writer did not complete it.
func newSalvage(d *database, cause error) (*salvage, error) {
	s := &salvage{database: d, info: &codec.Info{Format: Name, Path: d.path, Size: d.size}}
	if err := s.scan(); err != nil {
		return nil, err
	}
	if len(d.channels) == 0 && len(s.messages) == 0 && cause != nil {
		return nil, cause
	}
	if cause == nil {
		s.event(codec.EventUnfinished, 0, "the file was not closed by its writer; everything up to its end was read")
		return s, nil
	}
	s.event(codec.EventDamage, 0, fmt.Sprintf("damaged: %v; found %s page by page", cause,
		plural.Count(len(s.messages), "message")))
	s.damage = d.wrap(cause)
	return s, nil
}

func (s *salvage) event(kind string, count uint64, text string) {
	s.info.Events = append(s.info.Events, codec.Event{Kind: kind, Count: count, Text: text})
}

// scan finds topics, definitions and messages.
func (s *salvage) scan() error {
	topics, unread := map[int64]*codec.Channel{}, map[int64]error{}
	definitions := map[string]codec.Schema{}
	found := []row{}
	cut := uint64(0)
	d := s.database.sqlite
	var record []byte
	texts := func(r *sqlite.Row) []string {
		var err error
		record, err = d.Record(r.Place, record[:0])
		if err != nil {
			return nil
		}
		var list []string
		for i := range r.Columns[1:] {
			list = append(list, d.Text(&r.Columns[i+1], record))
		}
		return list
	}
	err := d.Scan(func(r *sqlite.Row) {
		columns := kinds(r)
		if strings.HasPrefix(columns, "_ttt") { // optional columns follow
			columns = strings.TrimRight(columns, "_")
		}
		switch columns {
		case "_ib", "_iib":
			columns := r.Columns[len(r.Columns)-3:]
			var err error
			record, err = d.Record(r.Place, record[:0])
			if err != nil {
				cut++
				return
			}
			found = append(found, row{r.ID, columns[0].Int, columns[1].Int, r.Place})
		case "_ttt", "_tttt", "_ttttt", "_ttt_t":
			t := texts(r)
			switch {
			case t == nil:
			case !strings.Contains(t[1], "/"): // not a type: the row is a definition with its encoding
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
		if s.database.channels[id] != nil {
			continue
		}
		c.Schema = definitions[c.Type]
		if len(c.Schema.Data) == 0 {
			c.Schema = codec.Schema{}
		}
		c.Define(library)
		s.database.channels[id] = c
		if err := unread[id]; err != nil {
			s.info.Events = append(s.info.Events, codec.UnreadQoSEvent(c.Topic, err))
		}
	}
	s.assign(found)
	if cut > 0 {
		s.event(codec.EventDamage, cut, fmt.Sprintf("%s cut off", plural.Count(cut, "message")))
	}
	return nil
}

// kinds returns the kinds of a row's columns, one letter each.
func kinds(r *sqlite.Row) string {
	var b [8]byte
	if len(r.Columns) > len(b) {
		return ""
	}
	for i, c := range r.Columns {
		b[i] = "_irtbe"[c.Kind]
	}
	return string(b[:len(r.Columns)])
}

// assign sorts and counts the messages. A topic that was not found is named by its number.
func (s *salvage) assign(found []row) {
	channels := s.database.channels
	counts := map[int64]uint64{}
	slices.SortFunc(found, compareRows)
	// Copies of a page may exist.
	s.messages = slices.CompactFunc(found, func(a, b row) bool { return compareRows(a, b) == 0 })
	for _, r := range s.messages {
		counts[r.topic]++
	}
	for _, id := range slices.Sorted(maps.Keys(counts)) {
		if channels[id] == nil {
			name := fmt.Sprintf("/topic_%d", id)
			channels[id] = &codec.Channel{Topic: name, Encoding: codec.EncodingCDR}
			s.event(codec.EventDamage, 0, fmt.Sprintf("the name and the type of topic %d are lost; the topic is "+
				"called %s", id, name))
		}
	}
	for _, id := range s.database.ids() {
		s.info.Topics = append(s.info.Topics, codec.TopicInfo{Channel: channels[id], MessageCount: counts[id]})
	}
	if n := len(s.messages); n > 0 {
		s.info.MessageCount, s.info.StartTime, s.info.EndTime = uint64(n), s.messages[0].time, s.messages[n-1].time
	}
}

// read returns the messages that q selects.
func (s *salvage) read(q codec.Query) (codec.Iterator, error) {
	if q.Last != nil {
		return codec.ReadLast(q, s.read)
	}
	if s.damage != nil {
		_ = q.Damage(s.damage) // otherwise the iterator ends with this error
	}
	return s.from(q, nil), nil
}

// from returns the messages that q selects. If last is not nil, it returns only messages behind last.
func (s *salvage) from(q codec.Query, last *row) *rowIterator {
	if last == nil {
		last = &row{time: q.From(), id: math.MinInt64}
	}
	i, found := slices.BinarySearchFunc(s.messages, *last, compareRows)
	if found {
		i++
	}
	it := s.database.iterator(q, iterate(s.messages[i:]))
	it.column = -1
	if !q.Tolerates() {
		it.end = cmp.Or(s.damage, io.EOF)
	}
	return it
}
