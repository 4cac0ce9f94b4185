package apollo

import (
	"errors"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/test/samples"
)

// TestOriginal makes Apollo's recordings ones of ROS 2, and these Apollo's again: the same channels, whose messages read the same.
func TestOriginal(t *testing.T) {
	for _, name := range []string{"example.record.00000", "apollo_cpp_sensors.record"} {
		t.Run(name, func(t *testing.T) {
			path := samples.Path(t, "apollo/"+name)
			open := func() codec.Reader {
				r, err := codec.Open(path)
				require.NoError(t, err)
				return r
			}
			ros, left, err := bridge.Translate(open(), codec.EncodingCDR, map[string]func(codec.Reader) (bridge.Translator, error){codec.EncodingProtobuf: ToROS2})
			require.NoError(t, err)
			require.Empty(t, left)
			back, left, err := bridge.Translate(ros, codec.EncodingProtobuf, map[string]func(codec.Reader) (bridge.Translator, error){codec.EncodingCDR: FromROS2})
			require.NoError(t, err)
			require.Empty(t, left)
			defer back.Close()
			original := open()
			defer original.Close()
			wanted, got := messagesByTopic(t, original), messagesByTopic(t, back)
			require.Len(t, got, len(wanted))
			for topic, messages := range wanted {
				require.Len(t, got[topic], len(messages), topic)
				d, err := descriptorOf(messages[0].Channel)
				require.NoError(t, err)
				forms, err := plansOf(d)
				require.NoError(t, err)
				var e planEncoder
				for i, want := range messages {
					m := got[topic][i]
					require.Equal(t, want.Channel.Type, m.Channel.Type)
					require.Equal(t, want.Channel.Schema, m.Channel.Schema)
					require.Equal(t, want.LogTime, m.LogTime)
					a, b := dynamicpb.NewMessage(d), dynamicpb.NewMessage(d)
					require.NoError(t, proto.Unmarshal(want.Data, a))
					require.NoError(t, proto.Unmarshal(m.Data, b))
					if exact := pairOf(want.Channel.Type); exact != nil && exact.reads != nil {
						continue // TestThereAndBack
					}
					// The generated message has all that a message reads as.
					one, err := e.append(nil, forms.root(), want.Data, func(*plan) { t.Error("unknown field") })
					require.NoError(t, err)
					other, err := e.append(nil, forms.root(), m.Data, func(*plan) { t.Error("unknown field") })
					require.NoError(t, err)
					require.Equal(t, one, other, topic)
				}
			}
		})
	}
}

// TestOriginalPart has some of the channels that messages of Apollo's became, or metadata that is damaged.
func TestOriginalPart(t *testing.T) {
	source, err := codec.Open(samples.Path(t, "apollo/apollo_cpp_sensors.record"))
	require.NoError(t, err)
	ros, _, err := bridge.Translate(source, codec.EncodingCDR, map[string]func(codec.Reader) (bridge.Translator, error){codec.EncodingProtobuf: ToROS2})
	require.NoError(t, err)
	defer ros.Close()
	messages := messagesByTopic(t, ros)
	const pose, chassis = "/apollo/localization/pose", "/apollo/canbus/chassis"
	junk := *messages[pose][0].Channel
	junk.Metadata = map[string]string{MetadataType: "apollo.localization.LocalizationEstimate", MetadataDescriptor: "junk", "kept": "yes"}
	renamed := *messages[pose+"_whole"][0].Channel
	renamed.Topic = "/mine_whole"
	for name, test := range map[string]struct {
		channels []*codec.Channel
		want     []string // topics and types, or nothing
	}{
		"all of it":  {[]*codec.Channel{messages[pose][0].Channel, messages[pose+"_whole"][0].Channel}, []string{"", pose + " apollo.localization.LocalizationEstimate"}},
		"a part":     {[]*codec.Channel{messages[pose][0].Channel}, []string{pose + " apollo.localization.LocalizationEstimate"}},
		"renamed":    {[]*codec.Channel{&renamed}, []string{"/mine apollo.localization.LocalizationEstimate"}},
		"only speed": {[]*codec.Channel{messages[chassis+"_twist"][0].Channel}, []string{chassis + " apollo.canbus.Chassis"}},
		"junk":       {[]*codec.Channel{&junk}, []string{pose + " apollo.localization.LocalizationEstimate"}},
	} {
		t.Run(name, func(t *testing.T) {
			var r recorded
			for _, c := range test.channels {
				r.messages = append(r.messages, codec.Message{Channel: c})
			}
			reverse, err := FromROS2(r)
			require.NoError(t, err)
			for i, c := range test.channels {
				topics, err := reverse.Topics(codec.TopicInfo{Channel: c})
				require.NoError(t, err)
				if test.want[i] == "" {
					require.Empty(t, topics)
					continue
				}
				require.Equal(t, test.want[i], topics[0].Channel.Topic+" "+topics[0].Channel.Type)
				require.NotContains(t, topics[0].Channel.Metadata, MetadataDescriptor)
				require.Equal(t, c.Metadata["kept"], topics[0].Channel.Metadata["kept"])
			}
		})
	}
}

// TestOriginalRandom takes random messages of random types there and back.
func TestOriginalRandom(t *testing.T) {
	for seed := range uint64(300) {
		r := random{rand.New(rand.NewPCG(seed, 8))}
		file := r.file()
		d := describing(t, file)
		schema, err := proto.Marshal(&descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{file}})
		require.NoError(t, err)
		source := &codec.Channel{
			Topic: "/random", Type: string(d.FullName()), Encoding: codec.EncodingProtobuf, Schema: codec.Schema{Encoding: codec.SchemaProtobuf, Data: schema},
		}
		forward, err := ToROS2(nil)
		require.NoError(t, err)
		topics, err := forward.Topics(codec.TopicInfo{Channel: source})
		require.NoError(t, err)
		require.Len(t, topics, 1)
		reverse, err := FromROS2(nil)
		require.NoError(t, err)
		back, err := reverse.Topics(codec.TopicInfo{Channel: topics[0].Channel})
		require.NoError(t, err)
		require.Len(t, back, 1)
		require.Equal(t, []string{source.Topic, source.Type}, []string{back[0].Channel.Topic, back[0].Channel.Type})
		require.Equal(t, source.Schema, back[0].Channel.Schema)
		there, restore := forward.Begin(nil), reverse.Begin(nil)
		for range 10 {
			m := dynamicpb.NewMessage(d)
			r.fill(m, 0)
			data, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
			require.NoError(t, err)
			out, err := there(&codec.Message{Channel: source, Data: data})
			require.NoError(t, err)
			payload := append([]byte(nil), out[0].Data...)
			restored, err := restore(&out[0])
			require.NoError(t, err)
			out, err = there(&codec.Message{Channel: source, Data: restored[0].Data})
			require.NoError(t, err)
			require.Equal(t, payload, out[0].Data)
		}
	}
}

func messagesByTopic(t *testing.T, r codec.Reader) map[string][]codec.Message {
	t.Helper()
	it, err := r.Read(codec.Query{})
	require.NoError(t, err)
	defer it.Close()
	all := map[string][]codec.Message{}
	for {
		m, err := it.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		require.NoError(t, err)
		kept := *m
		kept.Data = append([]byte(nil), m.Data...)
		all[m.Channel.Topic] = append(all[m.Channel.Topic], kept)
	}
}
