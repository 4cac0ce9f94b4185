package carla

import (
	"fmt"
	"strconv"
	"time"

	"tapedeck/codec"
)

// magicString is the length of the magic string of a log, and the string.
var magicString = []byte("\x0e\x00CARLA_RECORDER")

// Header is the beginning of a log.
type Header struct {
	Version uint16 // 2 in UE4 from 0.9.16 on, else 1
	Date    int64  // when recording began, in seconds since the Unix epoch
	Map     string // "Town01"
}

func (h *Header) code(c *coder) {
	c.uint16(&h.Version)
	magic := string(magicString[2:])
	c.string(&magic)
	if c.err == nil && magic != string(magicString[2:]) {
		c.err = fmt.Errorf("the magic string is %q", magic)
	}
	date := uint64(h.Date)
	c.uint64(&date)
	h.Date = int64(date)
	c.string(&h.Map)
}

// parseHeader returns the header at the beginning of b, and its size.
func parseHeader(b []byte) (h Header, size int, err error) {
	c := coder{data: b}
	h.code(&c)
	return h, len(b) - len(c.data), c.err
}

// appendTo appends the encoded header to dst.
func (h Header) appendTo(dst []byte) ([]byte, error) {
	c := coder{data: dst, encoding: true}
	h.code(&c)
	return c.data, c.err
}

// logTime returns the time of a frame in ns since the Unix epoch. An implausible date counts as 0.
func (h Header) logTime(f *FrameStart) int64 {
	date := h.Date
	if date < 0 || date > 1<<33 {
		date = 0
	}
	if !(f.Elapsed >= 0 && f.Elapsed < 1e9) {
		return date * int64(time.Second)
	}
	return date*int64(time.Second) + int64(f.Elapsed*1e9+0.5)
}

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

// ParseChannel returns the header and the profile of a log, which the metadata of its channel contains.
func ParseChannel(c *codec.Channel) (Header, Profile, error) {
	if c.Encoding != Encoding {
		return Header{}, Profile{}, fmt.Errorf("the encoding is %s, not %s", c.Encoding, Encoding)
	}
	p, err := ProfileNamed(c.Metadata[KeyProfile])
	if err != nil {
		return Header{}, Profile{}, fmt.Errorf("metadata %s: %w", KeyProfile, err)
	}
	h := Header{Version: p.Version, Map: c.Metadata[KeyMap]}
	if text, ok := c.Metadata[KeyDate]; ok {
		h.Date, err = strconv.ParseInt(text, 10, 64)
		if err != nil {
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
