package live

import (
	"slices"
	"strings"

	"tapedeck/codec"
	"tapedeck/config"
	"tapedeck/nodes/internal/filter/pattern"
)

// Values of ChunkOptions.ChunkGroups.
const (
	groupsAuto = "auto"
	GroupsOne  = "one" // GroupsOne writes all topics to the same chunks.
)

// largeMessage is the size in bytes from which the topic of a message is in a group of its own.
const largeMessage = 32 << 10

// ChunkOptions are options of chunks.
type ChunkOptions struct {
	ChunkGroups string `param:"chunk_groups" group:"Output" value:"GROUPS"`
}

// OptionTexts returns the help texts of the options.
func (*ChunkOptions) OptionTexts() string { return optionTexts }

// Groups returns codec.CreateOptions.ChunkGroups, or a usage error.
func (o *ChunkOptions) Groups() (func(c *codec.Channel, size int) string, error) {
	switch o.ChunkGroups {
	case "", GroupsOne:
		return nil, nil
	case groupsAuto:
		return autoGroup, nil
	}
	patterns, err := pattern.ParseAll(strings.Split(o.ChunkGroups, ";"))
	if err != nil {
		return nil, config.Usagef("chunk_groups: %w", err)
	}
	return func(c *codec.Channel, _ int) string {
		i := slices.IndexFunc(patterns, func(p pattern.Pattern) bool { return p.Match(c.Topic) })
		if i < 0 {
			return ""
		}
		return patterns[i].Text
	}, nil
}

// autoGroup returns the name of a channel's group: latched topics share a group, each topic of large messages has its
// own, and other topics are in the first group.
func autoGroup(c *codec.Channel, size int) string {
	latched := func(q codec.QoS) bool { return q.Durability == codec.TransientLocal }
	switch {
	case slices.ContainsFunc(c.QoS, latched):
		return "latched"
	case size >= largeMessage:
		return c.Topic
	}
	return ""
}
