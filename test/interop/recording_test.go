package interop

import (
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/codec/format/mcap"
	"tapedeck/codec/format/record"
	"tapedeck/codec/format/rosbag2"
	"tapedeck/msgs"
	"tapedeck/msgs/std_msgs"
)

var formats = codec.Formats{mcap.Format, record.Format, rosbag2.Format}

const epoch = int64(1_700_000_000_000_000_000) // ns since the Unix epoch: the first log time of recordings

// message is a message of a recording.
type message struct {
	topic string
	time  int64 // ns since the Unix epoch
	data  []byte
}

// writeRecording writes a recording of messages of one type and QoS.
func writeRecording(t *testing.T, path, format, typeName string, qos codec.QoS, list []message) {
	t.Helper()
	writeRecordingAs(t, path, formats, format, typeName, qos, list)
}

// writeRecordingAs is writeRecording with other formats.
func writeRecordingAs(t *testing.T, path string, formats codec.Formats, format, typeName string, qos codec.QoS,
	list []message) {
	t.Helper()
	text, err := msgs.Library().Concatenated(typeName)
	require.NoError(t, err)
	w, err := formats.Create(path, codec.CreateOptions{Format: format})
	require.NoError(t, err)
	channels := map[string]*codec.Channel{}
	for _, m := range list {
		if channels[m.topic] == nil {
			channels[m.topic] = &codec.Channel{
				Topic: m.topic, Type: typeName, Encoding: codec.EncodingCDR, QoS: []codec.QoS{qos},
				Schema: codec.Schema{Encoding: codec.SchemaROS2Msg, Data: []byte(text)},
			}
		}
		require.NoError(t, w.Write(&codec.Message{Channel: channels[m.topic], LogTime: m.time, PublishTime: m.time,
			Data: m.data}))
	}
	require.NoError(t, w.Close())
}

// writeNumbers writes a recording with the std_msgs/msg/UInt32 messages 0 to count-1 on each topic, at intervals of
// period.
func writeNumbers(t *testing.T, path, format string, count int, period time.Duration, topics ...string) {
	t.Helper()
	writeNumbersAs(t, path, formats, format, count, period, topics...)
}

// writeNumbersAs is writeNumbers with other formats.
func writeNumbersAs(t *testing.T, path string, formats codec.Formats, format string, count int, period time.Duration,
	topics ...string) {
	t.Helper()
	var list []message
	for i := range count {
		for _, topic := range topics {
			list = append(list, message{topic, epoch + int64(i)*int64(period), number(uint32(i))})
		}
	}
	writeRecordingAs(t, path, formats, format, "std_msgs/msg/UInt32", codec.DefaultQoS(), list)
}

// number returns a std_msgs/msg/UInt32 as CDR.
func number(n uint32) []byte { return binary.LittleEndian.AppendUint32([]byte{0, 1, 0, 0}, n) }

// readSoFar returns the messages of a topic in a recording that is still being written, which may be empty.
func readSoFar(t *testing.T, path, topic string) []message {
	t.Helper()
	r, err := formats.Open(path)
	if errors.Is(err, codec.ErrUnknownFormat) || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	require.NoError(t, err)
	require.NoError(t, r.Close())
	return messages(t, path, topic)
}

// messages returns the messages of a topic in a recording, in order.
func messages(t *testing.T, path, topic string) (list []message) {
	t.Helper()
	r, err := formats.Open(path)
	require.NoError(t, err)
	defer r.Close()
	it, err := r.Read(codec.Query{Topics: func(c *codec.Channel) bool { return c.Topic == topic }})
	require.NoError(t, err)
	defer it.Close()
	for {
		m, err := it.Next()
		if errors.Is(err, io.EOF) {
			return list
		}
		require.NoError(t, err)
		list = append(list, message{topic, m.LogTime, append([]byte(nil), m.Data...)})
	}
}

// words returns a std_msgs/msg/String as CDR.
func words(t *testing.T, text string) []byte {
	t.Helper()
	data, err := cdr.Marshal(&std_msgs.String{Data: text})
	require.NoError(t, err)
	return data
}

// requireNumbers requires that a topic of a recording has the numbers 0 to want-1.
func requireNumbers(t *testing.T, path, topic string, want int) {
	t.Helper()
	list := messages(t, path, topic)
	for i, m := range list {
		require.GreaterOrEqual(t, len(m.data), 8, path)
		require.EqualValues(t, i, binary.LittleEndian.Uint32(m.data[4:]), "%s: message %d of %d on %s", path, i,
			len(list),
			topic)
	}
	require.Len(t, list, want, "%s: %s", path, topic)
}
