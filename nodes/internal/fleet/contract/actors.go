package contract

import (
	"fmt"
	"path"
	"strings"

	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/msgs/carla_msgs"
)

// actors tracks when actors of CARLA are destroyed. The topics of an actor end with it.
type actors struct {
	alive map[string]map[string]bool // by topic of actor lists: topic prefixes of the actors in its last list
	ended map[string]int64           // by topic prefix: log time of the first list without the actor
}

// add takes the next list of living actors.
func (a *actors) add(topic string, m *codec.Message) error {
	var list carla_msgs.CarlaActorList
	if err := cdr.Unmarshal(m.Data, &list); err != nil {
		return err
	}
	if a.alive == nil {
		a.alive, a.ended = map[string]map[string]bool{}, map[string]int64{}
	}
	now := map[string]bool{}
	for i := range list.Actors {
		actor := &list.Actors[i]
		now[path.Join(path.Dir(topic), fmt.Sprintf("actor%d", actor.Id))] = true
		if actor.Rolename != "" {
			now[path.Join(path.Dir(topic), actor.Rolename)] = true
		}
	}
	for prefix := range a.alive[topic] {
		if !now[prefix] && (len(a.ended) < 100*maxNames || a.ended[prefix] != 0) {
			a.ended[prefix] = m.LogTime
		}
	}
	a.alive[topic] = now
	return nil
}

// gone reports whether the actor that owns a topic was destroyed at the log time since or later.
func (a *actors) gone(topic string, since int64) bool {
	for prefix := path.Dir(topic); strings.Count(prefix, "/") > 1; prefix = path.Dir(prefix) {
		if a.ended[prefix] >= max(since, 1) {
			return true
		}
	}
	return false
}
