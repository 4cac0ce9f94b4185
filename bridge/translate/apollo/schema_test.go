package apollo

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	"tapedeck/test/samples"
)

// TestCompiledSchema checks that apollo.binpb is the output of go generate for the files of the schema.
func TestCompiledSchema(t *testing.T) {
	protoc, err := exec.LookPath("protoc")
	if err != nil {
		t.Skip("protoc is not there; test/install test installs it: ", err)
	}
	files, err := fs.Glob(os.DirFS("proto"), "modules/common_msgs/*/*.proto")
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "compiled.binpb")
	text, err := exec.Command(protoc, append([]string{"-I", "proto", "-o", path}, files...)...).CombinedOutput()
	require.NoError(t, err, string(text))
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	var compiled, committed descriptorpb.FileDescriptorSet
	require.NoError(t, proto.Unmarshal(data, &compiled))
	require.NoError(t, proto.Unmarshal(schemaFiles, &committed))
	require.True(t, proto.Equal(&compiled, &committed),
		"the schema has changed: run go generate ./bridge/translate/apollo")
}

// TestSchema compares tapedeck's schema of Apollo's types with the descriptors in Apollo's own recordings, or with the
// FileDescriptorSet of a whole Apollo that APOLLO_DESCRIPTORS names.
func TestSchema(t *testing.T) {
	schema, err := readSchema()
	require.NoError(t, err)
	own, err := protodesc.NewFiles(schema)
	require.NoError(t, err)
	sets := map[string][]byte{}
	if path := os.Getenv("APOLLO_DESCRIPTORS"); path != "" {
		sets[path], err = os.ReadFile(path)
		require.NoError(t, err)
	}
	for _, name := range []string{"example.record.00000", "apollo_cpp_sensors.record"} {
		r, err := formats.Open(samples.Path(t, "apollo/"+name))
		require.NoError(t, err)
		info, err := r.Info()
		require.NoError(t, err)
		for _, topic := range info.Topics {
			sets[name+topic.Channel.Topic] = topic.Channel.Schema.Data
		}
		require.NoError(t, r.Close())
	}
	seen := map[protoreflect.FullName]bool{}
	for name, set := range sets {
		var files descriptorpb.FileDescriptorSet
		require.NoError(t, proto.Unmarshal(set, &files))
		registry, err := protodesc.FileOptions{AllowUnresolvable: true}.NewFiles(&files)
		require.NoError(t, err, name)
		own.RangeFiles(func(f protoreflect.FileDescriptor) bool {
			messages := f.Messages()
			for i := range messages.Len() {
				m := messages.Get(i)
				d, err := registry.FindDescriptorByName(m.FullName())
				if err != nil {
					continue
				}
				seen[m.FullName()] = true
				requireSameFields(t, d.(protoreflect.MessageDescriptor), m)
			}
			return true
		})
	}
	require.Greater(t, len(seen), 12)
}

// requireSameFields requires that Apollo has all fields of our types.
func requireSameFields(t *testing.T, apollo, ours protoreflect.MessageDescriptor) {
	t.Helper()
	for i := range ours.Fields().Len() {
		f := ours.Fields().Get(i)
		theirs := apollo.Fields().ByName(f.Name())
		if theirs == nil && (f.FullName() == "apollo.drivers.CompressedImage.measurement_time" ||
			f.FullName() == "apollo.drivers.CompressedImage.frame_type") {
			continue // the recording is older than the field
		}
		require.NotNil(t, theirs, f.FullName())
		require.Equal(t, theirs.Number(), f.Number(), f.FullName())
		require.Equal(t, theirs.Kind(), f.Kind(), f.FullName())
		require.Equal(t, theirs.IsList(), f.IsList(), f.FullName())
		if f.Kind() == protoreflect.EnumKind {
			for j := range f.Enum().Values().Len() {
				v := f.Enum().Values().Get(j)
				require.NotNil(t, theirs.Enum().Values().ByName(v.Name()), v.FullName())
				require.Equal(t, v.Number(), theirs.Enum().Values().ByName(v.Name()).Number(), v.FullName())
			}
		} else if !f.IsList() && f.Message() == nil {
			require.Equal(t, theirs.Default().String(), f.Default().String(), f.FullName())
		}
	}
}
