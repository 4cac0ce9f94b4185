package convert

import (
	"tapedeck/codec"
	"tapedeck/nodes/internal/throttle"
)

// throttled leaves out messages of topics that have too many.
type throttled struct {
	codec.Reader
	rules     []throttle.Rule
	rename    func(topic string) string // rules are about the names in the output
	observer  *observer
	throttles map[*codec.Channel]*throttle.Throttle // nil for channels without a rule
}

func newThrottled(r codec.Reader, p *plan, o *observer) codec.Reader {
	if len(p.throttles) == 0 {
		return r
	}
	return &throttled{r, p.throttles, p.rename, o, map[*codec.Channel]*throttle.Throttle{}}
}

func (t *throttled) Read(q codec.Query) (codec.Iterator, error) {
	it, err := t.Reader.Read(q)
	if err != nil {
		return nil, err
	}
	return &changed{Iterator: it, change: func(m *codec.Message) bool {
		limit, known := t.throttles[m.Channel]
		if !known {
			limit = throttle.Of(t.rules, t.rename(m.Channel.Topic))
			t.throttles[m.Channel] = limit
		}
		if limit == nil || limit.Passes(m.LogTime) {
			return true
		}
		t.observer.of(m.Channel).throttled++
		return false
	}}, nil
}
