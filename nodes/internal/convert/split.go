package convert

import "tapedeck/codec"

// limits say when a recording goes on in another file. 0 is never.
type limits struct {
	bytes    int64
	duration int64 // ns
	messages uint64
}

// part is the file that is written.
type part struct {
	messages uint64
	bytes    int64 // roughly
	start    int64 // LogTime of the first message
	until    int64 // when it is to end
	origin   int64 // of the recording: files end at whole durations after it
	any      bool  // there was a message
}

// perMessage is what a message takes in a file beside its payload and the name of its topic, in bytes.
const perMessage = 48

func stored(m *codec.Message) int64 { return int64(len(m.Data)+len(m.Channel.Topic)) + perMessage }

// enough reports whether the message belongs into another file. A file has at least one message.
func (p *part) enough(l *limits, m *codec.Message) bool {
	return p.messages > 0 &&
		(l.messages > 0 && p.messages >= l.messages ||
			l.bytes > 0 && p.bytes+stored(m) > l.bytes ||
			l.duration > 0 && (m.LogTime >= p.until || m.LogTime < p.start-l.duration))
}

// next notes that what follows goes into another file.
func (p *part) next() { p.messages, p.bytes = 0, 0 }

// add counts a message that goes into the file.
func (p *part) add(l *limits, m *codec.Message) {
	if p.messages == 0 {
		p.start = m.LogTime
		if !p.any || m.LogTime < p.origin {
			p.origin, p.any = m.LogTime, true
		}
		if l.duration > 0 {
			p.until = p.origin + ((m.LogTime-p.origin)/l.duration+1)*l.duration
		}
	}
	p.messages++
	p.bytes += stored(m)
}
