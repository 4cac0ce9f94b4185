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

	"tapedeck/codec/cdr"
	"tapedeck/msgs"
	"tapedeck/msgs/rosidl"
)

// Every message of the recordings is encoded to the bytes it was decoded from, up to padding: by the definition in the
// file, and by the generated type if there is one.
func TestRecordings(t *testing.T) {
	root := "../../../shared/samples/rosbag2"
	if _, err := os.Stat(root); err != nil {
		t.Skip("the folder with sample recordings is missing")
	}
	generated := map[string]msgs.Message{} // by hash: some definitions have changed since
	for _, m := range types {
		hash, err := msgs.Library().Hash(m.TypeName())
		require.NoError(t, err)
		generated[hash] = m
	}
	seen, compared, read := map[string]bool{}, map[string]bool{}, 0
	require.NoError(t, filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".mcap" {
			return err
		}
		file, err := os.Open(path)
		require.NoError(t, err)
		defer file.Close()
		schemas, hashes := map[uint16]*cdr.Schema{}, map[uint16]string{}
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
			if channel.MessageEncoding != "cdr" || schema == nil || schema.Encoding != "ros2msg" {
				continue
			}
			s := schemas[schema.ID]
			if s == nil {
				lib, err := rosidl.ParseConcatenated(schema.Name, string(schema.Data))
				require.NoError(t, err, "%s: %s", path, schema.Name)
				s, err = cdr.NewSchema(lib, schema.Name)
				require.NoError(t, err, path)
				schemas[schema.ID] = s
				hashes[schema.ID], err = lib.Hash(schema.Name)
				require.NoError(t, err, "%s: %s", path, schema.Name)
			}
			m, err := s.Decode(message.Data)
			require.NoError(t, err, "%s: %s", path, channel.Topic)
			again, err := s.Encode(m)
			require.NoError(t, err, path)
			requirePayload(t, s, message.Data, again)
			if g := generated[hashes[schema.ID]]; g != nil {
				compared[schema.Name] = true
				require.NoError(t, cdr.Unmarshal(message.Data, g))
				again, err := cdr.Marshal(g)
				require.NoError(t, err)
				requirePayload(t, s, message.Data, again)
			}
			seen[schema.Name] = true
			read++
		}
	}))
	require.GreaterOrEqual(t, len(seen), 94)
	require.GreaterOrEqual(t, len(compared), 50)
	t.Logf("%d messages of %d types, %d of them generated", read, len(seen), len(compared))
}

// requirePayload compares payloads without the options of the header and the padding behind the last field. Padding between
// fields is zero in ours, while Fast CDR leaves there what its buffer held: a byte may differ if it changes nothing.
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
