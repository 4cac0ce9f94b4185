package convert

import (
	"fmt"
	"sync"

	"tapedeck/nodes/internal/human"
)

// shownDamage is how many damaged places of the inputs are reported one by one.
const shownDamage = 5

// damage collects the damaged places that a conversion leaves out.
type damage struct {
	mu    sync.Mutex
	count int // of different places
	first []string
	known map[string]bool
}

// add adds a place, unless it is known: a recording may be read several times.
func (d *damage) add(err error) {
	text := err.Error()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.known[text] {
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
		d.first = append(d.first, text)
	}
}

// texts returns warnings about the places.
func (d *damage) texts() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var texts []string
	for _, text := range d.first {
		texts = append(texts, "left out what is damaged: "+text)
	}
	if more := d.count - len(texts); more > 0 {
		texts = append(texts, fmt.Sprintf("left out what is damaged: and %s more; 'converter info' lists what is known",
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
