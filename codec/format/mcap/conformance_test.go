package mcap

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/foxglove/mcap/go/mcap"
	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/internal/codectest"
	"tapedeck/test/samples"
)

// TestConformance reads the files of the MCAP project's conformance tests. Their names list their features.
func TestConformance(t *testing.T) {
	dir := samples.Path(t, "mcap/conformance")
	channel := &codec.Channel{
		Topic: "example", Type: "Example", Encoding: "a", Schema: codec.Schema{Encoding: "c", Data: []byte{4, 5, 6}},
		Metadata: map[string]string{"foo": "bar"},
	}
	schemaless := &codec.Channel{Topic: "example", Encoding: "text"}
	files := 0
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".mcap" {
			return err
		}
		files++
		t.Run(entry.Name(), func(t *testing.T) {
			r, err := codec.Formats{Format}.Open(path)
			require.NoError(t, err)
			defer r.Close()
			info, err := r.Info()
			require.NoError(t, err)
			require.True(t, info.Complete)
			require.Empty(t, info.Events)

			kind, _, _ := strings.Cut(strings.TrimSuffix(entry.Name(), ".mcap"), "-")
			var want []codec.Message
			var records []codec.MetadataRecord
			attachments := 0
			switch kind {
			case "NoData":
			case "OneAttachment":
				attachments = 1
			case "OneMetadata":
				records = []codec.MetadataRecord{{Name: "myMetadata", Values: map[string]string{"foo": "bar"}}}
			case "OneMessage":
				want = append(want, codec.Message{Channel: channel, LogTime: 2, PublishTime: 1, Data: []byte{1, 2, 3}})
			case "OneSchemalessMessage":
				want = append(want, codec.Message{Channel: schemaless, LogTime: 2, PublishTime: 1,
					Data: []byte{1, 2, 3}})
			case "TenMessages":
				// The file has another order.
				for _, i := range []int64{0, 1, 2, 3, 3, 4, 5, 7, 8, 9} {
					want = append(want, codec.Message{Channel: channel, LogTime: i, PublishTime: i,
						Data: []byte{1, 2, 3}})
				}
			default:
				t.Fatal("what is in such a file is not known")
			}
			require.Equal(t, want, readAll(t, r, codec.Query{}))
			require.EqualValues(t, len(want), info.MessageCount)
			require.Empty(t, info.Metadata)
			require.Equal(t, records, info.Records)
			require.Equal(t, attachments, info.Extra.(Extra).Attachments)
			if len(want) > 0 {
				require.Len(t, info.Topics, 1)
				require.Equal(t, codec.TopicInfo{Channel: want[0].Channel, MessageCount: uint64(len(want))},
					info.Topics[0])
				require.Equal(t, want[0].LogTime, info.StartTime)
				require.Equal(t, want[len(want)-1].LogTime, info.EndTime)
			}
		})
		return nil
	}))
	require.Equal(t, 416, files)
}

// TestConformanceWritten writes the content of the conformance tests, without attachments (see TestAttachments) and
// with sequence numbers 0, as rosbag2. The MCAP project's own reader finds every record of the files with chunks,
// indexes, statistics and a summary.
func TestConformanceWritten(t *testing.T) {
	channel := &codec.Channel{
		Topic: "example", Type: "Example", Encoding: "a", Schema: codec.Schema{Encoding: "c", Data: []byte{4, 5, 6}},
		Metadata: map[string]string{"foo": "bar"},
	}
	schemaless := &codec.Channel{Topic: "example", Encoding: "text"}
	message := func(c *codec.Channel, log, publish int64) codec.Message {
		return codec.Message{Channel: c, LogTime: log, PublishTime: publish, Data: []byte{1, 2, 3}}
	}
	var ten []codec.Message
	for _, i := range []int64{1, 2, 1, 3, 3, 5, 4, 7, 8, 9} {
		ten = append(ten, message(channel, i, i))
	}
	for _, test := range []struct {
		name     string
		messages []codec.Message
		metadata map[string]string
	}{
		{"NoData", nil, nil},
		{"OneMetadata", nil, map[string]string{"foo": "bar"}},
		{"OneMessage", []codec.Message{message(channel, 2, 1)}, nil},
		{"OneSchemalessMessage", []codec.Message{message(schemaless, 2, 1)}, nil},
		{"TenMessages", ten, nil},
	} {
		for _, compression := range []string{"none", "lz4", "zstd"} {
			t.Run(test.name+", "+compression, func(t *testing.T) {
				o := codec.CreateOptions{Metadata: test.metadata, Compression: compression, ChunkSize: 100}
				file := bytes.NewReader(codectest.Write(t, Format, o, test.messages...))
				lexer, err := mcap.NewLexer(file, &mcap.LexerOptions{ValidateChunkCRCs: true,
					ComputeAttachmentCRCs: true})
				require.NoError(t, err)
				defer lexer.Close()
				var got, want []string
				records := map[mcap.TokenType]int{}
				ended := false // the summary follows, with repeated records
				for {
					token, data, err := lexer.Next(nil)
					if errors.Is(err, io.EOF) {
						break
					}
					require.NoError(t, err)
					records[token]++
					switch {
					case token == mcap.TokenDataEnd:
						ended = true
					case ended:
					case token == mcap.TokenSchema:
						s, err := mcap.ParseSchema(data)
						require.NoError(t, err)
						got = append(got, fmt.Sprintf("schema %d %s %s %v", s.ID, s.Name, s.Encoding, s.Data))
					case token == mcap.TokenChannel:
						c, err := mcap.ParseChannel(data)
						require.NoError(t, err)
						got = append(got, fmt.Sprintf("channel %d %s %s %v", c.SchemaID, c.Topic, c.MessageEncoding,
							c.Metadata))
					case token == mcap.TokenMessage:
						m, err := mcap.ParseMessage(data)
						require.NoError(t, err)
						got = append(got, fmt.Sprintf("message %d %d %v", m.LogTime, m.PublishTime, m.Data))
					case token == mcap.TokenMetadata:
						m, err := mcap.ParseMetadata(data)
						require.NoError(t, err)
						got = append(got, fmt.Sprint("metadata ", m.Metadata))
					}
				}
				if test.metadata != nil {
					want = append(want, fmt.Sprint("metadata ", test.metadata))
				}
				for i, m := range test.messages {
					if i == 0 && m.Channel == channel {
						want = append(want, "schema 1 Example c [4 5 6]", "channel 1 example a map[foo:bar]")
					} else if i == 0 {
						want = append(want, "channel 0 example text map[]")
					}
					want = append(want, fmt.Sprintf("message %d %d %v", m.LogTime, m.PublishTime, m.Data))
				}
				require.Equal(t, want, got)
				require.Equal(t, 1, records[mcap.TokenStatistics])
				require.Equal(t, len(test.metadata), records[mcap.TokenMetadataIndex])

				file.Seek(0, io.SeekStart)
				reader, err := mcap.NewReader(file)
				require.NoError(t, err)
				defer reader.Close()
				info, err := reader.Info()
				require.NoError(t, err)
				require.EqualValues(t, len(test.messages), info.Statistics.MessageCount)
			})
		}
	}
}
