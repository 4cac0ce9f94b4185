package cdr

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/bridge/translate/apollo"
	"tapedeck/codec"
	"tapedeck/codec/format/record"
	"tapedeck/test/samples"
)

var formats = codec.Formats{record.Format}

// TestPeerGenerated checks ROS 2 types that tapedeck makes of descriptors of Protocol Buffers: Foxglove's
// implementation reads their messages to tapedeck's values, and writes tapedeck's bytes.
func TestPeerGenerated(t *testing.T) {
	p := startPeer(t)
	all, compared := definitions{}, map[string]int{}
	for _, name := range []string{"example.record.00000", "apollo_cpp_sensors.record"} {
		path := samples.Path(t, "apollo/"+name)
		original, err := formats.Open(path)
		require.NoError(t, err)
		r, _, err := bridge.Translate(original, codec.EncodingCDR, nil,
			map[string]func(codec.Reader) (bridge.Translator, error){codec.EncodingProtobuf: apollo.ToROS2})
		require.NoError(t, err)
		defer func() { require.NoError(t, r.Close()) }()
		it, err := r.Read(codec.Query{})
		require.NoError(t, err)
		defer it.Close()
		for {
			m, err := it.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err)
			c := m.Channel
			if !strings.HasPrefix(c.Type, "apollo_") || compared[c.Type] == 20 {
				continue
			}
			compared[c.Type]++
			definition := all.parse(t, recorded{path, c.Topic, c.Type, string(c.Schema.Data), nil})
			require.Equal(t, c.TypeHash, definition.hash)
			decoded, err := definition.Decode(m.Data)
			require.NoError(t, err)
			answer := p.ask(t, string(c.Schema.Data), m.Data)
			require.Equal(t, plain(decoded), answer.Value, c.Type)
			require.Equal(t, m.Data, answer.Payload, c.Type)
		}
	}
	require.Len(t, compared, 7)
}
