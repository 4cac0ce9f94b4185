package record

import (
	"slices"
	"strings"
	"unicode"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
)

const (
	// maxDescDepth is how deep ProtoDescs may nest, the limit of protobuf's own parsers.
	maxDescDepth = 100
	// maxDescSize is the size of a proto_desc above which a file that several others import is in it only once.
	// Apollo always repeats such files, but its reader accepts both.
	maxDescSize = 4 << 20
)

// protoFile is a FileDescriptorProto with its encoded bytes.
type protoFile struct {
	raw     []byte
	name    string
	imports []string
	file    *descriptorpb.FileDescriptorProto
}

// parseProtoFile reads a FileDescriptorProto. It returns nil if raw is something else.
func parseProtoFile(raw []byte) *protoFile {
	d := new(descriptorpb.FileDescriptorProto)
	if err := proto.Unmarshal(raw, d); err != nil || d.GetName() == "" ||
		strings.ContainsFunc(d.GetName(), unicode.IsControl) {
		return nil
	}
	return &protoFile{raw: raw, name: d.GetName(), imports: d.GetDependency(), file: d}
}

// defines reports whether the file defines a message.
func (f *protoFile) defines(messageType string) bool {
	rest, ok := messageType, true
	if p := f.file.GetPackage(); p != "" {
		rest, ok = strings.CutPrefix(messageType, p+".")
	}
	first, _, _ := strings.Cut(rest, ".")
	for _, m := range f.file.GetMessageType() {
		if ok && m.GetName() == first {
			return true
		}
	}
	return false
}

// fileSet is a FileDescriptorSet. Each file comes behind the files that it imports.
type fileSet []*protoFile

// encode returns the FileDescriptorSet.
func (s fileSet) encode() []byte {
	var dst []byte
	for _, f := range s {
		dst = appendBytes(dst, 1, f.raw)
	}
	return dst
}

// parseFileSet reads a FileDescriptorSet. It returns nil if b is something else.
func parseFileSet(b []byte) fileSet {
	var s fileSet
	for len(b) > 0 {
		number, typ, n := protowire.ConsumeTag(b)
		if n < 0 || number != 1 || typ != protowire.BytesType {
			return nil
		}
		raw, m := protowire.ConsumeBytes(b[n:])
		if m < 0 {
			return nil
		}
		f := parseProtoFile(raw)
		if f == nil {
			return nil
		}
		s = append(s, f)
		b = b[n+m:]
	}
	return s
}

// parseProtoDesc reads a ProtoDesc of proto_desc.proto. A ProtoDesc is a tree: a FileDescriptorProto, and a ProtoDesc
// for each file that it imports, also if several files import it. parseProtoDesc returns each file once, or nil if b is
// something else.
func parseProtoDesc(b []byte) fileSet {
	var s fileSet
	if len(b) == 0 || !s.addTree(b, map[string]bool{}, map[string]bool{}, maxDescDepth) {
		return nil
	}
	return s
}

// addTree adds the files of a ProtoDesc. seen holds the encoded files that were added before, names holds their names.
func (s *fileSet) addTree(b []byte, seen, names map[string]bool, depth int) bool {
	desc, dependencies, ok := splitProtoDesc(b)
	if !ok || depth == 0 {
		return false
	}
	for _, d := range dependencies {
		if !s.addTree(d, seen, names, depth-1) {
			return false
		}
	}
	if seen[string(desc)] {
		return true
	}
	seen[string(desc)] = true
	f := parseProtoFile(desc)
	if f == nil {
		return false
	}
	if !names[f.name] {
		names[f.name] = true
		*s = append(*s, f)
	}
	return true
}

// splitProtoDesc returns the fields of a ProtoDesc.
func splitProtoDesc(b []byte) (desc []byte, dependencies [][]byte, ok bool) {
	for len(b) > 0 {
		number, typ, n := protowire.ConsumeTag(b)
		if n < 0 || typ != protowire.BytesType {
			return nil, nil, false
		}
		value, m := protowire.ConsumeBytes(b[n:])
		switch {
		case m < 0:
			return nil, nil, false
		case number == 1 && desc == nil:
			desc = value
		case number == 2:
			dependencies = append(dependencies, value)
		default: // also a second desc: this is a FileDescriptorSet
			return nil, nil, false
		}
		b = b[n+m:]
	}
	return desc, dependencies, desc != nil
}

// protoDesc returns the ProtoDesc that Apollo's ProtobufFactory makes for a message. It begins with the file that
// defines the message, or with the last file if none does. It is nil for an empty set.
func (s fileSet) protoDesc(messageType string) []byte {
	if len(s) == 0 {
		return nil
	}
	root := s[len(s)-1]
	if i := slices.IndexFunc(s, func(f *protoFile) bool { return f.defines(messageType) }); i >= 0 {
		root = s[i]
	}
	files := make(filesByName, len(s))
	for _, f := range slices.Backward(s) {
		files[f.name] = f // the first file of a name wins
	}
	if files.treeSize(root, map[string]int{}, maxDescDepth) > maxDescSize {
		return files.appendTree(nil, root, map[string]bool{}, maxDescDepth)
	}
	return files.appendTree(nil, root, nil, maxDescDepth)
}

// filesByName holds the files of a fileSet by name, for following imports.
type filesByName map[string]*protoFile

// treeSize returns the approximate size of the ProtoDesc of f. The result is much too large if files import each other
// or are nested too deep.
func (s filesByName) treeSize(f *protoFile, sizes map[string]int, depth int) int {
	if size, ok := sizes[f.name]; ok {
		return size
	}
	sizes[f.name] = maxDescSize
	size := len(f.raw)
	for _, name := range f.imports {
		switch dependency := s[name]; {
		case dependency == nil:
		case depth == 1:
			size = 2 * maxDescSize
		default:
			size = min(size+s.treeSize(dependency, sizes, depth-1), 2*maxDescSize)
		}
	}
	sizes[f.name] = size
	return size
}

// appendTree appends the ProtoDesc of f. It omits files in seen, unless seen is nil.
func (s filesByName) appendTree(dst []byte, f *protoFile, seen map[string]bool, depth int) []byte {
	dst = appendBytes(dst, 1, f.raw)
	for _, name := range f.imports {
		dependency := s[name]
		if dependency == nil || depth == 1 || seen[name] {
			continue
		}
		if seen != nil {
			seen[name] = true
		}
		dst = appendBytes(dst, 2, s.appendTree(nil, dependency, seen, depth-1))
	}
	return dst
}

// describe parses the proto_desc of a file: a ProtoDesc, a bare FileDescriptorProto, which Apollo's Python examples
// write, or a FileDescriptorSet. It returns nil for anything else.
func describe(protoDesc []byte) fileSet {
	if s := parseProtoDesc(protoDesc); s != nil {
		return s
	}
	if f := parseProtoFile(protoDesc); f != nil {
		return fileSet{f}
	}
	return parseFileSet(protoDesc)
}
