package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	foxglove "github.com/foxglove/mcap/go/mcap"
	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/format/mcap"
	"tapedeck/codec/format/record"
	"tapedeck/codec/format/rosbag"
	"tapedeck/codec/format/rosbag2"
	"tapedeck/codec/format/session"
	"tapedeck/codec/training/align"
	"tapedeck/codec/training/episode"
	"tapedeck/test/samples/generate"
)

// rottenRecordings returns the recordings of TestRot.
func rottenRecordings() []rotten {
	var list []rotten
	for _, compression := range []string{"none", "lz4", "zstd"} {
		list = append(list, rotten{name: "mcap " + compression, path: "drive.mcap", regions: mcapRegions,
			write: writeRotMCAP(compression)})
	}
	list = append(list,
		rotten{name: "mcap without sums", path: "drive.mcap", regions: mcapRegions, write: writeUnsummedMCAP,
			messages: []string{"chunk", "summary"},
			rest:     []string{"attachment", "metadata", "summary"}},
		rotten{name: "mcap without chunks", path: "drive.mcap", regions: mcapRegions, write: writeUnchunkedMCAP,
			plain: []string{"message", "message length"}},
		rotten{name: "record", path: "drive.record", regions: recordRegions, plain: []string{"chunk body"},
			write: func(t *testing.T, path string) {
				writeRot(t, path, record.Format, rotChannels, codec.CreateOptions{})
			}},
		rotten{name: "record of Apollo", path: "drive.record", regions: recordRegions, write: writeRotApollo,
			messages: []string{"chunk body"}, most: 3000},
	)
	for _, compression := range []string{"none", "lz4", "bz2"} {
		list = append(list, rotten{name: "bag " + compression, path: "drive.bag", regions: bagRegions,
			write: func(t *testing.T, path string) {
				writeRot(t, path, rosbag.Format, rotChannels1, codec.CreateOptions{Compression: compression})
			}})
	}
	list = append(list, rotten{name: "bag of ROS", path: "drive.bag", regions: bagRegions, write: writeForeignBag,
		messages: []string{"chunk"}})
	for _, o := range []rosbag2.Options{
		{Storage: "sqlite3"}, {Storage: "sqlite3", CompressionMode: "message"},
		{Storage: "sqlite3", CompressionMode: "file"},
		{Storage: "mcap"}, {Storage: "mcap", CompressionMode: "file"},
	} {
		name := strings.TrimSpace(fmt.Sprintf("rosbag2 %s %s", o.Storage, o.CompressionMode))
		r := rotten{name: name, path: "drive", regions: bag2Regions, rest: []string{"metadata.yaml"},
			write: func(t *testing.T, path string) {
				c := codec.CreateOptions{Metadata: rotMetadata}
				if o.CompressionMode != "" {
					c.Compression = "zstd"
				}
				writeRot(t, path, o.Format(), rotChannels, c)
			}}
		if o.Storage == "sqlite3" && o.CompressionMode != "file" {
			r.messages, r.rest = []string{"leaf table cells"}, append(r.rest, "leaf table cells")
		}
		list = append(list, r)
	}
	list = append(list,
		rotten{name: "carla", path: "drive.log", regions: carlaRegions, write: writeRotCARLA,
			messages: []string{"header", "packet head", "packet"}, rest: []string{"header"}},
		rotten{name: "ulog", path: "flight.ulg", regions: ulogRegions, write: writeRotULog,
			messages: []string{"header", "message head", "A", "D", "F", "L", "P"},
			rest:     []string{"message head", "F", "I"}},
		rotten{name: "tlog", path: "flight.tlog", regions: tlogRegions, write: writeRotTlog,
			messages: []string{"time", "message id"}},
		rotten{name: "session", path: "20261121_082214", regions: namedRegion, write: writeRotSession,
			messages: []string{"arm_0/joints.csv"}, rest: []string{"metadata.json"}, plain: []string{"pictures"}},
	)
	for _, r := range []rotten{
		{name: "hdf5", path: "drive.hdf5", messages: []string{"file"}, rest: []string{"file"}},
		{name: "lerobot", path: "drive", messages: []string{"data/chunk-000/file-000.parquet", "meta/info.json",
			"meta/tapedeck.json", "meta/episodes/chunk-000/file-000.parquet"},
			rest: []string{"meta/info.json", "meta/tapedeck.json", "meta/episodes/chunk-000/file-000.parquet"}},
	} {
		r.regions, r.most = namedRegion, 60 // reading takes long
		r.write = func(t *testing.T, path string) {
			in := filepath.Join(t.TempDir(), "20261121_082214")
			writeRotSession(t, in)
			_, stderr, err := run(t, in, path, "--to", r.name)
			require.NoError(t, err, stderr)
		}
		list = append(list, r)
	}
	return list
}

var rotMetadata = map[string]string{"vehicle": "7"}

// rotDefinitions has small types with their definitions.
var rotDefinitions = map[string]string{"Mode": "string mode\n", "Speed": "float64 speed\nstring unit\n"}

// rotChannels returns the channels of writeRot.
func rotChannels() []*codec.Channel {
	var channels []*codec.Channel
	for _, name := range []string{"Mode", "Speed"} {
		channels = append(channels, &codec.Channel{Topic: "/" + strings.ToLower(name), Type: "demo_msgs/msg/" + name,
			Encoding: codec.EncodingCDR, TypeHash: "RIHS01_" + strings.Repeat("5a", 32),
			QoS:    []codec.QoS{codec.DefaultQoS()},
			Schema: codec.Schema{Encoding: codec.SchemaROS2Msg, Data: []byte(rotDefinitions[name])}})
	}
	return channels
}

// rotChannels1 returns the channels for ROS 1.
func rotChannels1() []*codec.Channel {
	channels := rotChannels()
	for _, c := range channels {
		c.Type = strings.Replace(c.Type, "/msg/", "/", 1)
		c.Encoding, c.Schema.Encoding, c.TypeHash, c.QoS = codec.EncodingROS1, codec.SchemaROS1Msg, "", nil
	}
	return channels
}

// writeRot writes a recording with some messages on two channels.
func writeRot(t *testing.T, path string, f codec.Format, newChannels func() []*codec.Channel, o codec.CreateOptions) {
	o.ChunkSize = 200
	w, err := f.Create(path, o)
	require.NoError(t, err)
	channels := newChannels()
	ros1 := channels[0].Encoding == codec.EncodingROS1
	text := func(b []byte, text string) []byte {
		if !ros1 {
			text += "\x00"
		}
		return append(binary.LittleEndian.AppendUint32(b, uint32(len(text))), text...)
	}
	for i := range int64(12) {
		at := 1_700_000_000e9 + i*100e6
		var data []byte
		if !ros1 {
			data = []byte{0, 1, 0, 0}
		}
		c := channels[1]
		if i%3 == 0 {
			c, data = channels[0], text(data, "automatic driving")
		} else {
			data = binary.LittleEndian.AppendUint64(data, math.Float64bits(float64(i)+0.125))
			data = text(data, "m/s")
		}
		require.NoError(t, w.Write(&codec.Message{Channel: c, LogTime: at, PublishTime: at - 2e6, Data: data}))
	}
	require.NoError(t, w.Close())
}

// writeRotMCAP returns a function that writes an MCAP file with everything that such files hold.
func writeRotMCAP(compression string) func(t *testing.T, path string) {
	return func(t *testing.T, path string) {
		writeRot(t, path, mcap.Format, rotChannels, codec.CreateOptions{Compression: compression, Metadata: rotMetadata,
			Records: []codec.MetadataRecord{{Name: "car", Values: map[string]string{"driver": "Ada"}}},
			Attachments: []codec.Attachment{{Name: "calibration.yaml", MediaType: "application/yaml", LogTime: 5,
				Size: 9, Open: func(func(error)) io.Reader { return bytes.NewReader([]byte("fx: 517.3")) }}}})
	}
}

// writeUnsummedMCAP writes an MCAP file whose checksums are 0, as libmcap can do.
func writeUnsummedMCAP(t *testing.T, path string) {
	writeRotMCAP("none")(t, path)
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	eachMCAP(b, func(op byte, at, size int) {
		switch op {
		case 6:
			clear(b[at+9+24 : at+9+28])
		case 9:
			clear(b[at+9+size-4 : at+9+size])
		case 2:
			clear(b[at+9+16 : at+9+20])
		case 15:
			clear(b[at+9 : at+9+4])
		}
	})
	require.NoError(t, os.WriteFile(path, b, 0o666))
}

// writeUnchunkedMCAP writes an MCAP file without chunks, but with a checksum of all messages.
func writeUnchunkedMCAP(t *testing.T, path string) {
	var b bytes.Buffer
	w, err := foxglove.NewWriter(&b, &foxglove.WriterOptions{IncludeCRC: true})
	require.NoError(t, err)
	require.NoError(t, w.WriteHeader(&foxglove.Header{Profile: "ros2"}))
	require.NoError(t, w.WriteMetadata(&foxglove.Metadata{Name: "car", Metadata: map[string]string{"driver": "Ada"}}))
	c := rotChannels()[0]
	require.NoError(t, w.WriteSchema(&foxglove.Schema{ID: 1, Name: c.Type, Encoding: c.Schema.Encoding,
		Data: c.Schema.Data}))
	require.NoError(t, w.WriteChannel(&foxglove.Channel{SchemaID: 1, Topic: c.Topic, MessageEncoding: c.Encoding}))
	for i := range uint64(3) {
		require.NoError(t, w.WriteMessage(&foxglove.Message{LogTime: 1_700_000_000e9 + i*1e9,
			Data: []byte("\x00\x01\x00\x00\x07\x00\x00\x00manual\x00")}))
	}
	require.NoError(t, w.Close())
	require.NoError(t, os.WriteFile(path, b.Bytes(), 0o666))
}

// eachMCAP calls do with the opcode, the offset and the size of each record.
func eachMCAP(b []byte, do func(op byte, at, size int)) {
	const magic = 8
	for at := magic; at+9 < len(b)-magic; {
		size := int(binary.LittleEndian.Uint64(b[at+1:]))
		do(b[at], at, size)
		at += 9 + size
	}
}

// mcapRegions divides an MCAP file by its records.
func mcapRegions(_ *testing.T, _ string, b []byte) []region {
	list := []region{{8, "magic"}}
	names := map[byte]string{1: "header", 2: "footer", 3: "schema", 4: "channel", 5: "message", 6: "chunk",
		7: "message index", 9: "attachment", 12: "metadata", 15: "data end"}
	summary := false
	eachMCAP(b, func(op byte, at, size int) {
		name, content := names[op], at+9
		if summary && op != 2 {
			name = "summary"
		}
		summary = summary || op == 15
		list = append(list, region{content, name + " length"})
		if name == "chunk" {
			head := content + 40 + int(binary.LittleEndian.Uint32(b[content+28:]))
			list = append(list, region{content + 16, "chunk times"}, region{head, "chunk head"})
		}
		list = append(list, region{content + size, name})
	})
	return append(list, region{len(b), "magic"})
}

// writeRotApollo writes a record with Protocol Buffers, as Apollo does: without checksums.
func writeRotApollo(t *testing.T, path string) {
	whole := generate.Path(t, "apollo/apollo_cpp_sensors.record")
	_, stderr, err := run(t, whole, path, "--end", "0.05", "-t", "/apollo/canbus/chassis,/apollo/localization/pose")
	require.NoError(t, err, stderr)
}

// recordRegions divides an Apollo record by its sections.
func recordRegions(_ *testing.T, _ string, b []byte) []region {
	var list []region
	names := []string{"header", "chunk header", "chunk body", "index", "channel"}
	for at := 0; at < len(b); {
		name, size := names[b[at]], int(binary.LittleEndian.Uint64(b[at+8:]))
		list = append(list, region{at + 4, name + " type"}, region{at + 8, unusedRegion},
			region{at + 16, name + " size"}, region{at + 16 + size, name})
		if at == 0 {
			size = 2048
			list = append(list, region{at + 16 + size, unusedRegion})
		}
		at += 16 + size
	}
	return list
}

// writeForeignBag writes a bag without tapedeck's checksums.
func writeForeignBag(t *testing.T, path string) {
	writeRot(t, path, rosbag.Format, rotChannels1, codec.CreateOptions{Compression: "none"})
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	b = bytes.ReplaceAll(b, []byte("tapedeck_crc="), []byte("unknown_name="))
	require.NoError(t, os.WriteFile(path, b, 0o666))
}

// bagRegions divides a bag of ROS 1 by its records.
func bagRegions(t *testing.T, _ string, b []byte) []region {
	list := []region{{13, "magic"}}
	names := map[byte]string{3: "bag header", 4: "index", 5: "chunk", 6: "chunk info", 7: "connection"}
	for at := 13; at < len(b); {
		header := int(binary.LittleEndian.Uint32(b[at:]))
		fields := b[at+4 : at+4+header]
		op := bytes.Index(fields, []byte("op="))
		require.GreaterOrEqual(t, op, 0)
		name := names[fields[op+3]]
		at += 4 + header
		list = append(list, region{at, name + " fields"})
		size := int(binary.LittleEndian.Uint32(b[at:]))
		at += 4 + size
		list = append(list, region{at - size, name + " length"})
		if name == "bag header" {
			name = unusedRegion
		}
		list = append(list, region{at, name})
	}
	return list
}

// bag2Regions divides the files of a bag of ROS 2.
func bag2Regions(t *testing.T, name string, b []byte) []region {
	switch filepath.Ext(name) {
	case ".mcap":
		return mcapRegions(t, name, b)
	case ".db3":
		return sqliteRegions(b)
	}
	return []region{{len(b), name}}
}

// sqliteRegions divides a database of SQLite.
func sqliteRegions(b []byte) []region {
	const page = 4096
	list := []region{{100, "database header"}}
	for at := 0; at < len(b); at += page {
		head := at
		if at == 0 {
			head = 100
		}
		cells := int(binary.BigEndian.Uint16(b[head+3:]))
		content := int(binary.BigEndian.Uint16(b[head+5:]))
		kind := map[byte]string{2: "interior index", 5: "interior table", 10: "leaf index", 13: "leaf table"}[b[head]]
		list = append(list, region{head + 8, kind + " head"}, region{head + 8 + 2*cells, kind + " pointers"},
			region{at + content, unusedRegion}, region{at + page, kind + " cells"})
	}
	return list
}

// writeRotCARLA writes the beginning of a log of CARLA.
func writeRotCARLA(t *testing.T, path string) {
	whole := filepath.Join(t.TempDir(), "whole.log")
	require.NoError(t, generate.Drive(whole))
	_, stderr, err := run(t, whole, path, "--end", "0.3")
	require.NoError(t, err, stderr)
}

// carlaRegions divides a log of CARLA by its packets.
func carlaRegions(_ *testing.T, _ string, b []byte) []region {
	at := 2 + 2 + int(binary.LittleEndian.Uint16(b[2:])) + 8
	at += 2 + int(binary.LittleEndian.Uint16(b[at:]))
	list := []region{{at, "header"}}
	for at < len(b) {
		size := int(binary.LittleEndian.Uint32(b[at+1:]))
		list = append(list, region{at + 5, "packet head"}, region{at + 5 + size, "packet"})
		at += 5 + size
	}
	return list
}

// writeRotULog writes a log of PX4.
func writeRotULog(t *testing.T, path string) {
	l := generate.NewULog(5_000_000).Add('B', make([]byte, 40))
	l.Add('F', "battery_status:uint64_t timestamp;float voltage_v;bool connected;uint8_t[3] _padding0;")
	l.Keyed('I', "", "char[3] sys_name", "PX4").Keyed('P', "", "int32_t SYS_AUTOSTART", int32(4001))
	l.Add('A', uint8(0), uint16(0), "battery_status")
	for i := range uint64(10) {
		l.Add('D', uint16(0), 5_000_000+i*100_000, float32(16.5)-float32(i)/8, true)
	}
	l.Add('L', uint8('6'), uint64(6_000_000), "[commander] Landed")
	require.NoError(t, os.WriteFile(path, l.Bytes(), 0o666))
}

// ulogRegions divides a log of PX4 by its messages.
func ulogRegions(_ *testing.T, _ string, b []byte) []region {
	list := []region{{16, "header"}}
	for at := 16; at < len(b); {
		size := int(binary.LittleEndian.Uint16(b[at:]))
		list = append(list, region{at + 3, "message head"}, region{at + 3 + size, string(b[at+2])})
		at += 3 + size
	}
	return list
}

// writeRotTlog writes the beginning of a telemetry log.
func writeRotTlog(t *testing.T, path string) {
	b, err := os.ReadFile(generate.Path(t, "mavlink/synthetic_px4_v2.tlog"))
	require.NoError(t, err)
	at := 0
	for at < 1500 {
		at += 8 + 12 + int(b[at+9])
	}
	require.NoError(t, os.WriteFile(path, b[:at], 0o666))
}

// tlogRegions divides a telemetry log by its frames.
func tlogRegions(_ *testing.T, _ string, b []byte) []region {
	var list []region
	for at := 0; at < len(b); {
		size := 12 + int(b[at+9])
		list = append(list, region{at + 8, "time"}, region{at + 15, "frame"}, region{at + 18, "message id"},
			region{at + 8 + size, "frame"})
		at += 8 + size
	}
	return list
}

// namedRegion returns one region, with the name of the file in its folder. All pictures are one region.
func namedRegion(_ *testing.T, name string, b []byte) []region {
	switch {
	case name == ".":
		name = "file"
	case filepath.Ext(name) == ".png":
		name = "pictures"
	}
	return []region{{len(b), name}}
}

// writeRotSession writes a session with a camera and an arm.
func writeRotSession(t *testing.T, path string) {
	const begin = int64(1_764_000_000e9)
	e := &episode.Episode{Name: filepath.Base(path), Start: begin, End: begin + 500e6}
	c := &episode.Camera{}
	c.Name = "camera_0"
	var pictures rotPictures
	joint := &align.Vector{Name: "arm_0/joint"}
	for _, name := range []string{"joint_0", "joint_1"} {
		joint.Columns = append(joint.Columns, align.Column{Name: name, Unit: "rad", Interp: align.Linear})
	}
	for i := range 5 {
		var b bytes.Buffer
		m := image.NewGray(image.Rect(0, 0, 8, 8))
		m.Pix[i] = 255
		require.NoError(t, png.Encode(&b, m))
		pictures = append(pictures, b.Bytes())
		at := begin + int64(i)*100e6
		c.Stamps, joint.Stamps = append(c.Stamps, at), append(joint.Stamps, at)
		joint.Values = append(joint.Values, float64(i)/8, float64(i)/4)
	}
	c.Open = func() (episode.Frames, error) { return pictures, nil }
	e.Cameras = append(e.Cameras, c)
	e.Arms = append(e.Arms, &episode.Arm{Name: "arm_0", Streams: episode.Streams{episode.Joint: joint}})
	require.NoError(t, session.Write(path, e, session.Options{}))
}

// rotPictures are the frames of a camera, as PNGs.
type rotPictures [][]byte

func (p rotPictures) Frame(i int) (episode.Frame, error) {
	return episode.Frame{Encoding: "png", Data: p[i]}, nil
}
func (rotPictures) Close() error { return nil }
