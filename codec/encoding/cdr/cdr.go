// Package cdr turns messages into the CDR payloads of ROS 2 and back. Marshal and Unmarshal handle the generated types
// of package msgs. A Schema handles a type by its definition alone. Payloads are little-endian XCDR version 1 with a
// 4-byte encapsulation header; big-endian payloads can be read too. Package wire describes the encoding.
package cdr

import (
	"errors"
	"fmt"
	"sync"

	"tapedeck/msgs"
	"tapedeck/msgs/rosidl/wire"
)

var encoders = sync.Pool{New: func() any { return new(wire.Encoder) }}

var decoders = sync.Pool{New: func() any { return new(wire.Decoder) }}

// Marshal returns the payload of m. It fails if a string or sequence is longer than the definition allows.
func Marshal(m msgs.Message) ([]byte, error) {
	payload, err := Append(make([]byte, 0, 512), m) // most messages fit
	if err != nil {
		return nil, err
	}
	return payload, nil
}

// Append appends the payload of m to dst. On failure it returns dst and the error of Marshal.
func Append(dst []byte, m msgs.Message) ([]byte, error) {
	e := encoders.Get().(*wire.Encoder)
	defer release(e)
	e.Reset(dst)
	m.MarshalCDR(e)
	if err := e.Err(); err != nil {
		return dst, fmt.Errorf("encode %s: %w", m.TypeName(), err)
	}
	return e.Bytes(), nil
}

// release returns e to the pool without the caller's slice.
func release(e *wire.Encoder) {
	e.Continue(nil)
	encoders.Put(e)
}

// Unmarshal sets m from a payload, reusing the slices that m holds. On failure the contents of m are undefined. It
// fails if bytes follow the last field of m, because the payload then belongs to another definition.
func Unmarshal(payload []byte, m msgs.Message) error {
	d := decoders.Get().(*wire.Decoder)
	defer decoders.Put(d)
	d.Reset(payload)
	m.UnmarshalCDR(d)
	if err := d.Finish(); err != nil {
		return fmt.Errorf("decode %s: %w", m.TypeName(), err)
	}
	return nil
}

// finish calls d.Finish after the message was read. It also fails if the payload shows that an empty definition does
// not belong to the type.
func (l *layout) finish(d *wire.Decoder) error {
	if err := d.Finish(); err != nil {
		return err
	}
	if l.unproven && (!d.Zero() || d.Remaining() > 3) { // one byte, padded to four
		return errors.New("the definition is empty, but the payload is not")
	}
	return nil
}
