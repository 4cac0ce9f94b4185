package cdr

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/foxglove/mcap/go/mcap"
	"github.com/stretchr/testify/require"

	"tapedeck/codec/encoding/cdr"
	"tapedeck/msgs"
	"tapedeck/msgs/rosidl"
	"tapedeck/test/samples"
)

// recorded is a message of a recording, with the definition in the file at path.
type recorded struct {
	path, topic, typeName, definition string
	payload                           []byte
}

// eachRecorded calls do with each CDR message of the MCAP files of real rosbag2 recordings.
func eachRecorded(t testing.TB, do func(recorded)) {
	root := samples.Path(t, "rosbag2")
	require.NoError(t, filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".mcap" {
			return err
		}
		file, err := os.Open(path)
		require.NoError(t, err)
		defer file.Close()
		reader, err := mcap.NewReader(file)
		require.NoError(t, err, path)
		defer reader.Close()
		it, err := reader.Messages(mcap.UsingIndex(false))
		require.NoError(t, err, path)
		for {
			schema, channel, message, err := it.NextInto(nil)
			if errors.Is(err, io.EOF) {
				return nil
			}
			require.NoError(t, err, path)
			if channel.MessageEncoding == "cdr" && schema != nil && schema.Encoding == "ros2msg" {
				do(recorded{path, channel.Topic, schema.Name, string(schema.Data), message.Data})
			}
		}
	}))
}

// definitions has the definitions of recorded messages, by type and text.
type definitions map[[2]string]*definition

// definition is a parsed definition with its type hash.
type definition struct {
	*cdr.Schema
	hash string
}

// parse returns the definition of a message, which it parses at most once.
func (all definitions) parse(t testing.TB, m recorded) *definition {
	d := all[[2]string{m.typeName, m.definition}]
	if d == nil {
		lib, err := rosidl.ParseConcatenated(m.typeName, m.definition)
		require.NoError(t, err, "%s: %s", m.path, m.typeName)
		schema, err := cdr.NewSchema(lib, m.typeName)
		require.NoError(t, err, m.path)
		hash, err := lib.Hash(m.typeName)
		require.NoError(t, err, "%s: %s", m.path, m.typeName)
		d = &definition{schema, hash}
		all[[2]string{m.typeName, m.definition}] = d
	}
	return d
}

// TestRecordings checks that each recorded message, decoded and encoded, has its bytes again, except for padding. It
// uses the definition in the file, and the generated type if there is one.
func TestRecordings(t *testing.T) {
	generated := map[string]msgs.Message{} // by hash, because some definitions have changed since
	for _, m := range types {
		hash, err := msgs.Library().Hash(m.TypeName())
		require.NoError(t, err)
		generated[hash] = m
	}
	seen, compared, read := map[string]bool{}, map[string]bool{}, 0
	all := definitions{}
	eachRecorded(t, func(r recorded) {
		d := all.parse(t, r)
		m, err := d.Decode(r.payload)
		require.NoError(t, err, "%s: %s", r.path, r.topic)
		again, err := d.Encode(m)
		require.NoError(t, err, r.path)
		requirePayload(t, d.Schema, r.payload, again)
		if g := generated[d.hash]; g != nil {
			compared[r.typeName] = true
			require.NoError(t, cdr.Unmarshal(r.payload, g))
			again, err := cdr.Marshal(g)
			require.NoError(t, err)
			requirePayload(t, d.Schema, r.payload, again)
		}
		seen[r.typeName] = true
		read++
	})
	require.GreaterOrEqual(t, len(seen), 94)
	require.GreaterOrEqual(t, len(compared), 50)
	t.Logf("%d messages of %d types, %d of them generated", read, len(seen), len(compared))
}

// requirePayload compares payloads without the options of the header and the padding behind the last field. tapedeck
// fills padding between fields with zeros, but Fast CDR leaves arbitrary bytes there. A byte may differ if it does not
// change the decoded message.
func requirePayload(t *testing.T, s *cdr.Schema, want, have []byte) {
	require.LessOrEqual(t, len(have), len(want), s.Name())
	require.Less(t, len(want)-len(have), 4, s.Name())
	for i := 4; i < len(have); i++ {
		if have[i] == want[i] {
			continue
		}
		changed := bytes.Clone(want)
		changed[i] = ^changed[i]
		before, err := s.Decode(want)
		require.NoError(t, err)
		after, err := s.Decode(changed)
		require.NoError(t, err)
		require.Equal(t, text(before), text(after), "%s: byte %d is %#x, was %#x", s.Name(), i, have[i], want[i])
		require.Zero(t, have[i])
	}
}
