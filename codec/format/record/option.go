package record

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"tapedeck/codec"
	"tapedeck/codec/format/record/internal/recordpb"
)

// rawProtoDesc is the key of Channel.Metadata for a proto_desc that cannot be made from the schema again: junk, or a
// form that Apollo does not write. The value is in base64.
const rawProtoDesc = "record.proto_desc"

// newChannel returns the channel that a Channel section or an entry of the index describes. It keeps no reference to
// protoDesc.
func newChannel(name, messageType string, protoDesc []byte) *codec.Channel {
	if desc, dependencies, ok := splitProtoDesc(protoDesc); ok && len(dependencies) == 1 {
		if root := parseProtoFile(desc); root != nil {
			unknown := root.file.GetOptions().ProtoReflect().GetUnknown()
			if option := findOption(unknown); option != nil {
				if c := parseOption(option, name, dependencies[0]); c != nil {
					return c
				}
			}
		}
	}
	c := &codec.Channel{Topic: name, Type: messageType, Encoding: codec.EncodingProtobuf}
	files := describe(protoDesc)
	if files != nil {
		c.Schema = codec.Schema{Encoding: codec.SchemaProtobuf, Data: files.encode()}
	}
	if !bytes.Equal(files.protoDesc(messageType), protoDesc) {
		c.Metadata = map[string]string{rawProtoDesc: base64.StdEncoding.EncodeToString(protoDesc)}
	}
	return c
}

// wireChannel is the reverse of newChannel. It returns the Channel to write for c under the given name, from which
// newChannel returns an equal channel.
func wireChannel(c *codec.Channel, name string) *recordpb.Channel {
	messageType, protoDesc := c.Type, []byte(nil)
	if raw, err := base64.StdEncoding.DecodeString(c.Metadata[rawProtoDesc]); err == nil {
		protoDesc = raw
	}
	if len(protoDesc) == 0 && c.Encoding == codec.EncodingProtobuf {
		protoDesc = parseFileSet(c.Schema.Data).protoDesc(c.Type)
	}
	if !equal(newChannel(name, messageType, protoDesc), c) {
		messageType, protoDesc = wrap(c, name)
	}
	if protoDesc == nil {
		protoDesc = []byte{} // Apollo's writer writes it
	}
	return &recordpb.Channel{Name: &name, MessageType: &messageType, ProtoDesc: protoDesc}
}

// equal reports whether two channels are equal. Nil slices and maps equal empty ones.
func equal(a, b *codec.Channel) bool {
	return a.Topic == b.Topic && a.Type == b.Type && a.Encoding == b.Encoding && a.TypeHash == b.TypeHash &&
		a.Schema.Encoding == b.Schema.Encoding && bytes.Equal(a.Schema.Data, b.Schema.Data) &&
		slices.Equal(a.QoS, b.QoS) && maps.Equal(a.Metadata, b.Metadata)
}

// wrap returns the type and proto_desc of a channel that needs the option. The option is in a file of its own. The
// name of this file is a hash, because descriptor pools that read many channels keep one file for each name.
func wrap(c *codec.Channel, name string) (messageType string, protoDesc []byte) {
	messageType, files := describeChannel(c)
	tree := files.protoDesc(messageType)
	option := encode(newOption(c, name, files))

	fileName := fmt.Sprintf("tapedeck/channel/%x.proto", sha256.Sum256(append(option, tree...)))
	root := &descriptorpb.FileDescriptorProto{Name: &fileName, Options: &descriptorpb.FileOptions{}}
	if desc, _, ok := splitProtoDesc(tree); ok {
		root.Dependency = []string{parseProtoFile(desc).name}
	}
	root.Options.ProtoReflect().SetUnknown(appendBytes(nil, extension, option))
	raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(root)
	if err != nil {
		panic(err) // all strings are ours, or parsed from protobuf
	}
	return messageType, appendBytes(appendBytes(nil, 1, raw), 2, tree)
}

// newOption returns the ChannelOption of c. In the record the channel has the given name, and files describe its type.
func newOption(c *codec.Channel, name string, files fileSet) *recordpb.ChannelOption {
	o := &recordpb.ChannelOption{Encoding: &c.Encoding, Type: &c.Type, Metadata: c.Metadata}
	given := func(s string) *string {
		if s == "" {
			return nil
		}
		return &s
	}
	o.SchemaEncoding, o.TypeHash = given(c.Schema.Encoding), given(c.TypeHash)
	if c.Schema.Encoding == codec.SchemaProtobuf && !treeKeeps(files, c) || c.Schema.Encoding != codec.SchemaProtobuf &&
		len(c.Schema.Data) > 0 {
		o.Schema = append([]byte{}, c.Schema.Data...)
	}
	if len(c.QoS) > 0 {
		o.Qos = new(codec.FormatQoSProfiles(c.QoS))
	}
	if c.Topic != name {
		o.Topic = &c.Topic
	}
	return o
}

// treeKeeps reports whether reading the ProtoDesc made of the schema of c yields that schema again.
func treeKeeps(files fileSet, c *codec.Channel) bool {
	return bytes.Equal(parseProtoDesc(files.protoDesc(c.Type)).encode(), c.Schema.Data)
}

// findOption returns the ChannelOption in the unknown fields of a file's options, or nil.
func findOption(unknown []byte) []byte {
	for len(unknown) > 0 {
		number, typ, n := protowire.ConsumeField(unknown)
		if n < 0 {
			return nil
		}
		if number == extension && typ == protowire.BytesType {
			_, _, tag := protowire.ConsumeTag(unknown)
			option, _ := protowire.ConsumeBytes(unknown[tag:])
			return option
		}
		unknown = unknown[n:]
	}
	return nil
}

// parseOption returns the channel that a ChannelOption describes, or nil if option cannot be decoded. The ProtoDesc
// tree describes the channel's type.
func parseOption(option []byte, name string, tree []byte) *codec.Channel {
	var o recordpb.ChannelOption
	if proto.Unmarshal(option, &o) != nil {
		return nil
	}
	c := &codec.Channel{
		Topic: name, Type: o.GetType(), Encoding: o.GetEncoding(), TypeHash: o.GetTypeHash(), Metadata: o.Metadata,
		Schema: codec.Schema{Encoding: o.GetSchemaEncoding(), Data: o.Schema},
	}
	c.SetQoSProfiles(o.GetQos())
	if o.Topic != nil {
		c.Topic = *o.Topic
	}
	if c.Schema.Encoding == codec.SchemaProtobuf && c.Schema.Data == nil {
		if files := parseProtoDesc(tree); files != nil {
			c.Schema.Data = files.encode()
		}
	}
	return c
}
