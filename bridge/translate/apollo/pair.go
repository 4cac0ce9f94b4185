package apollo

import (
	"slices"

	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/msgs"
)

// pair is an Apollo type and its counterpart, a ROS 2 type.
type pair struct {
	apollo, ros  string   // full names of the types
	suffix       string   // suffix of the ROS 2 topic
	extraTargets []target // ROS 2 messages other than ros that are made from an Apollo message
	lossy        bool     // fields without a counterpart in ROS 2 are lost, because there is no generated message
	oneWay       bool     // messages are translated to ROS 2 only
	// fits reports whether the messages of a ROS 2 channel become the Apollo type; nil means always.
	fits func(t *fromROS2, c *codec.Channel) bool

	targets []target // all ROS 2 messages that are made from an Apollo message; the generated message is last
	// toROS2 translates a message of Apollo. Fields that toROS2 does not read are lost, unless losses is nil.
	toROS2 func(r *parser, p *plan, original *codec.Message, losses *fieldLoss,
		emit func(target int, m msgs.Message)) error
	fromROS2 func(*outgoing, *plan) translation
}

// target is a ROS 2 message that is made from an Apollo message.
type target struct {
	topic    string // absolute topic, or a suffix of Apollo's topic
	typeName string // a ROS 2 type, or generatedType
}

const (
	// generatedType as a typeName means the type that is generated from the Apollo type.
	generatedType = ""
	// generatedSuffix is the suffix of a generated message's topic if another message is on Apollo's topic.
	generatedSuffix = "_whole"
)

// unmapped is the pair of all Apollo types without a counterpart in ROS 2.
var unmapped = &pair{targets: []target{{"", generatedType}}}

// pairOf returns the pair of an Apollo type, or nil if there is none.
func pairOf(apollo string) *pair {
	i := slices.IndexFunc(pairs, func(p *pair) bool { return p.apollo == apollo })
	if i < 0 {
		return nil
	}
	return pairs[i]
}

// pairBetween returns the pair from a ROS 2 type to an Apollo type, or nil if there is none.
func pairBetween(ros, apollo string) *pair {
	if p := pairOf(apollo); p != nil && p.ros == ros && !p.oneWay {
		return p
	}
	return nil
}

// pairFor returns the pair for a ROS 2 channel, or nil if there is none.
func (t *fromROS2) pairFor(c *codec.Channel) *pair {
	i := slices.IndexFunc(pairs, func(p *pair) bool {
		return p.ros == c.Type && !p.oneWay && (p.fits == nil || p.fits(t, c))
	})
	if i < 0 {
		return nil
	}
	return pairs[i]
}

// newPair completes a pair. exchangeFields exchanges the fields of the pair's messages in both directions.
func newPair[T any, P interface {
	*T
	msgs.Message
}](exchangeFields func(x exchanger, m P), p pair) *pair {
	p.ros = P(new(T)).TypeName()
	p.targets = append([]target{{p.suffix, p.ros}}, p.extraTargets...)
	switch {
	case p.lossy:
	case p.suffix == "":
		p.targets = append(p.targets, target{generatedSuffix, generatedType})
	default:
		p.targets = append(p.targets, target{"", generatedType})
	}
	p.toROS2 = func(r *parser, plan *plan, original *codec.Message, losses *fieldLoss,
		emit func(int, msgs.Message)) error {
		m := P(new(T))
		var extra []msgs.Message
		in := r.begin(plan, original.Data, original.LogTime, losses)
		exchangeFields(exchanger{toROS2: true, in: in, extra: &extra}, m)
		if r.damage != nil {
			return r.damage
		}
		r.close(0)
		emit(0, m)
		for i, message := range extra {
			emit(1+i, message)
		}
		return nil
	}
	p.fromROS2 = func(r *outgoing, plan *plan) translation {
		m, w := P(new(T)), new(fieldWriter)
		return func(out, payload []byte) ([]byte, error) {
			if err := cdr.Unmarshal(payload, m); err != nil {
				return out, err
			}
			w.out, w.plan, w.next = out, plan, 0
			exchangeFields(exchanger{out: w, outgoing: r}, m)
			return w.out, nil
		}
	}
	return &p
}
