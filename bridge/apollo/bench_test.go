package apollo

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/dynamicpb"

	"tapedeck/codec"
	"tapedeck/test/samples"
)

// BenchmarkTranslate translates messages of real recordings, to everything that they become, beside what it takes dynamicpb only to
// decode them.
func BenchmarkTranslate(b *testing.B) {
	for name, topics := range map[string][]string{
		"example.record.00000":      {"/apollo/planning", "/apollo/routing_response_history", "/apollo/canbus/chassis"},
		"apollo_cpp_sensors.record": {"/apollo/sensor/lidar128/compensator/PointCloud2", "/apollo/localization/pose", "/apollo/sensor/gnss/imu"},
	} {
		r, err := codec.Open(samples.Path(b, "apollo/"+name))
		require.NoError(b, err)
		defer r.Close()
		for _, topic := range topics {
			it, err := r.Read(codec.Query{Topics: func(c *codec.Channel) bool { return c.Topic == topic }})
			require.NoError(b, err)
			m, err := it.Next()
			require.NoError(b, err)
			translator, err := ToROS2(r)
			require.NoError(b, err)
			_, err = translator.Topics(codec.TopicInfo{Channel: m.Channel})
			require.NoError(b, err)
			translate := translator.Begin(nil)
			b.Run(topic[1:]+"/translate", func(b *testing.B) {
				b.ReportAllocs()
				b.SetBytes(int64(len(m.Data)))
				for b.Loop() {
					_, err := translate(m)
					require.NoError(b, err)
				}
			})
			d, err := descriptorOf(m.Channel)
			require.NoError(b, err)
			all, err := plansOf(d)
			require.NoError(b, err)
			b.Run(topic[1:]+"/generate", func(b *testing.B) {
				b.ReportAllocs()
				b.SetBytes(int64(len(m.Data)))
				var encoder planEncoder
				var payload []byte
				for b.Loop() {
					payload, err = encoder.append(payload[:0], all.root(), m.Data, nil)
					require.NoError(b, err)
				}
			})
			b.Run(topic[1:]+"/dynamicpb", func(b *testing.B) {
				b.ReportAllocs()
				b.SetBytes(int64(len(m.Data)))
				for b.Loop() {
					require.NoError(b, proto.Unmarshal(m.Data, dynamicpb.NewMessage(d)))
				}
			})
			require.NoError(b, it.Close())
		}
	}
}
