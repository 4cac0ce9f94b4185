// Package releases has nodes understand those of other releases of ROS 2, in which the services and messages of rosbag2 have the same
// names and other fields.
package releases

import (
	"slices"

	"tapedeck/codec/cdr"
	"tapedeck/msgs"
	"tapedeck/msgs/rosidl"
	"tapedeck/msgs/wire"
)

// form is a message type as one release of ROS 2 has it.
type form struct {
	schema *cdr.Schema
	fields []rosidl.Field
}

func newForm(library *rosidl.Library, typeName string) (*form, error) {
	m, err := library.Message(typeName)
	if err != nil {
		return nil, err
	}
	schema, err := cdr.NewSchema(library, typeName)
	return &form{schema, m.Fields}, err
}

// convert returns a payload of this form in another one. Fields that only this one has are left out, those that only the other one
// has are zero.
func (f *form) convert(payload []byte, to *form) ([]byte, error) {
	out := new(cdr.Struct)
	if len(f.fields) > 0 || len(payload) > wire.HeaderSize { // some write nothing for a message without fields, others a byte
		in, err := f.schema.Decode(payload)
		if err != nil {
			return nil, err
		}
		for _, field := range in.Fields {
			if slices.ContainsFunc(to.fields, func(own rosidl.Field) bool { return own.Name == field.Name }) {
				out.Fields = append(out.Fields, field)
			}
		}
	}
	return to.schema.Encode(out)
}

// Forms are those in which a message type of rosbag2 is met: releases of ROS 2 have different ones under the same name.
type Forms struct {
	own *form   // of the Go type
	all []*form // of the release at hand, of the newest, and of the oldest one
}

// NewForms returns the forms of a type. The library is that of the release at hand.
func NewForms(library *rosidl.Library, typeName string) (Forms, error) {
	var f Forms
	for _, l := range []*rosidl.Library{library, msgs.Release(""), msgs.Release("humble")} {
		one, err := newForm(l, typeName)
		if err != nil {
			return f, err
		}
		f.all = append(f.all, one)
	}
	f.own = f.all[1]
	return f, nil
}

// read returns a payload of any form in that of the Go type, and which form it had. The length tells.
func (f *Forms) read(payload []byte) (own []byte, which int, err error) {
	for i, one := range f.all {
		own, formErr := one.convert(payload, f.own)
		if formErr == nil {
			return own, i, nil
		}
		if i == 0 {
			err = formErr
		}
	}
	return nil, 0, err
}

// Marshal returns a message in the form of the release at hand.
func (f *Forms) Marshal(m msgs.Message) ([]byte, error) { return f.write(m, 0) }

// write returns a message in one of the forms.
func (f *Forms) write(m msgs.Message, which int) ([]byte, error) {
	own, err := cdr.Marshal(m)
	if err != nil {
		return nil, err
	}
	return f.own.convert(own, f.all[which])
}
