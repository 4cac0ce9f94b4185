package carla

import (
	"fmt"
	"time"
)

// magicString is the magic string of a log after its length.
var magicString = []byte("\x0e\x00CARLA_RECORDER")

// Header is the beginning of a log.
type Header struct {
	Version uint16 // 2 in UE4 from 0.9.16 on, else 1
	Date    int64  // when recording began, in seconds since the Unix epoch
	Map     string // "Town01"
}

func (h *Header) code(c *Coder) {
	c.Uint16(&h.Version)
	magic := string(magicString[2:])
	c.String(&magic)
	if c.err == nil && magic != string(magicString[2:]) {
		c.err = fmt.Errorf("it begins with %q", magic)
	}
	date := uint64(h.Date)
	c.Uint64(&date)
	h.Date = int64(date)
	c.String(&h.Map)
}

// parseHeader returns the header at the beginning of b, and its size.
func parseHeader(b []byte) (h Header, size int, err error) {
	c := Coder{data: b}
	h.code(&c)
	return h, len(b) - len(c.data), c.err
}

// appendTo appends the encoded header.
func (h Header) appendTo(dst []byte) ([]byte, error) {
	c := Coder{data: dst, encoding: true}
	h.code(&c)
	return c.data, c.err
}

// logTime returns when a frame was recorded, in ns since the Unix epoch. An implausible date counts as 0.
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
