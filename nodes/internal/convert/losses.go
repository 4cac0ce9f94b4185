package convert

import (
	"fmt"
	"slices"
	"strings"

	"tapedeck/bridge"
	"tapedeck/nodes/internal/human"
)

// Loss is something in the inputs that the output does not have.
type Loss struct {
	What     string
	Topics   []string
	Messages uint64 // affected; 0 if the loss is not about messages
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

// losses are losses that differ in What.
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

// addAll adds the losses of a translation.
func (l *losses) addAll(lost []bridge.Loss) {
	for _, loss := range lost {
		l.add(loss.What, loss.Topic, loss.Messages)
	}
}

// strict returns the error of --strict, nil if nothing is lost.
func (l losses) strict(path string) error {
	if len(l) == 0 {
		return nil
	}
	var texts []string
	for _, loss := range l {
		texts = append(texts, loss.String())
	}
	return fmt.Errorf("%s is not written because of --strict: it would lose %s", path, strings.Join(texts, "; "))
}
