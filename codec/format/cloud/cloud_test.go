package cloud_test

import (
	"encoding/binary"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/codec/format/cloud"
	"tapedeck/codec/internal/codectest"
	"tapedeck/msgs"
	"tapedeck/msgs/builtin_interfaces"
	"tapedeck/msgs/sensor_msgs"
	"tapedeck/msgs/std_msgs"
)

func header(sec int32) std_msgs.Header {
	return std_msgs.Header{Stamp: builtin_interfaces.Time{Sec: sec}, FrameId: "lidar\n"}
}

func float(v float32) []byte { return binary.LittleEndian.AppendUint32(nil, math.Float32bits(v)) }

func join(parts ...[]byte) []byte { return slices.Concat(parts...) }

func xyz(more ...sensor_msgs.PointField) []sensor_msgs.PointField {
	return append([]sensor_msgs.PointField{{Name: "x", Datatype: 7, Count: 1}, {Name: "y", Offset: 4, Datatype: 7,
		Count: 1}, {Name: "z", Offset: 8, Datatype: 7}}, more...)
}

// TestFiles compares whole files.
func TestFiles(t *testing.T) {
	nan := float32(math.NaN())
	rows := func(fields []sensor_msgs.PointField, big bool, step, width, height, rowStep uint32,
		data ...byte) *sensor_msgs.PointCloud2 {
		return &sensor_msgs.PointCloud2{Header: header(1), Fields: fields, IsBigendian: big, PointStep: step,
			Width: width, Height: height, RowStep: rowStep, Data: data}
	}
	pcd := func(fields, size, kind, count, width, height, points string) string {
		return "# .PCD v0.7 - Point Cloud Data file format\nVERSION 0.7\nFIELDS " + fields + "\nSIZE " + size +
			"\nTYPE " + kind + "\nCOUNT " + count + "\nWIDTH " + width + "\nHEIGHT " + height +
			"\nVIEWPOINT 0 0 0 1 0 0 0\nPOINTS " + points + "\nDATA binary\n"
	}
	ply := func(n string, properties ...string) string {
		text := "ply\nformat binary_little_endian 1.0\ncomment frame_id lidar_\nelement vertex " + n + "\n"
		for _, p := range properties {
			text += "property " + p + "\n"
		}
		return text + "end_header\n"
	}
	almost := float32(3 * math.Sin(float64(float32(math.Pi))))
	rays := string(join(float(2), float(0), float(0), float(10), float(-3), float(almost), float(0), float(11)))
	f := []string{"float x", "float y", "float z"}
	for name, c := range map[string]struct {
		message  msgs.Message
		pcd, ply string
		lost     string // by PLY
	}{
		"padding in points and rows, fields out of order, colour": {
			message: rows(append([]sensor_msgs.PointField{{Name: "rgb", Offset: 16, Datatype: 7, Count: 1}}, xyz()...),
				false, 24, 1, 2, 30, join(float(1), float(2), float(3), []byte{9, 9, 9, 9, 30, 20, 10, 0, 9, 9, 9, 9},
					[]byte{7, 7, 7, 7, 7, 7}, float(4), float(nan), float(6), []byte{9, 9, 9, 9, 31, 21, 11,
						0, 8, 8, 8, 8})...),
			pcd: pcd("x y z rgb", "4 4 4 4", "F F F F", "1 1 1 1", "1", "2", "2") + string(join(float(1), float(2),
				float(3), []byte{30, 20, 10, 0}, float(4), float(nan), float(6), []byte{31, 21, 11, 0})),
			ply: ply("1", append(f, "uchar red", "uchar green", "uchar blue")...) +
				string(join(float(1), float(2), float(3), []byte{10, 20, 30})),
			lost: "points without finite coordinates",
		},
		"big-endian, several numbers, 64 bits": {
			message: rows([]sensor_msgs.PointField{{Name: "a b", Datatype: 3, Count: 2}, {Name: "big", Offset: 4,
				Datatype: 10, Count: 1}, {Name: "small", Offset: 12, Datatype: 9, Count: 1}, {Name: "normal_x",
				Offset: 20, Datatype: 2, Count: 0}}, true, 21, 1, 1, 21, 1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0, 5,
				255, 255, 255, 255, 255, 255, 255, 254, 77),
			pcd: pcd("a_b big small normal_x", "2 8 8 1", "I U I U", "2 1 1 1", "1", "1", "1") +
				"\x02\x01\x04\x03\x05\x00\x00\x00\x00\x00\x00\x00\xfe\xff\xff\xff\xff\xff\xff\xff\x4d",
			ply: ply("1", "short a_b_0", "short a_b_1", "double big", "double small", "uchar nx") +
				"\x02\x01\x04\x03\x00\x00\x00\x00\x00\x00\x14\x40\x00\x00\x00\x00\x00\x00\x00\xc0\x4d",
		},
		"integers that a double does not hold": {
			message: rows([]sensor_msgs.PointField{{Name: "u", Datatype: 10, Count: 1}, {Name: "i", Offset: 8,
				Datatype: 9, Count: 1}}, false, 16, 1, 1, 16, 0, 0, 0, 0, 0, 0, 0, 128, 255, 255, 255, 255, 255, 255, 0xdf, 255),
			pcd: pcd("u i", "8 8", "U I", "1 1", "1", "1", "1") +
				"\x00\x00\x00\x00\x00\x00\x00\x80\xff\xff\xff\xff\xff\xff\xdf\xff",
			ply: ply("1", "double u", "double i") +
				"\x00\x00\x00\x00\x00\x00\xe0\x43\x00\x00\x00\x00\x00\x00\x40\xc3",
			lost: "digits of integers beyond 2^53, which PLY has only as double",
		},
		"colour with alpha, names again": {
			message: rows([]sensor_msgs.PointField{{Name: "rgba", Datatype: 6, Count: 1}, {Name: "red", Offset: 4,
				Datatype: 2, Count: 1}, {Name: "red", Offset: 5, Datatype: 2, Count: 1}, {Offset: 6, Datatype: 1,
				Count: 1}}, false, 7, 1, 1, 0, 3, 2, 1, 4, 5, 6, 7),
			pcd: pcd("rgba red red_2 field", "4 1 1 1", "U U U I", "1 1 1 1", "1", "1", "1") +
				"\x03\x02\x01\x04\x05\x06\x07",
			ply: ply("1", "uchar red", "uchar green", "uchar blue", "uchar alpha", "uchar red_2", "uchar red_2_2",
				"char field") + "\x01\x02\x03\x04\x05\x06\x07",
		},
		"empty": {
			message: rows(xyz(), false, 12, 0, 1, 0),
			pcd:     pcd("x y z", "4 4 4", "F F F", "1 1 1", "0", "1", "0"),
			ply:     ply("0", f...),
		},
		"scan": {
			message: &sensor_msgs.LaserScan{Header: header(1), AngleIncrement: math.Pi, RangeMin: 1, RangeMax: 5,
				Ranges: []float32{2, 3, 0.5, 6, nan, float32(math.Inf(1))}, Intensities: []float32{10, 11, 0, 0, 0, 0}},
			pcd: pcd("x y z intensity", "4 4 4 4", "F F F F", "1 1 1 1", "2", "1", "2") + rays,
			ply: ply("2", append(f, "float intensity")...) + rays,
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, format := range []codec.Format{cloud.PCD, cloud.PLY} {
				topics := codectest.Topics{}
				path := filepath.Join(t.TempDir(), "out")
				lost, refused := codectest.Export(t, format, path, topics.Message(t, "/top/lidar", 5, c.message))
				require.Empty(t, refused)
				want, loss := c.pcd, ""
				if format.Name == "ply" {
					want, loss = c.ply, c.lost
				}
				if name == "scan" {
					loss = "all of laser scans but points and intensities"
				}
				require.Equal(t, loss != "", len(lost) == 1)
				for _, l := range lost {
					require.Equal(t, loss, l.What)
				}
				files := codectest.Tree(t, path)
				require.Len(t, files, 2)
				require.Equal(t, want, files["top_lidar/1.000000000."+format.Name])
				require.Contains(t, files["top_lidar/index.csv"], "file,header_stamp,log_time,publish_time,frame_id,"+
					"width,height,fields\n1.000000000."+format.Name+",1000000000,5,,\"lidar\n\",")
			}
		})
	}
}

// TestHostileClouds checks that invalid clouds are refused, and that the next message is written.
func TestHostileClouds(t *testing.T) {
	topics := codectest.Topics{}
	var messages []codec.Message
	add := func(change func(c *sensor_msgs.PointCloud2)) {
		c := &sensor_msgs.PointCloud2{Header: header(1), Fields: xyz(), PointStep: 12, Width: 2, Height: 1, RowStep: 24,
			Data: make([]byte, 24)}
		change(c)
		messages = append(messages, topics.Message(t, "/points", 1, c))
	}
	wants := []string{}
	for _, c := range []struct {
		want   string
		change func(c *sensor_msgs.PointCloud2)
	}{
		{"exceeds the point of 12 bytes", func(c *sensor_msgs.PointCloud2) { c.Fields[2].Offset = 9 }},
		{"exceeds the point", func(c *sensor_msgs.PointCloud2) { c.Fields[2].Offset = math.MaxUint32 }},
		{"exceeds the point", func(c *sensor_msgs.PointCloud2) { c.Fields[0].Count = math.MaxUint32 }},
		{"exceeds the point of 0 bytes", func(c *sensor_msgs.PointCloud2) { c.PointStep = 0 }},
		{"unknown datatype 0", func(c *sensor_msgs.PointCloud2) { c.Fields[0].Datatype = 0 }},
		{"unknown datatype 12", func(c *sensor_msgs.PointCloud2) { c.Fields[0].Datatype = 12 }},
		{"no fields", func(c *sensor_msgs.PointCloud2) { c.Fields = nil }},
		{"24 bytes of data cannot hold 4294967295×1", func(c *sensor_msgs.PointCloud2) { c.Width = math.MaxUint32 }},
		{"cannot hold 2×4294967295", func(c *sensor_msgs.PointCloud2) { c.Height = math.MaxUint32 }},
		{"in rows of 23", func(c *sensor_msgs.PointCloud2) { c.Height, c.RowStep = 2, 23 }},
		{"in rows of 4294967295", func(c *sensor_msgs.PointCloud2) { c.Height, c.RowStep = 2, math.MaxUint32 }},
		{"cannot hold 3×1 points", func(c *sensor_msgs.PointCloud2) { c.Width = 3 }},
		{"numbers of", func(c *sensor_msgs.PointCloud2) {
			for range 10 {
				c.Fields = append(c.Fields, xyz()...)
			}
		}},
		{"4097 numbers", func(c *sensor_msgs.PointCloud2) {
			c.PointStep, c.Fields = 1<<20, []sensor_msgs.PointField{{Name: "a", Datatype: 1, Count: 4097}}
		}},
	} {
		add(c.change)
		wants = append(wants, c.want)
	}
	add(func(*sensor_msgs.PointCloud2) {})
	path := filepath.Join(t.TempDir(), "out")
	_, refused := codectest.Export(t, cloud.PCD, path, messages...)
	require.Len(t, refused, len(wants))
	for i, want := range wants {
		require.Contains(t, refused[i], want)
	}
	require.Len(t, slices.Collect(maps.Keys(codectest.Tree(t, path))), 2)
	require.ErrorContains(t, cloud.PLY.Accepts(&codec.Channel{Type: "sensor_msgs/msg/Imu"}), "neither point clouds")
}

// FuzzClouds writes messages of random bytes, and checks that files are not much larger than messages.
func FuzzClouds(f *testing.F) {
	topics := codectest.Topics{}
	for _, m := range []codec.Message{
		topics.Message(f, "/a", 1, &sensor_msgs.PointCloud2{Header: header(1), Fields: xyz(), PointStep: 12, Width: 2,
			Height: 1, RowStep: 24, Data: make([]byte, 24)}),
		topics.Message(f, "/b", 1, &sensor_msgs.LaserScan{RangeMax: 9, Ranges: []float32{1, 2}}),
	} {
		f.Add(m.Data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, format := range []codec.Format{cloud.PCD, cloud.PLY} {
			path := filepath.Join(t.TempDir(), "out")
			w, err := format.Create(path, codec.CreateOptions{})
			require.NoError(t, err)
			for _, c := range topics {
				_ = w.Write(&codec.Message{Channel: c, LogTime: 1, Data: data})
			}
			require.NoError(t, w.Close())
			for name, content := range codectest.Tree(t, path) {
				require.True(t, strings.HasSuffix(name, ".csv") || len(content) < 1000+len(data)*10*9+4096*80, name)
			}
		}
	})
}

// TestReader reads coordinates of all datatypes, in both byte orders.
func TestReader(t *testing.T) {
	for datatype, data := range map[uint8][]byte{
		1: {0xfd}, 3: {0xfd, 0xff}, 5: {0xfd, 0xff, 0xff, 0xff}, 9: {0xfd, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
		7: float(-3), 8: binary.LittleEndian.AppendUint64(nil, math.Float64bits(-3)),
		2: {253}, 4: {253, 0}, 6: {253, 0, 0, 0}, 10: {253, 0, 0, 0, 0, 0, 0, 0},
	} {
		for _, big := range []bool{false, true} {
			if big {
				data = slices.Clone(data)
				slices.Reverse(data)
			}
			payload, err := cdr.Marshal(&sensor_msgs.PointCloud2{Fields: []sensor_msgs.PointField{{Name: "x",
				Datatype: datatype, Count: 1}}, IsBigendian: big, PointStep: uint32(len(data)), Width: 1, Height: 1,
				Data: data})
			require.NoError(t, err)
			r := cloud.NewReader("sensor_msgs/msg/PointCloud2")
			n, err := r.Read(payload)
			require.NoError(t, err)
			require.Equal(t, 1, n)
			want := -3.0
			if datatype%2 == 0 && datatype != 8 {
				want = 253
			}
			r.Each(func(x, y, _, _ float64) {
				require.Equal(t, want, x, datatype)
				require.True(t, math.IsNaN(y))
			})
		}
	}
}
