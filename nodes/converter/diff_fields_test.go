package main

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/msgs/builtin_interfaces"
	"tapedeck/msgs/geometry_msgs"
	"tapedeck/msgs/std_msgs"
	"tapedeck/nodes/internal/diff"
)

var points = &codec.Channel{Topic: "/points", Type: "geometry_msgs/msg/PointStamped", Encoding: codec.EncodingCDR}

// pointAt returns a message with the stamp and the log time ns. change may be nil.
func pointAt(t *testing.T, c *codec.Channel, ns int64, x float64,
	change func(*geometry_msgs.PointStamped)) codec.Message {
	m := geometry_msgs.PointStamped{
		Header: std_msgs.Header{Stamp: builtin_interfaces.Time{Nanosec: uint32(ns)}, FrameId: "map"},
		Point:  geometry_msgs.Point{X: x},
	}
	if change != nil {
		change(&m)
	}
	data, err := cdr.Marshal(&m)
	require.NoError(t, err)
	return codec.Message{Channel: c, LogTime: ns, Data: data}
}

func TestDiffOfFields(t *testing.T) {
	// drive returns 20 messages, one each 1000 ns from start on. x is 0, 100 and so on, plus off.
	drive := func(start int64, off float64, change func(*geometry_msgs.PointStamped)) []codec.Message {
		var all []codec.Message
		for i := range int64(20) {
			all = append(all, pointAt(t, points, start+i*1000, 100*float64(i)+off, change))
		}
		return all
	}
	base := drive(1000, 0, nil)
	offset := drive(1000, 1e-6, nil)
	bigEndian := func() []codec.Message {
		all := slices.Clone(base)
		data := slices.Clone(all[3].Data)
		data[1] = 0
		slices.Reverse(data[4:8])
		slices.Reverse(data[8:12])
		slices.Reverse(data[12:16])
		for at := 20; at < 44; at += 8 { // behind "map"
			slices.Reverse(data[at : at+8])
		}
		all[3].Data = data
		return all
	}()
	otherStamps := drive(1000, 0, func(m *geometry_msgs.PointStamped) { m.Header.Stamp.Nanosec += 300 })
	otherFrames := drive(1000, 0, func(m *geometry_msgs.PointStamped) { m.Header.FrameId = "odom" })
	otherPadding := drive(1000, 0, func(m *geometry_msgs.PointStamped) { m.Header.FrameId = "odom" })
	for _, m := range otherPadding {
		m.Data[22] = 0x17 // between "odom" and x
	}
	nan := func(bits uint64) []codec.Message {
		return drive(1000, 0, func(m *geometry_msgs.PointStamped) { m.Point.Z = math.Float64frombits(bits) })
	}
	zero := func(sign int) []codec.Message {
		return drive(1000, 0, func(m *geometry_msgs.PointStamped) { m.Point.Z = math.Copysign(0, float64(sign)) })
	}
	withoutZ := *points
	withoutZ.Schema = codec.Schema{Encoding: codec.SchemaROS2Msg, Data: []byte("Header header\nP point\n" +
		"===\nMSG: std_msgs/Header\nbuiltin_interfaces/Time stamp\nstring frame_id\n===\nMSG: " +
		"builtin_interfaces/Time\nint32 sec\nuint32 nanosec\n===\nMSG: geometry_msgs/P\nfloat64 x\nfloat64 y")}
	removeZ := func(messages []codec.Message) []codec.Message {
		messages = slices.Clone(messages)
		for i := range messages {
			messages[i].Channel, messages[i].Data = &withoutZ, messages[i].Data[:len(messages[i].Data)-8]
		}
		return messages
	}

	stringZ := *points // z is a string
	stringZ.Schema = codec.Schema{Encoding: codec.SchemaROS2Msg, Data: append(
		slices.Clone(withoutZ.Schema.Data), "\nstring z"...)}
	nanText := []codec.Message{base[0]}
	nanText[0].Channel, nanText[0].Data = &stringZ, append(slices.Clone(base[0].Data[:len(base[0].Data)-8]),
		"\x04\x00\x00\x00NaN\x00"...)

	tests := map[string]struct {
		a, b []codec.Message
		args []string
		same bool
		want []string // texts in the output, the verdict last
	}{
		"a number differs": {
			a: base, b: offset,
			want: []string{"  message 1 differs, log times 0.000002000 and 0.000002000, 1 field: point.x is 100 in " +
				"A, 100.000001 in B\n", "different: 1 of 1 topic, 20 messages changed\n"},
		},
		"byte order with --bytes": {
			a: base, b: bigEndian, args: []string{"--bytes"},
			want: []string{"first at byte 1: 0x01 and 0x00\n", "different: 1 of 1 topic, 1 message changed\n"},
		},
		"byte order": {
			a: base, b: bigEndian, same: true,
			want: []string{"note: the same field by field, though not byte by byte: 1 message\n",
				"identical: 1 topic, 20 messages\n"},
		},
		"padding": {
			a: otherFrames, b: otherPadding, same: true,
			want: []string{"identical: 1 topic, 20 messages\n"},
		},
		"padding with --bytes": {
			a: otherFrames, b: otherPadding, args: []string{"--bytes"},
			want: []string{"first at byte 22: 0x00 and 0x17\n", "different: 1 of 1 topic, 20 messages changed\n"},
		},
		"byte order with --as ros2": {
			a: base, b: bigEndian, args: []string{"--as", "ros2"}, same: true,
			want: []string{"note: the same field by field, though not byte by byte: 1 message\n",
				"identical: 1 topic, 20 messages\n"},
		},
		"within the tolerance": {
			a: base, b: offset, args: []string{"--tolerance", "1e-5"}, same: true,
			want: []string{
				"note: the same field by field, though not byte by byte: 20 messages\n",
				"note: the largest difference within the tolerance is 1e-06, at point.x of message ",
				"the same as far as it was asked for: 1 topic, 20 messages\n",
			},
		},
		"beyond the tolerance": {
			a: base, b: offset, args: []string{"--tolerance", "1e-7"},
			want: []string{"different: 1 of 1 topic, 20 messages changed\n"},
		},
		"within a relative tolerance except near 0": {
			a: base, b: offset, args: []string{"--tolerance", "1e-6%"},
			want: []string{"point.x is 0 in A, 1e-06 in B\n", "different: 1 of 1 topic, 1 message changed\n"},
		},
		"within the tolerance of the field": {
			a: base, b: offset, args: []string{"--tolerance", "/points:point=1e-5"}, same: true,
			want: []string{"20 messages\n"},
		},
		"tolerance of another field only": {
			a: base, b: offset, args: []string{"--tolerance", "point.y=1e-5,/else:x=1", "--allow-unmatched"},
			want: []string{"different: 1 of 1 topic, 20 messages changed\n"},
		},
		"the last tolerance counts": {
			a: base, b: offset, args: []string{"--tolerance", "1e-5", "--tolerance", "x=0"},
			want: []string{"different: 1 of 1 topic, 20 messages changed\n"},
		},
		"stamps differ": {
			a: base, b: otherStamps,
			want: []string{"1 field: header.stamp is 0.000001000 in A, 0.000001300 in B\n",
				"different: 1 of 1 topic, 20 messages changed\n"},
		},
		"stamps within their tolerance": {
			a: base, b: otherStamps, args: []string{"--tolerance", "header.stamp=3.01e-7"}, same: true,
			want: []string{"20 messages\n"},
		},
		"the differing field is ignored": {
			a: base, b: otherFrames, args: []string{"--ignore-fields", "stamp,header.frame_id"}, same: true,
			want: []string{"20 messages\n"},
		},
		"another field is ignored": {
			a: base, b: otherFrames, args: []string{"--ignore-fields", "/else:header,point", "--allow-unmatched"},
			want: []string{"1 field: header.frame_id is \"map\" in A, \"odom\" in B\n",
				"different: 1 of 1 topic, 20 messages changed\n"},
		},
		"NaN of other bits with --as ros2": {
			a: nan(0x7ff8000000000000), b: nan(0x7ff8000000000001), args: []string{"--as", "ros2"}, same: true,
			want: []string{"20 messages\n"},
		},
		"NaN of other bits": {
			a: nan(0x7ff8000000000000), b: nan(0xfff8000000000001), same: true,
			want: []string{"not byte by byte: 20 messages\n", "identical: 1 topic, 20 messages\n"},
		},
		"NaN and a text": {
			a: nan(0x7ff8000000000000)[:1], b: nanText, args: []string{"--as", "ros2"},
			want: []string{"point.z is NaN in A, \"NaN\" in B\n", "different: 1 of 1 topic, 1 message changed\n"},
		},
		"-0 and 0": {
			a: zero(1), b: zero(-1), same: true,
			want: []string{"not byte by byte: 20 messages\n", "identical: 1 topic, 20 messages\n"},
		},
		"-0 and 0 with --as raw": {
			a: zero(1), b: zero(-1), args: []string{"--as", "raw"},
			want: []string{"different: 1 of 1 topic, 20 messages changed\n"},
		},
		"NaN and a number": {
			a: nan(0x7ff8000000000000), b: base, args: []string{"--tolerance", "1e300"},
			want: []string{"1 field: point.z is NaN in A, 0 in B\n", "different: 1 of 1 topic, 20 messages changed\n"},
		},
		"infinity and a number": {
			a: nan(0x7ff0000000000000), b: base, args: []string{"--tolerance", "100%"},
			want: []string{"1 field: point.z is +Inf in A, 0 in B\n", "different: 1 of 1 topic, 20 messages changed\n"},
		},
		"messages missing, others within the tolerance": {
			a: base, b: slices.Delete(slices.Clone(offset), 7, 9), args: []string{"--tolerance", "1e-5"},
			want: []string{"20 messages in A, 18 in B\n  2 missing in B at index 7, ",
				"different: 1 of 1 topic, 2 messages missing in B\n"},
		},
		"messages missing and changed, others within the tolerance": {
			a: slices.Delete(slices.Clone(base), 4, 5), b: slices.Concat(offset[:7], otherFrames[7:8], offset[8:]),
			args: []string{"--tolerance", "1e-5"},
			want: []string{"  1 only in B at index 4, ", "  message 6 differs from message 7 of B, ",
				"header.frame_id is \"map\" in A, \"odom\" in B\n",
				"different: 1 of 1 topic, 1 message changed, 1 message only in B\n"},
		},
		"messages missing at the end, others at other times": {
			a: base, b: drive(1e6, 1e-6, func(m *geometry_msgs.PointStamped) {
				m.Header.Stamp.Nanosec -= 1e6 - 1000
			})[:18],
			args: []string{"--tolerance", "1e-5"},
			want: []string{"  2 missing in B at index 18, ", "different: 1 of 1 topic, 2 messages missing in B\n"},
		},
		"a field is missing in one definition, with --bytes": {
			a: base, b: removeZ(base), args: []string{"--bytes"},
			want: []string{"1 field: point.z is 0 in A, nothing in B\n",
				"different: 1 of 1 topic, 20 messages changed\n"},
		},
		"a field missing in one definition is ignored": {
			a: base, b: removeZ(offset), args: []string{"--ignore-fields", "z", "--tolerance", "x=1e-5"}, same: true,
			want: []string{"20 messages\n"},
		},
		"byte order with --as raw": {
			a: base, b: bigEndian, args: []string{"--as", "raw"},
			want: []string{"different: 1 of 1 topic, 1 message changed\n"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			stdout, _, err := run(t, append([]string{"diff", writeLines(t, "a.lines", test.a),
				writeLines(t, "b.lines", test.b)}, test.args...)...)
			if test.same {
				require.NoError(t, err, stdout)
			} else {
				require.ErrorIs(t, err, diff.ErrDifferent)
			}
			for _, want := range test.want {
				require.Contains(t, stdout, want)
			}
			require.Regexp(t, test.want[len(test.want)-1]+"$", stdout)
		})
	}
}

// TestDiffOfEncodings compares ROS 1 messages with their translation to ROS 2.
func TestDiffOfEncodings(t *testing.T) {
	one := &codec.Channel{Topic: "/x", Type: "std_msgs/Float64", Encoding: codec.EncodingROS1,
		Schema: codec.Schema{Encoding: codec.SchemaROS1Msg, Data: []byte("float64 data\n")}}
	two := &codec.Channel{Topic: "/x", Type: "std_msgs/msg/Float64", Encoding: codec.EncodingCDR}
	other := &codec.Channel{Topic: "/y", Type: "std_msgs/Float64", Encoding: codec.EncodingROS1, Schema: one.Schema}
	message := func(c *codec.Channel, ns int64, x float64) codec.Message {
		data := binary.LittleEndian.AppendUint64(nil, math.Float64bits(x))
		if c.Encoding == codec.EncodingCDR {
			data = append([]byte{0, 1, 0, 0}, data...)
		}
		return codec.Message{Channel: c, LogTime: ns, Data: data}
	}
	a, b := []codec.Message{message(one, 1, 1.5), message(one, 2, 2.5)}, []codec.Message{message(two, 1, 1.5),
		message(two, 2, 2.5)}
	compare := func(a, b []codec.Message, args ...string) (string, error) {
		stdout, _, err := run(t, append([]string{"diff", writeLines(t, "a.lines", a), writeLines(t, "b.lines", b)},
			args...)...)
		return stdout, err
	}
	stdout, err := compare(a, b)
	require.NoError(t, err, stdout)
	require.Contains(t, stdout, "identical: 1 topic, 2 messages\n")

	stdout, err = compare(a, b, "--as", "raw")
	require.ErrorIs(t, err, diff.ErrDifferent)
	require.Contains(t, stdout, "different: 2 of 2 topics, 1 topic missing in B, 1 topic only in B\n")

	// A topic with one encoding in both is compared without translation, even if another topic is translated.
	a, b = append(a, message(other, 3, math.Float64frombits(0x7ff8000000000000))), append(b,
		message(other, 3, math.Float64frombits(0x7ff8000000000001)))
	stdout, err = compare(a, b)
	require.ErrorIs(t, err, diff.ErrDifferent)
	require.Contains(t, stdout, "/y [std_msgs/Float64]: 1 message in A, 1 in B\n  message 0 differs, log times "+
		"0.000000003 and 0.000000003, 8 and 8 bytes, first at byte 0: 0x00 and 0x01\n")
	require.Contains(t, stdout, "different: 1 of 2 topics, 1 message changed\n")

	stdout, err = compare(a, b, "--as", "ros2")
	require.NoError(t, err, stdout)

	b[1].Data[11] ^= 1
	stdout, err = compare(a, b, "--json", "--topics", "/x")
	require.ErrorIs(t, err, diff.ErrDifferent)
	var got diff.Report
	require.NoError(t, json.Unmarshal([]byte(stdout), &got))
	require.False(t, got.Same)
	require.Equal(t, 2, got.A.Messages)
	require.Len(t, got.Topics, 1)
	require.Equal(t, "/x", got.Topics[0].Topic)
	require.Len(t, got.Topics[0].Differences, 1)
	require.Equal(t, 1, got.Topics[0].Differences[0].Message)
	require.EqualValues(t, 2, got.Topics[0].Differences[0].Time)
	require.Equal(t, "data", got.Topics[0].Differences[0].Fields[0].Path)
	require.Equal(t, "2.5", got.Topics[0].Differences[0].Fields[0].A)
}

// TestDiffOfMissingFields compares with a definition that lacks two fields. A missing field is a difference only if its
// value is not the default.
func TestDiffOfMissingFields(t *testing.T) {
	// channel returns a channel whose messages hold a sequence of uint32 x and further fields.
	channel := func(fields string) *codec.Channel {
		return &codec.Channel{
			Topic: "/n", Type: "a_msgs/msg/N", Encoding: codec.EncodingCDR, Schema: codec.Schema{
				Encoding: codec.SchemaROS2Msg, Data: []byte("a_msgs/In[] in\n" + strings.Repeat("=", 80) +
					"\nMSG: a_msgs/In\nuint32 x\n" + fields),
			},
		}
	}
	message := func(c *codec.Channel, words ...byte) []codec.Message {
		data := []byte{0, 1, 0, 0}
		for _, w := range words {
			data = append(data, w, 0, 0, 0)
		}
		return []codec.Message{{Channel: c, LogTime: 1, Data: data}}
	}
	short, long := message(channel(""), 2, 5, 6), channel("uint32 y\nuint32 z 7\n")
	const note = "note: fields that one side's definition lacks, and that have their default on the other (--bytes " +
		"makes that a difference): in.y of /n [a_msgs/msg/N], in.z of /n [a_msgs/msg/N]\n"
	tests := map[string]struct {
		b    []codec.Message
		args []string
		says string
		same bool
	}{
		"default": {message(long, 2, 5, 0, 7, 6, 0, 7), nil, note, true},
		"bytes":   {message(long, 2, 5, 0, 7, 6, 0, 7), []string{"--bytes"}, "in[0].y is nothing in A, 0 in B", false},
		"set":     {message(long, 2, 5, 0, 7, 6, 0, 8), nil, "1 field: in[1].z is nothing in A, 8 in B", false},
		"zero":    {message(long, 2, 5, 0, 7, 6, 0, 0), nil, "1 field: in[1].z is nothing in A, 0 in B", false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			a, b := writeLines(t, "a.lines", short), writeLines(t, "b.lines", test.b)
			stdout, _, err := run(t, append([]string{"diff", a, b}, test.args...)...)
			require.Contains(t, stdout, test.says)
			if !test.same {
				require.ErrorIs(t, err, diff.ErrDifferent)
				return
			}
			require.NoError(t, err)
			stdout, _, err = run(t, "diff", b, a)
			require.NoError(t, err)
			require.Contains(t, stdout, note)
		})
	}
}

// TestRulesThatMatchNothing expects an error for a rule about an unknown topic, and a warning for an unknown field.
func TestRulesThatMatchNothing(t *testing.T) {
	a := filepath.Join(t.TempDir(), "a.mcap")
	drive(t, a, 1, 2)
	for _, option := range []string{"--ignore-fields", "--tolerance"} {
		value := map[string]string{"--tolerance": "=1"}[option]
		_, _, err := run(t, "diff", a, a, option, "/nosuch:data"+value)
		require.ErrorContains(t, err, "no topic matches "+option+" /nosuch:data"+value+"; there are /map, /n.")
		_, stderr, err := run(t, "diff", a, a, option, "/n:header.stamp"+value+",data"+value)
		require.NoError(t, err)
		require.Equal(t, "warning: no message has the field of "+option+" /n:header.stamp"+value+"\n", stderr)
	}
}
