package convert

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"tapedeck/codec"
	"tapedeck/codec/text/human"
)

// shownDamage is the number of damaged places of the inputs that are reported one by one.
const shownDamage = 5

// damageLog collects the damaged places that a conversion skips.
type damageLog struct {
	mu     sync.Mutex
	count  int      // different places
	shown  []string // a warning about each of the first places
	known  map[string]bool
	listed []string // texts of damage that a recording's Info lists
}

// addListed adds damage that Info of the recording at path lists. Reading the recording may report it again.
func (d *damageLog) addListed(path, text string) {
	d.add(inRecording(path, text))
	d.mu.Lock()
	defer d.mu.Unlock()
	d.listed = append(d.listed, text)
}

// inRecording returns an error with the text of an event in the recording at path.
func inRecording(path, text string) error {
	if strings.HasPrefix(text, path) || strings.HasPrefix(text, "read "+path) {
		return errors.New(text)
	}
	return fmt.Errorf("read %s: %s", path, text)
}

// add adds a place, unless it is known because the recording is read several times.
func (d *damageLog) add(err error) {
	text := err.Error()
	d.mu.Lock()
	defer d.mu.Unlock()
	listed := func(damage string) bool { return strings.HasSuffix(text, damage) }
	if d.known[text] || slices.ContainsFunc(d.listed, listed) {
		return
	}
	if d.known == nil {
		d.known = map[string]bool{}
	}
	if len(d.known) < 10_000 {
		d.known[text] = true
	}
	d.count++
	if len(d.shown) < shownDamage {
		what := "left out what is damaged: "
		if known := new(codec.DamageError); errors.As(err, &known) && known.Suspect != nil {
			what = fmt.Sprintf("kept %s that may be damaged: ", human.Count(known.Suspect.Count(), "message"))
		}
		d.shown = append(d.shown, what+text)
	}
}

// warnings returns warnings about the places.
func (d *damageLog) warnings() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var texts []string
	texts = append(texts, d.shown...)
	if more := d.count - len(texts); more > 0 {
		texts = append(texts, fmt.Sprintf("and %s more that are damaged; 'converter info' lists what is known",
			human.Count(more, "place")))
	}
	return texts
}

// damageError returns an error of reading. With --strict its text says how to convert nevertheless.
func (s *settings) damageError(err error) error {
	if err == nil || !s.Strict {
		return err
	}
	return fmt.Errorf("%w; without --strict everything around the damage is converted", err)
}
