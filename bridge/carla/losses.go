package carla

import (
	"cmp"
	"slices"

	"tapedeck/bridge"
)

// losses count what is left out.
type losses map[loss]uint64

type loss struct{ topic, what string }

func (l losses) lose(topic, what string) { l[loss{topic, what}]++ }

// list returns the losses by topic.
func (l losses) list() []bridge.Loss {
	var all []bridge.Loss
	for k, n := range l {
		all = append(all, bridge.Loss{Topic: k.topic, What: k.what, Messages: n})
	}
	slices.SortFunc(all, func(a, b bridge.Loss) int { return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.What, b.What)) })
	return all
}
