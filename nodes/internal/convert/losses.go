package convert

import (
	"fmt"
	"slices"
	"strings"

	"tapedeck/codec"
	"tapedeck/codec/text/human"
	"tapedeck/nodes/internal/formats"
)

// Loss describes data of the inputs that the output lacks.
type Loss struct {
	What     string
	Topics   []string
	Messages uint64 // affected; 0 if the loss is not about messages
	Format   bool   // the format of the output never has a place for it
}

// String returns the loss as one line.
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

// losses are losses with different values of What.
type losses []Loss

func (l *losses) add(what, topic string, messages uint64) { l.find(what).add(topic, messages) }

// addFormat adds a loss of something for which the format of the output has no place.
func (l *losses) addFormat(what, topic string, messages uint64) {
	known := l.find(what)
	known.Format = true
	known.add(topic, messages)
}

// find returns the loss of what. It adds one if there is none.
func (l *losses) find(what string) *Loss {
	i := slices.IndexFunc(*l, func(known Loss) bool { return known.What == what })
	if i < 0 {
		i = len(*l)
		*l = append(*l, Loss{What: what})
	}
	return &(*l)[i]
}

func (l *Loss) add(topic string, messages uint64) {
	l.Messages += messages
	if topic != "" && !slices.Contains(l.Topics, topic) {
		l.Topics = append(l.Topics, topic)
	}
}

// addAll adds losses that readers, translations and writers report.
func (l *losses) addAll(lost []codec.Loss) {
	for _, loss := range lost {
		l.add(loss.What, loss.Topic, loss.Messages)
	}
}

// addLosses adds other losses.
func (l *losses) addLosses(others losses) {
	for _, other := range others {
		known := l.find(other.What)
		known.Format = other.Format
		known.add("", other.Messages)
		for _, topic := range other.Topics {
			known.add(topic, 0)
		}
	}
}

// LossSummary returns a line for each loss. One line has all losses for which the format of the output has no place,
// and one line has three or more losses of the same topics, such as kinds of packets without a ROS 2 message.
func (r *Result) LossSummary() (lines []string) {
	var format []string
	for i, loss := range r.Losses {
		alike := func(other Loss) bool { return !other.Format && slices.Equal(other.Topics, loss.Topics) }
		var group []string
		for _, other := range r.Losses {
			if len(loss.Topics) > 0 && alike(other) {
				group = append(group, other.What)
			}
		}
		switch {
		case loss.Format:
			format = append(format, loss.What)
		case len(group) < 3:
			lines = append(lines, loss.String())
		case slices.IndexFunc(r.Losses, alike) == i:
			lines = append(lines, fmt.Sprintf("%s (on %s); -v lists them", human.List(group), human.List(loss.Topics)))
		}
	}
	if len(format) > 0 {
		lines = append(lines, noPlace(format))
	}
	return lines
}

// UnplacedSummary returns a line for all of Unplaced, "" if it is empty.
func (r *Result) UnplacedSummary() string {
	var all []string
	for _, loss := range r.Unplaced {
		all = append(all, loss.What)
	}
	if len(all) == 0 {
		return ""
	}
	return noPlace(all)
}

// noPlace returns a line about losses for which a format has no place.
func noPlace(what []string) string {
	return fmt.Sprintf("what the format has no place for: %s; -v lists the topics", strings.Join(what, "; "))
}

// AllLosses returns Losses and Unplaced.
func (r *Result) AllLosses() []Loss { return slices.Concat(r.Losses, r.Unplaced) }

// divide separates losses of a conversion from properties of messages for which a format without messages has no place,
// such as publish times and quality of service. A training set, a table or a video is not expected to have them.
func (l losses) divide(format formats.Format) (lost, unplaced losses) {
	for _, loss := range l {
		if loss.Format && !format.KeepsMessages() {
			unplaced = append(unplaced, loss)
		} else {
			lost = append(lost, loss)
		}
	}
	return lost, unplaced
}

// strictError returns the error of --strict, nil if nothing is lost.
func (l losses) strictError(path string, format formats.Format) error {
	lost, _ := l.divide(format)
	if len(lost) == 0 {
		return nil
	}
	var texts []string
	for _, loss := range lost {
		texts = append(texts, loss.String())
	}
	return fmt.Errorf("%s is not written because of --strict: it would lose %s", path, strings.Join(texts, "; "))
}
