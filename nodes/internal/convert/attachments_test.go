package convert

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/foxglove/mcap/go/mcap"
	"github.com/stretchr/testify/require"

	"tapedeck/bridge/recordings"
	"tapedeck/codec"
	"tapedeck/nodes/internal/formats"
)

// attachment is an attachment as the reader of the MCAP project finds it.
type attachment struct {
	name, mediaType  string
	logTime, created int64
	data             string
}

// extras returns the attachments and the metadata records of other programs in an MCAP file. The reader of the MCAP
// project finds them by the index.
func extras(t *testing.T, path string) (attachments []attachment, records []codec.MetadataRecord) {
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	r, err := mcap.NewReader(file)
	require.NoError(t, err)
	defer r.Close()
	info, err := r.Info()
	require.NoError(t, err)
	for _, index := range info.AttachmentIndexes {
		a, err := r.GetAttachmentReader(index.Offset)
		require.NoError(t, err)
		data, err := io.ReadAll(a.Data())
		require.NoError(t, err)
		computed, err := a.ComputedCRC()
		require.NoError(t, err)
		parsed, err := a.ParsedCRC()
		require.NoError(t, err)
		require.Equal(t, computed, parsed)
		attachments = append(attachments,
			attachment{a.Name, a.MediaType, int64(a.LogTime), int64(a.CreateTime), string(data)})
	}
	for _, index := range info.MetadataIndexes {
		if index.Name != "rosbag2" && index.Name != "tapedeck" {
			m, err := r.GetMetadata(index.Offset)
			require.NoError(t, err)
			records = append(records, codec.MetadataRecord{Name: m.Name, Values: m.Metadata})
		}
	}
	return attachments, records
}

// writeExtras writes n messages, attachments and records with the writer of the MCAP project.
func writeExtras(t *testing.T, n int, attachments []attachment, records ...codec.MetadataRecord) string {
	path := filepath.Join(t.TempDir(), "in.mcap")
	file, err := os.Create(path)
	require.NoError(t, err)
	defer file.Close()
	w, err := mcap.NewWriter(file, &mcap.WriterOptions{Chunked: true, IncludeCRC: true})
	require.NoError(t, err)
	require.NoError(t, w.WriteHeader(&mcap.Header{Profile: "ros2"}))
	c := channel(t, "/n", "std_msgs/msg/UInt32")
	require.NoError(t, w.WriteSchema(&mcap.Schema{ID: 1, Name: c.Type, Encoding: c.Schema.Encoding,
		Data: c.Schema.Data}))
	require.NoError(t, w.WriteChannel(&mcap.Channel{ID: 1, SchemaID: 1, Topic: c.Topic, MessageEncoding: c.Encoding}))
	for i, m := range numbers(t, c, n) {
		if i == n/2 {
			for _, a := range attachments {
				require.NoError(t, w.WriteAttachment(&mcap.Attachment{
					Name: a.name, MediaType: a.mediaType, LogTime: uint64(a.logTime), CreateTime: uint64(a.created),
					DataSize: uint64(len(a.data)), Data: bytes.NewReader([]byte(a.data)),
				}))
			}
			for _, r := range records {
				require.NoError(t, w.WriteMetadata(&mcap.Metadata{Name: r.Name, Metadata: r.Values}))
			}
		}
		require.NoError(t, w.WriteMessage(&mcap.Message{
			ChannelID: 1, LogTime: uint64(m.LogTime), PublishTime: uint64(m.PublishTime), Data: m.Data,
		}))
	}
	require.NoError(t, w.Close())
	return path
}

// TestAttachments keeps attachments and metadata records in all outputs of a recording.
func TestAttachments(t *testing.T) {
	first := attachment{"car.urdf", "application/xml", 1001 * second, 7, "<robot/>"}
	other := attachment{"car.urdf", "", 0, 0, "another robot"}
	a := codec.MetadataRecord{Name: "car", Values: map[string]string{"plate": "1"}}
	b := codec.MetadataRecord{Name: "car", Values: map[string]string{"plate": "2"}}
	in := writeExtras(t, 10, []attachment{first}, a)
	again := writeExtras(t, 10, []attachment{other}, a, b)
	shifted := first
	shifted.logTime += 5 * second
	hour, far := DefaultOptions(), filepath.Join(t.TempDir(), "far.mcap")
	hour.Offset = time.Hour
	_, err := run(t, hour, far, in)
	require.NoError(t, err)
	for name, c := range map[string]struct {
		set     func(o *Options)
		to      string
		output  string
		inputs  []string
		want    []attachment
		records []codec.MetadataRecord
		rest    []string // further files, which have only the records
	}{
		"whole":   {},
		"clip":    {set: func(o *Options) { o.Begin = "5" }},
		"topics":  {set: func(o *Options) { o.Topics = []string{"/n"} }},
		"shifted": {set: func(o *Options) { o.Offset = 5e9 }, want: []attachment{shifted}},
		"aligned": {
			set: func(o *Options) { o.AlignStarts = true }, inputs: []string{in, far},
			want: []attachment{first, first}, records: []codec.MetadataRecord{a},
		},
		"split":   {set: func(o *Options) { o.MaxBagMessages = 5 }, rest: []string{"out_1.mcap"}},
		"rosbag2": {to: "out", output: "out/out_0.mcap"},
		"merged": {
			inputs: []string{in, again}, want: []attachment{first, other}, records: []codec.MetadataRecord{a, b},
		},
	} {
		t.Run(name, func(t *testing.T) {
			o, to, output, inputs := DefaultOptions(), "out.mcap", "out.mcap", []string{in}
			o.Strict = true
			if c.set != nil {
				c.set(&o)
			}
			if c.to != "" {
				to, output = c.to, c.output
			}
			if c.inputs != nil {
				inputs = c.inputs
			}
			if c.want == nil {
				c.want = []attachment{first}
			}
			if c.records == nil {
				c.records = []codec.MetadataRecord{a}
			}
			folder := t.TempDir()
			_, err := run(t, o, filepath.Join(folder, to), inputs...)
			require.NoError(t, err)
			got, records := extras(t, filepath.Join(folder, output))
			require.Equal(t, c.want, got)
			require.Equal(t, c.records, records)
			_, info := readAll(t, filepath.Join(folder, to))
			require.Len(t, info.Attachments, len(c.want))
			require.Equal(t, c.records, info.Records)
			for _, name := range c.rest {
				got, records := extras(t, filepath.Join(folder, name))
				require.Empty(t, got)
				require.Equal(t, c.records, records)
			}
		})
	}
}

// TestSkippedAttachments converts to formats without attachments. Some target formats have metadata.
func TestSkippedAttachments(t *testing.T) {
	in := writeExtras(t, 3, []attachment{{name: "car.urdf"}, {name: "map.bin"}},
		codec.MetadataRecord{Name: "car", Values: map[string]string{"plate": "1"}},
		codec.MetadataRecord{Name: "car", Values: map[string]string{"plate": "2"}})
	left := "2 attachments of " + in + ": car.urdf, map.bin\n"
	for name, c := range map[string]struct {
		storage  string
		version  int
		output   string
		want     string
		metadata map[string]string
	}{
		"record": {output: "out.record", want: left + "metadata of the recording\n"},
		"sqlite3": {
			storage: "sqlite3", output: "out", want: left,
			metadata: map[string]string{"car/plate": "1", "car/plate (2)": "2"},
		},
		"old sqlite3": {storage: "sqlite3", version: 5, output: "out", want: left + "metadata of the recording\n"},
	} {
		t.Run(name, func(t *testing.T) {
			o := DefaultOptions()
			o.Storage, o.Version = c.storage, c.version
			output := filepath.Join(t.TempDir(), c.output)
			result, err := run(t, o, output, in)
			require.NoError(t, err)
			require.Contains(t, texts(result.Losses), c.want)
			_, info := readAll(t, output)
			if len(c.metadata)+len(info.Metadata) > 0 {
				require.Equal(t, c.metadata, info.Metadata)
			}

			o.Strict, o.Overwrite = true, true
			_, err = run(t, o, output, in)
			require.ErrorContains(t, err, "would lose 2 attachments of "+in)
		})
	}
}

// TestMergedMetadata keeps different values of one key from several recordings.
func TestMergedMetadata(t *testing.T) {
	var inputs []string
	for _, cause := range []string{"crash", "button"} {
		o := codec.CreateOptions{Metadata: map[string]string{"cause": cause, "car": "a"}}
		inputs = append(inputs, writeWith(t, "in.mcap", o, numbers(t, channel(t, "/n", "std_msgs/msg/UInt32"), 1)...))
	}
	output := filepath.Join(t.TempDir(), "out.mcap")
	_, err := run(t, DefaultOptions(), output, inputs...)
	require.NoError(t, err)
	_, info := readAll(t, output)
	require.Equal(t, map[string]string{"cause": "crash", "cause (2)": "button", "car": "a"}, info.Metadata)
}

// TestDamagedAttachment converts an attachment with a wrong checksum. Only --strict refuses it.
func TestDamagedAttachment(t *testing.T) {
	for _, n := range []int{0, 4} {
		in := writeExtras(t, max(n, 1), []attachment{{name: "car.urdf", data: "<robot/>"}})
		data, err := os.ReadFile(in)
		require.NoError(t, err)
		at := bytes.Index(data, []byte("<robot/>"))
		data[at] = '['
		if n == 0 { // the file ends behind the attachment
			data = data[:at+8+4]
		}
		require.NoError(t, os.WriteFile(in, data, 0o666))
		output := filepath.Join(t.TempDir(), "out.mcap")
		if n > 0 {
			o := DefaultOptions()
			o.Strict = true
			_, err = run(t, o, output, in)
			require.ErrorContains(t, err, "create "+output+": read "+in+`: attachment "car.urdf" at 0x`)
			require.ErrorContains(t, err, ": the checksum is wrong: some of its bytes may be damaged; "+
				"without --strict it is kept nevertheless")
			entries, err := os.ReadDir(filepath.Dir(output))
			require.NoError(t, err)
			require.Empty(t, entries)
		}
		var damage []error
		job := Job{Formats: formats.All(), Inputs: []string{in}, Output: output, Options: DefaultOptions()}
		job.Damaged = func(err error) { damage = append(damage, err) }
		_, err = job.Run(t.Context())
		require.NoError(t, err)
		require.NotEmpty(t, damage)
		require.ErrorContains(t, damage[0], `attachment "car.urdf"`)
		if n > 0 {
			require.Len(t, damage, 2)
			require.ErrorContains(t, damage[1], "the checksum of the data section is wrong")
		}
		got, _ := extras(t, output)
		require.Equal(t, []attachment{{name: "car.urdf", data: "[robot/>"}}, got)
	}
}

// TestInterruptedAttachment ends a conversion while an attachment is copied.
func TestInterruptedAttachment(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	o := codec.CreateOptions{}
	in := &recordings.Part{Original: &codec.Info{Attachments: []codec.Attachment{
		{Open: func(func(error)) io.Reader { return bytes.NewReader([]byte("data")) }},
	}}}
	attach(ctx, &recordings.Recording{Parts: []*recordings.Part{in}}, &o, 0, nil)
	_, err := io.ReadAll(o.Attachments[0].Open(nil))
	require.ErrorIs(t, err, context.Canceled)
}
