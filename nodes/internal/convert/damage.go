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

// shownDamage is how many damaged places of the inputs are reported one by one.
const shownDamage = 5

// damage collects the damaged places that a conversion leaves out.
type damage struct {
	mu    sync.Mutex
	count int      // of different places
	first []string // a warning about each
	known map[string]bool
	told  []string // by a recording before it is read
}

// tell adds damage that Info of the recording at path lists, unless reading reports it, too.
func (d *damage) tell(path, text string) {
	d.add(inRecording(path, text))
	d.mu.Lock()
	defer d.mu.Unlock()
	d.told = append(d.told, text)
}

// inRecording returns an error with the text of an event in the recording at path.
func inRecording(path, text string) error {
	if strings.HasPrefix(text, path) || strings.HasPrefix(text, "read "+path) {
		return errors.New(text)
	}
	return fmt.Errorf("read %s: %s", path, text)
}

// add adds a place, unless it is known: a recording may be read several times.
func (d *damage) add(err error) {
	text := err.Error()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.known[text] || slices.ContainsFunc(d.told, func(told string) bool { return strings.HasSuffix(text, told) }) {
		return
	}
	if d.known == nil {
		d.known = map[string]bool{}
	}
	if len(d.known) < 10_000 {
		d.known[text] = true
	}
	d.count++
	if len(d.first) < shownDamage {
		what := "left out what is damaged: "
		if known := new(codec.DamageError); errors.As(err, &known) && known.Suspect != nil {
			what = fmt.Sprintf("kept %s that may be damaged: ", human.Count(known.Suspect.Count(), "message"))
		}
		d.first = append(d.first, what+text)
	}
}

// texts returns warnings about the places.
func (d *damage) texts() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var texts []string
	texts = append(texts, d.first...)
	if more := d.count - len(texts); more > 0 {
		texts = append(texts, fmt.Sprintf("and %s more that are damaged; 'converter info' lists what is known",
			human.Count(more, "place")))
	}
	return texts
}

// damaged returns an error of reading; with --strict it says that damage is no error without that.
func (p *plan) damaged(err error) error {
	if err == nil || !p.Strict {
		return err
	}
	return fmt.Errorf("%w; without --strict everything around the damage is converted", err)
}
