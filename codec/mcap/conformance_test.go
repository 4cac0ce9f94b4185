package mcap

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
)

// samples is where real recordings are, if the machine has them.
const samples = "../../../shared/samples"

func sample(t testing.TB, path string) string {
	path = filepath.Join(samples, path)
	if _, err := os.Stat(path); err != nil {
		t.Skip("the real recordings are not on this machine: no ", path)
	}
	return path
}

// readAll returns copies of the messages that q selects.
func readAll(t testing.TB, r codec.Reader, q codec.Query) []codec.Message {
	it, err := r.Read(q)
	require.NoError(t, err)
	messages, err := collect(it)
	require.NoError(t, err)
	return messages
}

// TestConformance reads the files of the MCAP project's conformance tests, whose names tell what they have.
func TestConformance(t *testing.T) {
	dir := sample(t, "mcap/conformance")
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
			r, err := codec.Open(path)
			require.NoError(t, err)
			defer r.Close()
			info, err := r.Info()
			require.NoError(t, err)
			require.True(t, info.Complete)
			require.Empty(t, info.Events)

			kind, _, _ := strings.Cut(strings.TrimSuffix(entry.Name(), ".mcap"), "-")
			var want []codec.Message
			var metadata map[string]string
			attachments := 0
			switch kind {
			case "NoData":
			case "OneAttachment":
				attachments = 1
			case "OneMetadata":
				metadata = map[string]string{"myMetadata/foo": "bar"}
			case "OneMessage":
				want = append(want, codec.Message{Channel: channel, LogTime: 2, PublishTime: 1, Data: []byte{1, 2, 3}})
			case "OneSchemalessMessage":
				want = append(want, codec.Message{Channel: schemaless, LogTime: 2, PublishTime: 1, Data: []byte{1, 2, 3}})
			case "TenMessages":
				// In the file they are in another order.
				for _, i := range []int64{0, 1, 2, 3, 3, 4, 5, 7, 8, 9} {
					want = append(want, codec.Message{Channel: channel, LogTime: i, PublishTime: i, Data: []byte{1, 2, 3}})
				}
			default:
				t.Fatal("what is in such a file is not known")
			}
			require.Equal(t, want, readAll(t, r, codec.Query{}))
			require.EqualValues(t, len(want), info.MessageCount)
			require.Equal(t, metadata, info.Metadata)
			require.Equal(t, attachments, info.Extra.(Extra).Attachments)
			if len(want) > 0 {
				require.Len(t, info.Topics, 1)
				require.Equal(t, codec.TopicInfo{Channel: want[0].Channel, MessageCount: uint64(len(want))}, info.Topics[0])
				require.Equal(t, want[0].LogTime, info.StartTime)
				require.Equal(t, want[len(want)-1].LogTime, info.EndTime)
			}
		})
		return nil
	}))
	require.Equal(t, 416, files)
}
