package apollo

import (
	"encoding/base64"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"tapedeck/codec"
	"tapedeck/msgs/rosidl"
)

// original returns what becomes of messages that ToROS2 made of Apollo's: what they were. It is nil if that cannot be had.
func (t *fromROS2) original(c *codec.Channel, library *rosidl.Library) *outgoingChannel {
	files, err := base64.StdEncoding.DecodeString(c.Metadata[MetadataDescriptor])
	if err != nil {
		return nil
	}
	target := targetOf(c, c.Metadata[MetadataType], files)
	d, err := descriptorOf(target)
	if err != nil {
		return nil
	}
	forms, err := formsOf(d)
	if err != nil {
		return nil
	}
	m := pairBetween(c.Type, target.Type)
	others := t.siblings(c)
	switch {
	case c.Type == forms.root().name:
		if own, err := forms.library(); err != nil || !sameTypes(library, own, c.Type) {
			return nil
		}
		target.Topic = strings.TrimSuffix(c.Topic, whole)
		p := originals{}.plan(forms.root())
		return &outgoingChannel{target: target, begin: p.begin}
	case slices.ContainsFunc(others, func(o *codec.Channel) bool { return o.Type == forms.root().name }),
		m == nil && slices.ContainsFunc(others, func(o *codec.Channel) bool { return pairBetween(o.Type, target.Type) != nil }):
		return &outgoingChannel{}
	case m != nil && t.sameType(library, c.Type):
		target.Topic = strings.TrimSuffix(c.Topic, m.suffix)
		s := shapes{}.of(d)
		return &outgoingChannel{target: target, begin: func(r *outgoing) translation { return m.fromROS2(r, s) }}
	}
	return nil
}

// targetOf returns the channel for messages of a type of Apollo's, which files describe.
func targetOf(c *codec.Channel, typeName string, files []byte) *codec.Channel {
	return &codec.Channel{
		Topic: c.Topic, Type: typeName, Encoding: codec.EncodingProtobuf,
		Metadata: without(c.Metadata, MetadataType, MetadataTopic, MetadataDescriptor, MetadataWhole),
		Schema:   codec.Schema{Encoding: codec.SchemaProtobuf, Data: files},
	}
}

// without returns metadata without some of its keys, nil if there are no others.
func without(metadata map[string]string, keys ...string) map[string]string {
	rest := maps.Clone(metadata)
	for _, key := range keys {
		delete(rest, key)
	}
	if len(rest) == 0 {
		return nil
	}
	return rest
}

// siblings returns the other channels whose messages were made of the same messages of Apollo's.
func (t *fromROS2) siblings(c *codec.Channel) []*codec.Channel {
	var all []*codec.Channel
	for _, o := range t.recorded() {
		if o != c && o.Metadata[MetadataType] == c.Metadata[MetadataType] && o.Metadata[MetadataTopic] == c.Metadata[MetadataTopic] {
			all = append(all, o)
		}
	}
	return all
}

// originals are plans from the messages of forms to what these were made of. What has its default is not written, unless it has to
// be: it reads the same.
type originals map[*form]*plan

func (o originals) plan(f *form) *plan {
	if p := o[f]; p != nil {
		return p
	}
	p := &plan{name: f.name, bare: f.descriptor == nil}
	for i := range f.fields {
		p.add(o.step(&f.fields[i]))
	}
	p.least = max(p.least, 1)
	o[f] = p
	return p
}

func (o originals) step(f *formField) planStep {
	s := planStep{Type: rosidl.Type{Kind: f.kind}, name: f.name, width: f.width, raw: f.raw}
	if f.list || f.kind == rosidl.Uint8 {
		s.Shape = rosidl.Sequence
	}
	if s.bytes = f.kind == rosidl.Uint8; s.bytes {
		s.width = 1
	}
	if f.form != nil {
		s.message = o.plan(f.form)
	}
	d := f.descriptor
	if d == nil {
		return s
	}
	s.number, s.kind = d.Number(), d.Kind()
	s.packed = d.IsPacked()
	s.group = d.Kind() == protoreflect.GroupKind
	s.optional = d.Cardinality() == protoreflect.Optional
	s.bits, s.text = f.unset().bits, string(f.fallback)
	if d.Kind() == protoreflect.EnumKind || d.Kind() == protoreflect.Int32Kind || d.Kind() == protoreflect.Sint32Kind {
		s.bits = uint64(int32(s.bits))
	}
	wire := f.wire
	if s.packed {
		wire = protowire.BytesType
	}
	s.tag = protowire.EncodeTag(s.number, wire)
	return s
}
