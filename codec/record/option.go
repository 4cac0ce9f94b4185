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
)

// rawProtoDesc is the key of Channel.Metadata for a proto_desc that cannot be made from the schema again: junk, or a
// form that Apollo does not write. The value is in base64.
const rawProtoDesc = "record.proto_desc"

// newChannel makes what a Channel section or an entry of the index says into a codec.Channel. It keeps none of the
// slices.
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

// wireChannel is the reverse of newChannel: what to write for a channel under the given name, so that newChannel
// returns the same again.
func wireChannel(c *codec.Channel, name string) channel {
	messageType, protoDesc := c.Type, []byte(nil)
	if raw, err := base64.StdEncoding.DecodeString(c.Metadata[rawProtoDesc]); err == nil {
		protoDesc = raw
	}
	if len(protoDesc) == 0 && c.Encoding == codec.EncodingProtobuf {
		protoDesc = parseFileSet(c.Schema.Data).protoDesc(c.Type)
	}
	if !same(newChannel(name, messageType, protoDesc), c) {
		messageType, protoDesc = wrap(c, name)
	}
	return channel{
		name: []byte(name), messageType: []byte(messageType), protoDesc: protoDesc,
		presence: presence{set: all},
	}
}

// same says whether two channels are equal; nil and empty slices and maps are the same.
func same(a, b *codec.Channel) bool {
	return a.Topic == b.Topic && a.Type == b.Type && a.Encoding == b.Encoding && a.TypeHash == b.TypeHash &&
		a.Schema.Encoding == b.Schema.Encoding && bytes.Equal(a.Schema.Data, b.Schema.Data) &&
		slices.Equal(a.QoS, b.QoS) && maps.Equal(a.Metadata, b.Metadata)
}

// wrap returns the type and proto_desc of a channel that needs the option. The file with the option is one of its own,
// and its name is a hash, for pools that take the files of many channels and only one of a name.
func wrap(c *codec.Channel, name string) (messageType string, protoDesc []byte) {
	messageType, files := describeChannel(c)
	tree := files.protoDesc(messageType)
	option := appendOption(nil, c, name, files)

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

// Fields of ChannelOption, which the package comment describes.
const (
	optionEncoding protowire.Number = iota + 1
	optionType
	optionSchemaEncoding
	optionSchema
	optionTypeHash
	optionQoS
	optionMetadata
	optionTopic
)

func appendOption(dst []byte, c *codec.Channel, name string, files fileSet) []byte {
	dst = appendBytes(dst, optionEncoding, c.Encoding)
	dst = appendBytes(dst, optionType, c.Type)
	if c.Schema.Encoding != "" {
		dst = appendBytes(dst, optionSchemaEncoding, c.Schema.Encoding)
	}
	if c.Schema.Encoding == codec.SchemaProtobuf && !treeKeeps(files, c) || c.Schema.Encoding != codec.SchemaProtobuf &&
		len(c.Schema.Data) > 0 {
		dst = appendBytes(dst, optionSchema, c.Schema.Data)
	}
	if c.TypeHash != "" {
		dst = appendBytes(dst, optionTypeHash, c.TypeHash)
	}
	if len(c.QoS) > 0 {
		dst = appendBytes(dst, optionQoS, codec.FormatQoSProfiles(c.QoS))
	}
	for _, key := range slices.Sorted(maps.Keys(c.Metadata)) {
		entry := appendBytes(nil, 1, key)
		dst = appendBytes(dst, optionMetadata, appendBytes(entry, 2, c.Metadata[key]))
	}
	if c.Topic != name {
		dst = appendBytes(dst, optionTopic, c.Topic)
	}
	return dst
}

// treeKeeps says whether the schema of c comes out of the ProtoDesc that is made from it.
func treeKeeps(files fileSet, c *codec.Channel) bool {
	return parseProtoDesc(files.protoDesc(c.Type)).equal(c.Schema.Data)
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

// parseOption returns the channel that a ChannelOption describes, whose type tree describes; nil when it is none of
// ours.
func parseOption(option []byte, name string, tree []byte) *codec.Channel {
	c := &codec.Channel{Topic: name}
	for len(option) > 0 {
		number, typ, n := protowire.ConsumeTag(option)
		if n < 0 || typ != protowire.BytesType {
			return nil
		}
		value, m := protowire.ConsumeBytes(option[n:])
		if m < 0 {
			return nil
		}
		option = option[n+m:]
		switch number {
		case optionEncoding:
			c.Encoding = string(value)
		case optionType:
			c.Type = string(value)
		case optionSchemaEncoding:
			c.Schema.Encoding = string(value)
		case optionSchema:
			c.Schema.Data = bytes.Clone(value)
		case optionTypeHash:
			c.TypeHash = string(value)
		case optionQoS:
			qos, err := codec.ParseQoSProfiles(string(value))
			if err != nil {
				return nil
			}
			c.QoS = qos
		case optionMetadata:
			var entry struct{ channel }
			if decode(value, &entry) != nil {
				return nil
			}
			if c.Metadata == nil {
				c.Metadata = map[string]string{}
			}
			c.Metadata[string(entry.name)] = string(entry.messageType)
		case optionTopic:
			c.Topic = string(value)
		}
	}
	if c.Schema.Encoding == codec.SchemaProtobuf && c.Schema.Data == nil {
		if files := parseProtoDesc(tree); files != nil {
			c.Schema.Data = files.encode()
		}
	}
	return c
}
