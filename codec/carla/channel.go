package carla

import (
	"fmt"
	"strconv"

	"tapedeck/codec"
)

// newChannel returns the channel of a log.
func newChannel(h Header, p Profile) *codec.Channel {
	return &codec.Channel{
		Topic: Topic, Type: Type, Encoding: Encoding,
		Metadata: map[string]string{
			KeyProfile: p.Name,
			KeyMap:     h.Map,
			KeyDate:    strconv.FormatInt(h.Date, 10),
			KeyVersion: strconv.Itoa(int(h.Version)),
		},
	}
}

// ParseChannel returns the header and the profile of the log of a channel.
func ParseChannel(c *codec.Channel) (Header, Profile, error) {
	if c.Encoding != Encoding {
		return Header{}, Profile{}, fmt.Errorf("its messages are %s, not packets of CARLA's recorder", c.Encoding)
	}
	p, err := ProfileNamed(c.Metadata[KeyProfile])
	if err != nil {
		return Header{}, Profile{}, fmt.Errorf("metadata %s: %w", KeyProfile, err)
	}
	h := Header{Version: p.Version, Map: c.Metadata[KeyMap]}
	if text, ok := c.Metadata[KeyDate]; ok {
		if h.Date, err = strconv.ParseInt(text, 10, 64); err != nil {
			return Header{}, Profile{}, fmt.Errorf("metadata %s: %w", KeyDate, err)
		}
	}
	if text, ok := c.Metadata[KeyVersion]; ok {
		version, err := strconv.ParseUint(text, 10, 16)
		if err != nil {
			return Header{}, Profile{}, fmt.Errorf("metadata %s: %w", KeyVersion, err)
		}
		h.Version = uint16(version)
	}
	p.Version = h.Version
	return h, p, nil
}
