package convert

import (
	"fmt"
	"slices"
	"strings"

	"tapedeck/bridge"
	"tapedeck/nodes/internal/human"
)

// Loss is something that is in the recordings and not in the output.
type Loss struct {
	What     string
	Topics   []string
	Messages uint64 // that had it; 0 where it is not about messages
}

// String returns it as one line.
func (l Loss) String() string {
	switch {
	case l.Messages > 0 && len(l.Topics) > 0:
		return fmt.Sprintf("%s (%s on %s)", l.What, human.Count(l.Messages, "message"), human.List(l.Topics))
	case len(l.Topics) > 0:
		return fmt.Sprintf("%s (%s)", l.What, human.List(l.Topics))
	case l.Messages > 0:
		return fmt.Sprintf("%s (%s)", l.What, human.Count(l.Messages, "message"))
	}
	return l.What
}

// losses collects them, one of a kind.
type losses []Loss

func (l *losses) add(what, topic string, messages uint64) {
	i := slices.IndexFunc(*l, func(known Loss) bool { return known.What == what })
	if i < 0 {
		i = len(*l)
		*l = append(*l, Loss{What: what})
	}
	known := &(*l)[i]
	known.Messages += messages
	if topic != "" && !slices.Contains(known.Topics, topic) {
		known.Topics = append(known.Topics, topic)
	}
}

// addAll adds what translations lost.
func (l *losses) addAll(lost []bridge.Loss) {
	for _, loss := range lost {
		l.add(loss.What, loss.Topic, loss.Messages)
	}
}

// strict returns the error for what is to be complete and is not, nil if nothing is lost.
func (l losses) strict(path string) error {
	if len(l) == 0 {
		return nil
	}
	var texts []string
	for _, loss := range l {
		texts = append(texts, loss.String())
	}
	return fmt.Errorf("%s is not written, as --strict asks: it would lose %s", path, strings.Join(texts, "; "))
}
