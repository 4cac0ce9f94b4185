package main

import (
	"encoding/binary"
	"slices"

	"tapedeck/codec/cdr"
	"tapedeck/msgs"
)

// payload is a message whose header stands first, and maybe bytes of data last. What is between them is encoded once.
type payload struct {
	buf  []byte
	head int // bytes before data
}

// newPayload returns the payload of m, without data.
func newPayload(m msgs.Message) (payload, error) {
	buf, err := cdr.Marshal(m)
	return payload{buf: buf, head: len(buf)}, err
}

// stamp sets the time in the header, ns since the Unix epoch, from 1970 to 2038.
func (p *payload) stamp(ns int64) {
	binary.LittleEndian.PutUint32(p.buf[4:], uint32(ns/1e9))
	binary.LittleEndian.PutUint32(p.buf[8:], uint32(ns%1e9))
}

// room makes place for n bytes of data, with which the message ends, and returns it.
func (p *payload) room(n int) []byte {
	p.buf = slices.Grow(p.buf[:p.head], n)[:p.head+n]
	binary.LittleEndian.PutUint32(p.buf[p.head-4:], uint32(n))
	return p.buf[p.head:]
}
