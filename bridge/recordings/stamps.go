package recordings

import (
	"fmt"
	"slices"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/msgs"
)

// Stamps configures the use and the change of stamps in ROS 2 messages.
type Stamps struct {
	Order   bool                      // the first stamp of a message becomes its LogTime
	Restamp bool                      // stamps are moved with the recording, and by Add
	Add     int64                     // ns
	Topics  func(*codec.Channel) bool // selects the channels to which Stamps applies; nil: all
}

// apply returns a reader that applies s to the messages of r, or nil if s changes nothing. still lists the topics whose
// stamps cannot be found.
func (s *Stamps) apply(r codec.Reader) (_ *stamped, still []string, err error) {
	if !s.Order && !s.Restamp {
		return nil, nil, nil
	}
	info, err := r.Info()
	if err != nil {
		return nil, nil, err
	}
	out := &stamped{Reader: r, order: s.Order, stamps: map[*codec.Channel]*cdr.Stamps{}}
	if s.Restamp {
		out.add = s.Add
	}
	library := msgs.Library()
	for _, t := range info.Topics {
		switch {
		case s.Topics != nil && !s.Topics(t.Channel):
		case t.Channel.Encoding == codec.EncodingCDR:
			out.stamps[t.Channel] = t.Channel.Stamps(library)
		case !slices.Contains(still, t.Channel.Topic):
			still = append(still, t.Channel.Topic)
		}
	}
	return out, still, nil
}

// stampsFollow also moves the stamps by ns if Restamp is set.
func (p *Part) stampsFollow(s Stamps, ns int64) {
	if p.stamped != nil && s.Restamp {
		p.stamped.add += ns
	}
}

// stamped is a reader that uses and changes the stamps of messages.
type stamped struct {
	codec.Reader
	order  bool                           // LogTime becomes the first stamp
	add    int64                          // ns that are added to all stamps
	stamps map[*codec.Channel]*cdr.Stamps // nil for types without stamps
}

// Read implements codec.Reader. For a Query with Last, a message with a damaged stamp counts as a last message,
// although it is not returned.
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
