package convert

import (
	"fmt"
	"slices"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/codec/cdr"
	"tapedeck/msgs"
)

// stamped applies --message-order header and --restamp to a recording. Both need ROS 2 messages.
type stamped struct {
	codec.Reader
	order  bool                           // LogTime becomes the first stamp
	add    int64                          // ns, to all stamps
	stamps map[*codec.Channel]*cdr.Stamps // nil for types without stamps
}

// stamp applies the options about stamps to a recording; without any it returns nil. It also returns topics whose
// stamps cannot be found.
func (p *plan) stamp(r codec.Reader) (_ *stamped, topics []string, err error) {
	if p.Order != "header" && !p.Restamp {
		return nil, nil, nil
	}
	info, err := r.Info()
	if err != nil {
		return nil, nil, err
	}
	s := &stamped{Reader: r, order: p.Order == "header", stamps: map[*codec.Channel]*cdr.Stamps{}}
	if p.Restamp {
		s.add = int64(p.Offset)
	}
	library := msgs.Library()
	for _, t := range info.Topics {
		switch {
		case !p.selection.Wants(t.Channel):
		case t.Channel.Encoding == codec.EncodingCDR:
			s.stamps[t.Channel] = t.Channel.Stamps(library)
		case !slices.Contains(topics, t.Channel.Topic):
			topics = append(topics, t.Channel.Topic)
		}
	}
	return s, topics, nil
}

func (s *stamped) Losses() []bridge.Loss {
	if lossy, ok := s.Reader.(bridge.Lossy); ok {
		return lossy.Losses()
	}
	return nil
}

// Read implements codec.Reader. For a Query with Last, a message whose stamp is damaged counts as one of the last.
func (s *stamped) Read(q codec.Query) (codec.Iterator, error) {
	it, err := s.Reader.Read(q)
	if err != nil {
		return nil, err
	}
	return &stamping{Iterator: it, stamped: s, query: q}, nil
}

// stamping is the iterator of stamped.
type stamping struct {
	codec.Iterator
	stamped *stamped
	query   codec.Query
	message codec.Message
	data    []byte
}

func (it *stamping) Next() (*codec.Message, error) {
	for {
		m, err := it.Iterator.Next()
		if err != nil {
			return nil, err
		}
		stamps := it.stamped.stamps[m.Channel]
		if stamps == nil {
			return m, nil
		}
		if err := it.stamp(stamps, m); err != nil {
			err = it.query.Damage(&bridge.TranslationError{Channel: m.Channel, LogTime: m.LogTime, Err: err})
			if err != nil {
				return nil, err
			}
			continue
		}
		return &it.message, nil
	}
}

func (it *stamping) stamp(stamps *cdr.Stamps, m *codec.Message) error {
	it.message = *m
	if it.stamped.order {
		t, ok, err := stamps.First(m.Data)
		if err != nil {
			return fmt.Errorf("its stamp: %w", err)
		}
		if ok && t != 0 {
			it.message.LogTime = t
		}
	}
	if it.stamped.add == 0 {
		return nil
	}
	it.data = append(it.data[:0], m.Data...)
	it.message.Data, it.message.Buffer = it.data, nil
	return stamps.Add(it.data, it.stamped.add)
}
