package rosbag2

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/format/rosbag2/internal/sqlitetest"
)

// TestDefinitionsFit expects the definitions of the release that wrote the messages.
func TestDefinitionsFit(t *testing.T) {
	t.Setenv("AMENT_PREFIX_PATH", "")
	// and the kind of radiation
	header := []byte{0, 1, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 4, 0, 0, 0, 'm', 'a', 'p', 0, 1, 0, 0, 0}
	ranges := func(floats int) []byte { return append(header[:len(header):len(header)], make([]byte, 4*floats)...) }
	tests := map[string]struct {
		payload           []byte
		defined, variance bool
	}{
		"Humble":     {ranges(4), true, false},
		"Jazzy":      {ranges(5), true, true},
		"padded":     {append(ranges(4), 0, 0, 0), true, false},
		"neither":    {ranges(8), false, false},
		"too short":  {header, false, false},
		"compressed": {[]byte{0x28, 0xb5, 0x2f, 0xfd, 1, 2, 3}, true, true},
		"none":       {nil, true, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.db3")
			writeDatabase(t, path, 3)
			sqlitetest.Run(t, path, "INSERT INTO topics VALUES (2, '/range', 'sensor_msgs/msg/Range', 'cdr', '')")
			if test.payload != nil {
				sqlitetest.Run(t, path, fmt.Sprintf("INSERT INTO messages(topic_id, timestamp, data) "+
					"VALUES (2, 9, x'%x')", test.payload))
			}
			info, err := open(t, path).Info()
			require.NoError(t, err)
			require.Len(t, info.Topics, 2)
			schema := info.Topics[1].Channel.Schema
			if !test.defined {
				require.Equal(t, codec.Schema{}, schema)
				return
			}
			require.Equal(t, codec.SchemaROS2Msg, schema.Encoding)
			require.Equal(t, test.variance, strings.Contains(string(schema.Data), "float32 variance"),
				string(schema.Data))
		})
	}
}
