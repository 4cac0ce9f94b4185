package mcap

import (
	"bytes"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/foxglove/mcap/go/mcap"
	"github.com/stretchr/testify/require"

	"tapedeck/codec"
)

// attachment returns an attachment of data that must be read in small pieces.
func attachment(t *testing.T, name string, data []byte) codec.Attachment {
	return codec.Attachment{
		Name: name, MediaType: "text/plain", LogTime: 7, CreateTime: 5, Size: int64(len(data)),
		Open: func(func(error)) io.Reader { return pieces{t, bytes.NewReader(data)} },
	}
}

type pieces struct {
	t *testing.T
	io.Reader
}

func (r pieces) Read(b []byte) (int, error) {
	require.LessOrEqual(r.t, len(b), 1<<20)
	return r.Reader.Read(b)
}

// requireAttachments compares the attachments of a file, read with tapedeck's reader and with the reader of the MCAP
// project, which compares checksums and finds attachments by the index.
func requireAttachments(t *testing.T, path string, want []codec.Attachment) {
	t.Helper()
	requireSum(t, path)
	info, err := open(t, path).Info()
	require.NoError(t, err)
	require.Empty(t, info.Events)
	require.Len(t, info.Attachments, len(want))
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	peer, err := mcap.NewReader(file)
	require.NoError(t, err)
	defer peer.Close()
	theirs, err := peer.Info()
	require.NoError(t, err)
	require.EqualValues(t, len(want), theirs.Statistics.AttachmentCount)
	require.Len(t, theirs.AttachmentIndexes, len(want))
	for i, w := range want {
		var data bytes.Buffer
		_, err := io.Copy(struct{ io.Writer }{&data}, w.Open(nil))
		require.NoError(t, err)

		got := info.Attachments[i]
		read, err := io.ReadAll(got.Open(nil))
		require.NoError(t, err)
		require.True(t, bytes.Equal(data.Bytes(), read))
		got.Open, w.Open = nil, nil
		require.Equal(t, w, got)

		index := theirs.AttachmentIndexes[i]
		require.Equal(t, w.Name, index.Name)
		require.EqualValues(t, w.Size, index.DataSize)
		a, err := peer.GetAttachmentReader(index.Offset)
		require.NoError(t, err)
		require.Equal(t, w.Name, a.Name)
		require.Equal(t, w.MediaType, a.MediaType)
		require.EqualValues(t, w.LogTime, a.LogTime)
		require.EqualValues(t, w.CreateTime, a.CreateTime)
		read, err = io.ReadAll(a.Data())
		require.NoError(t, err)
		require.True(t, bytes.Equal(data.Bytes(), read))
		computed, err := a.ComputedCRC()
		require.NoError(t, err)
		parsed, err := a.ParsedCRC()
		require.NoError(t, err)
		require.Equal(t, computed, parsed)
		require.NotZero(t, parsed)
	}
}

// TestAttachments writes attachments to the first of two files, and metadata records to both.
func TestAttachments(t *testing.T) {
	big := bytes.Repeat([]byte("0123456789"), 300_000)
	want := []codec.Attachment{attachment(t, "map.bin", big), attachment(t, "empty", nil),
		attachment(t, "map.bin", big[:5])}
	records := []codec.MetadataRecord{
		{Name: "car", Values: map[string]string{"plate": "1"}}, {Name: "car", Values: map[string]string{"plate": "2"}},
		{Name: "nothing", Values: map[string]string{}},
	}
	path := filepath.Join(t.TempDir(), "a.mcap")
	w, err := createOn(codec.OS{}, path, codec.CreateOptions{
		Attachments: want, Records: records, Metadata: map[string]string{"plate": "3"},
	})
	require.NoError(t, err)
	m := &codec.Message{Channel: testChannels()[0], LogTime: 1, PublishTime: 1, Data: []byte{0}}
	require.NoError(t, w.Write(m))
	require.NoError(t, w.Split())
	second := w.File()
	require.NoError(t, w.Write(m))
	require.NoError(t, w.Close())
	requireAttachments(t, path, want)
	requireAttachments(t, second, nil)
	for _, path := range []string{path, second} {
		info, err := open(t, path).Info()
		require.NoError(t, err)
		require.Equal(t, records, info.Records)
		require.Equal(t, map[string]string{"plate": "3"}, info.Metadata)
		require.Equal(t, map[string]string{"plate": "3", "car/plate": "1", "car/plate (2)": "2"}, info.AllMetadata())
		require.Len(t, readAll(t, open(t, path), codec.Query{}), 1)
	}
}

// TestCustomData reads the content of metadata.yaml that rosbag2 stores in a file.
func TestCustomData(t *testing.T) {
	const text = "version: 8\nfiles:\n  - path: custom_data:\ncustom_data:\n  car: blue\nros_distro: jazzy\n"
	var b bytes.Buffer
	w, err := mcap.NewWriter(&b, &mcap.WriterOptions{})
	require.NoError(t, err)
	require.NoError(t, w.WriteHeader(&mcap.Header{}))
	bag := mcap.Metadata{Name: rosbag2Metadata, Metadata: map[string]string{keySerialized: text}}
	require.NoError(t, w.WriteMetadata(&bag))
	require.NoError(t, w.Close())
	path := filepath.Join(t.TempDir(), "a.mcap")
	require.NoError(t, os.WriteFile(path, b.Bytes(), 0o666))
	info, err := open(t, path).Info()
	require.NoError(t, err)
	require.Equal(t, map[string]string{"car": "blue", "ros_distro": "jazzy"}, info.Metadata)
	require.Empty(t, info.Records)
}

func TestDamagedAttachments(t *testing.T) {
	data := bytes.Repeat([]byte("attached"), 100)
	path := filepath.Join(t.TempDir(), "a.mcap")
	all := []codec.Attachment{attachment(t, "map.bin", data)}
	w, err := createOn(codec.OS{}, path, codec.CreateOptions{Attachments: all})
	require.NoError(t, err)
	require.NoError(t, w.Write(&codec.Message{Channel: testChannels()[0], LogTime: 1, PublishTime: 1, Data: []byte{0}}))
	require.NoError(t, w.Close())
	file, err := os.ReadFile(path)
	require.NoError(t, err)
	at := bytes.Index(file, data)
	const wrong = `attachment "map.bin" at 0x25: the checksum is wrong: some of its bytes may be damaged`
	for _, c := range []struct {
		name   string
		damage func(file []byte) []byte
		error  string // of reading the bytes
		event  string // of Info; the file then has no attachment
	}{
		{name: "bytes", damage: func(b []byte) []byte { b[at] = 'A'; return b }, error: wrong},
		{name: "checksum", damage: func(b []byte) []byte { b[at+len(data)]++; return b }, error: wrong},
		{name: "no checksum", damage: func(b []byte) []byte { clear(b[at+len(data):][:4]); return b }},
		{name: "size", damage: func(b []byte) []byte { b[at-8]++; return b }, event: "damaged"},
		{name: "huge size", damage: func(b []byte) []byte { b[at-1] = 0xff; return b }, event: "damaged"},
		{name: "huge name", damage: func(b []byte) []byte {
			binary.LittleEndian.PutUint32(b[0x25+recordHead+16:], 1<<31)
			return b
		}, event: "damaged"},
		{name: "end", damage: func(b []byte) []byte { return b[:at+10] }, event: "the attachment at 0x25 is cut off"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.mcap")
			require.NoError(t, os.WriteFile(path, c.damage(bytes.Clone(file)), 0o666))
			r := open(t, path)
			info, err := r.Info()
			require.NoError(t, err)
			if c.event != "" {
				require.Empty(t, info.Attachments)
				texts := ""
				for _, e := range info.Events {
					texts += e.Text + "\n"
				}
				require.Contains(t, texts, c.event)
				return
			}
			require.Len(t, info.Attachments, 1)
			a := info.Attachments[0]
			_, err = io.ReadAll(a.Open(nil))
			var damage []error
			got, damagedErr := io.ReadAll(a.Open(func(err error) { damage = append(damage, err) }))
			require.NoError(t, damagedErr)
			require.Len(t, got, len(data))
			if c.error == "" {
				require.NoError(t, err)
				require.Empty(t, damage)
				return
			}
			require.EqualError(t, err, "read "+path+": "+c.error)
			require.Len(t, damage, 1)
			require.EqualError(t, damage[0], err.Error())
		})
	}
}
