package main

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/nodes/internal/diff"
	"tapedeck/test/samples"
)

// sequence returns messages of a channel 1 ms apart, one for each letter.
func sequence(c *codec.Channel, start int64, letters string) []codec.Message {
	var messages []codec.Message
	for i, l := range letters {
		messages = append(messages, at(c, start+int64(i)*1e6, strings.Repeat(string(l), 4)))
	}
	return messages
}

func TestDiff(t *testing.T) {
	const alphabet = "abcdefghijklmnopqrstuvwxyz"
	with := func(change func(c *codec.Channel)) *codec.Channel {
		c := *imu
		change(&c)
		return &c
	}
	otherType := with(func(c *codec.Channel) { c.Type = "my_msgs/msg/Imu" })
	otherEncoding := with(func(c *codec.Channel) { c.Encoding = codec.EncodingROS1 })
	twin := *imu

	base := sequence(imu, 1e9, alphabet)
	change := func(edit func(m []codec.Message) []codec.Message) []codec.Message {
		return edit(slices.Clone(base))
	}
	shift := func(messages []codec.Message, ns int64) []codec.Message {
		messages = slices.Clone(messages)
		for i := range messages {
			messages[i].LogTime += ns
		}
		return messages
	}
	edited := func(i int, data string) []codec.Message {
		return change(func(m []codec.Message) []codec.Message { m[i].Data = []byte(data); return m })
	}
	late := change(func(m []codec.Message) []codec.Message { m[3].LogTime += 200_000; return m })

	split, err := codec.EventMessage(codec.Event{Kind: codec.EventSplit, Time: 2e9})
	require.NoError(t, err)
	event := *split

	tests := map[string]struct {
		a, b    []codec.Message
		declare [2][]*codec.Channel
		args    []string
		same    bool
		says    []string // texts in the output; the last is the verdict
	}{
		"the same": {
			a: base, b: base, same: true,
			says: []string{"note: log times are the same\n", "identical: 1 topic, 26 messages\n"},
		},
		"what a recording says about itself": {
			a: append(slices.Clone(base), event), b: base, same: true,
			says: []string{"identical: 1 topic, 26 messages\n"},
		},
		"and that it is asked for": {
			a: append(slices.Clone(base), event), b: base, args: []string{"--topics", codec.EventTopic},
			says: []string{"/tapedeck/events [tapedeck/msg/RecordingEvent]: only in A, with 1 message\n",
				"different: 1 of 1 topic, 1 topic missing in B\n"},
		},
		"nothing": {same: true, says: []string{"identical: 0 topics, 0 messages\n"}},
		"one lost": {
			a: base, b: change(func(m []codec.Message) []codec.Message { return slices.Delete(m, 17, 18) }),
			says: []string{"/imu [sensor_msgs/msg/Imu]: 26 messages in A, 25 in B\n  1 missing in B at index 17, log " +
				"time 1.017000000\n", "different: 1 of 1 topic, 1 message missing in B\n"},
		},
		"three more": {
			a: change(func(m []codec.Message) []codec.Message { return m[:23] }), b: base,
			says: []string{"  3 only in B at index 23, log time 1.023000000\n",
				"different: 1 of 1 topic, 3 messages only in B\n"},
		},
		"one changed": {
			a: base, b: edited(5, "\x00\x01\x00\x00ffXf"),
			says: []string{"  message 5 differs, log times 1.005000000 and 1.005000000, 8 and 8 bytes, first at byte " +
				"6: 0x66 and 0x58\n", "different: 1 of 1 topic, 1 message changed\n"},
		},
		"one shorter": {
			a: base, b: edited(5, "\x00\x01\x00\x00"),
			says: []string{"8 and 4 bytes, first at byte 4: 0x66 and its end\n",
				"different: 1 of 1 topic, 1 message changed\n"},
		},
		"lost and changed": {
			a: base, b: slices.Delete(edited(20, "\x00\x01\x00\x00uuuX"), 2, 4),
			says: []string{"  2 missing in B at index 2, ", "  message 20 differs from message 18 of B, ",
				"different: 1 of 1 topic, 1 message changed, 2 messages missing in B\n"},
		},
		"moved": {
			a: base, b: change(func(m []codec.Message) []codec.Message {
				return append(slices.Delete(m, 2, 3), at(imu, 1_030_000_000, "cccc"))
			}),
			says: []string{"  1 missing in B at index 2, log time 1.002000000\n",
				"different: 1 of 1 topic, 1 message missing in B, 1 message only in B\n"},
		},
		"limit": {
			a: base, b: sequence(imu, 1e9, strings.ToUpper(alphabet)), args: []string{"--limit", "2"},
			says: []string{"  message 0 differs", "  message 1 differs",
				"24 more differences not shown; --limit shows more\n",
				"different: 1 of 1 topic, 26 messages changed\n"},
		},
		"brief": {
			a: base, b: edited(5, "\x00\x01\x00\x00ffXf"), args: []string{"--brief"},
			says: []string{"different: 1 of 1 topic, 1 message changed\n"},
		},
		"padding": {
			a: edited(3, "\x00\x01\x00\x00ddd"), b: edited(3, "\x00\x01\x00\x01ddd\x00"), same: true,
			says: []string{"note: payloads that differ in padding at their end alone: 1 (--bytes makes that a " +
				"difference)\n",
				"identical: 1 topic, 26 messages\n"},
		},
		"padding that is not zero": {
			a: edited(3, "\x00\x01\x00\x00ddd"), b: edited(3, "\x00\x01\x00\x00dddd"),
			says: []string{"7 and 8 bytes, first at byte 7: its end and 0x64\n",
				"different: 1 of 1 topic, 1 message changed\n"},
		},
		"more than padding": {
			a: edited(3, "\x00\x01\x00\x00dddd"), b: edited(3, "\x00\x01\x00\x00dddd\x00\x00\x00\x00"),
			says: []string{"different: 1 of 1 topic, 1 message changed\n"},
		},
		"bytes of padding": {
			a: edited(3, "\x00\x01\x00\x00ddd"), b: edited(3, "\x00\x01\x00\x00ddd\x00"), args: []string{"--bytes"},
			says: []string{"7 and 8 bytes, first at byte 7: its end and 0x00\n",
				"different: 1 of 1 topic, 1 message changed\n"},
		},
		"padding of what is not CDR": {
			a: []codec.Message{{Channel: otherEncoding, Data: []byte("12345")}},
			b: []codec.Message{{Channel: otherEncoding, Data: []byte("12345\x00\x00\x00")}},
			says: []string{"5 and 8 bytes, first at byte 5: its end and 0x00\n",
				"different: 1 of 1 topic, 1 message changed\n"},
		},
		"topics": {
			a: append(slices.Clone(base), at(odom, 2e9, "odom")), b: base, declare: [2][]*codec.Channel{nil, {info}},
			says: []string{"/odom [nav_msgs/msg/Odometry]: only in A, with 1 message\n",
				"/info [std_msgs/msg/String]: only in B, with 0 messages\n",
				"different: 2 of 3 topics, 1 topic missing in B, 1 topic only in B\n"},
		},
		"first of a constant topic": {
			a: sequence(imu, 1e9, "aaaaa"), b: sequence(imu, 1e9, "aaaaa")[1:],
			says: []string{"  1 missing in B at index 0, log time 1.000000000\n", "note: log times are the same\n",
				"different: 1 of 1 topic, 1 message missing in B\n"},
		},
		"first of a constant topic, later": {
			a: append(sequence(imu, 1e9, "aaaaa"), at(odom, 1e9, "odom")),
			b: append(shift(sequence(imu, 1e9, "aaaaa"), 5e9)[1:], at(odom, 6e9, "odom")),
			says: []string{"  1 missing in B at index 0, log time 1.000000000\n",
				"note: log times in B are 5.000000000 s later than in A, all of them\n",
				"different: 1 of 2 topics, 1 message missing in B\n"},
		},
		"topics ignored": {
			a: append(slices.Clone(base), at(odom, 2e9, "odom")), b: base, declare: [2][]*codec.Channel{nil, {info}},
			args: []string{"--ignore-topics", "/info,/odom,/nope", "--allow-unmatched"}, same: true,
			says: []string{"identical: 1 topic, 26 messages\n"},
		},
		"topics chosen": {
			a: append(slices.Clone(base), at(odom, 2e9, "odom")), b: base, args: []string{"-t", "/imu"}, same: true,
			says: []string{"identical: 1 topic, 26 messages\n"},
		},
		"type": {
			a: base, b: sequence(otherType, 1e9, alphabet),
			says: []string{"/imu: type sensor_msgs/msg/Imu in A, my_msgs/msg/Imu in B\n",
				"different: 2 of 2 topics, 1 topic missing in B, 1 topic only in B\n"},
		},
		"encoding": {
			a: base, b: sequence(otherEncoding, 1e9, alphabet),
			says: []string{"/imu [sensor_msgs/msg/Imu]: encoding cdr in A, ros1 in B; payloads are not compared\n",
				"different: 1 of 1 topic, 1 topic encoded otherwise\n"},
		},
		"several channels": {
			a: base, b: change(func(m []codec.Message) []codec.Message { m[7].Channel = &twin; return m }), same: true,
			says: []string{"identical: 1 topic, 26 messages\n"},
		},
		"all later": {
			a: base, b: shift(base, 5e9), args: []string{"--times", "0"}, same: true,
			says: []string{"note: log times in B are 5.000000000 s later than in A, all of them\n",
				"identical: 1 topic, 26 messages\n"},
		},
		"all earlier, one late": {
			a: base, b: shift(late, -5e8), same: true,
			says: []string{"note: log times in B are 0.500000000 s earlier than in A; beyond that they differ by " +
				"7.692µs on average and by 200µs at most, at message 3 of /imu [sensor_msgs/msg/Imu]\n",
				"identical: 1 topic, 26 messages\n"},
		},
		"late within the tolerance": {
			a: base, b: late, args: []string{"--times", "200us"}, same: true,
			says: []string{"identical: 1 topic, 26 messages\n"},
		},
		"late beyond the tolerance": {
			a: base, b: late, args: []string{"--times", "0.000199"},
			says: []string{"  message 3 is 0.000200000 s late: 1.003000000 in A, 1.003200000 in B\n",
				"different: 1 of 1 topic, 1 message at another time\n"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			a := writeLines(t, "a.lines", test.a, test.declare[0]...)
			b := writeLines(t, "b.lines", test.b, test.declare[1]...)
			stdout, _, err := run(t, append([]string{"diff", a, b}, test.args...)...)
			if test.same {
				require.NoError(t, err)
			} else {
				require.ErrorIs(t, err, diff.ErrDifferent)
			}
			for _, says := range test.says {
				require.Contains(t, stdout, says)
			}
			verdict := test.says[len(test.says)-1]
			require.True(t, strings.HasSuffix(stdout, verdict), stdout)
			if name == "brief" {
				require.Equal(t, verdict, stdout)
			}
		})
	}
}

func TestDiffOfSimultaneousMessages(t *testing.T) {
	var a []codec.Message
	for _, l := range "abcdefgh" {
		a = append(a, at(imu, 7, strings.Repeat(string(l), 4)))
	}
	b := slices.Clone(a)
	b[5] = at(imu, 7, "ffXf")
	stdout, _, err := run(t, "diff", writeLines(t, "a.lines", a), writeLines(t, "b.lines", b))
	require.ErrorIs(t, err, diff.ErrDifferent)
	require.Contains(t, stdout, "message 5 differs, log times 0.000000007 and 0.000000007, 8 and 8 bytes, first at "+
		"byte 6: 0x66 and 0x58")
}

// Messages with equal times may come in any order of topics, but keep their order in each topic.
func TestDiffOfOrderAtOneTime(t *testing.T) {
	a := []codec.Message{at(imu, 7, "aaaa"), at(imu, 7, "bbbb"), at(odom, 7, "cccc"), at(imu, 9, "dddd")}
	for _, test := range []struct {
		order   []int
		verdict string
	}{
		{[]int{0, 1, 2, 3}, "identical: 2 topics, 4 messages\n"},
		{[]int{2, 0, 1, 3}, "identical: 2 topics, 4 messages\n"},
		{[]int{0, 2, 1, 3}, "identical: 2 topics, 4 messages\n"},
		{[]int{1, 0, 2, 3}, "different: 1 of 2 topics, "},
	} {
		var b []codec.Message
		for _, i := range test.order {
			b = append(b, a[i])
		}
		stdout, _, _ := run(t, "diff", writeLines(t, "a.lines", a), writeLines(t, "b.lines", b))
		require.Contains(t, stdout, test.verdict, test.order)
	}
}

// Damage is skipped. Messages after it are compared.
func TestDiffOfDamaged(t *testing.T) {
	whole := writeLines(t, "whole.lines", sequence(imu, 1, "abcd"))
	changed := writeLines(t, "changed.lines", sequence(imu, 1, "abcX"))
	lacking := writeLines(t, "lacking.lines", sequence(imu, 1, "acd"))
	damaged := writeLines(t, "damaged.lines", sequence(imu, 1, "abcd"))
	damage(t, damaged, `{"Message":{"Channel":null,"LogTime":1000001`) // b
	unfinished := writeLines(t, "unfinished.lines", sequence(imu, 1, "abcd"))
	removeEnd(t, unfinished)

	note := "note: A is damaged: " + damaged + ": line 4: "
	hidden := damaged + ": everything readable is the same, but damage hides the rest"
	tests := map[string]struct {
		a, b   string
		code   int
		says   []string // on stdout
		stderr string
	}{
		"against the whole": {damaged, whole, 1, []string{note, "  1 only in B at index 1, "}, "the recordings differ"},
		"a change behind it": {damaged, changed, 1,
			[]string{note, "message 2 differs from message 3 of B", "1 message changed, 1 message only in B\n"},
			"differ"},
		"the same otherwise": {damaged, lacking, 2,
			[]string{note, "damaged, identical where it can be read: 1 topic, 3 messages\n"}, hidden},
		"with itself": {damaged, damaged, 2, []string{note, "note: B is damaged: "}, hidden},
		"unfinished": {unfinished, unfinished, 0,
			[]string{"note: A is not complete\nnote: B is not complete\n", "identical: 1 topic, 4 messages\n"}, ""},
		"not there": {whole, whole + "x", 2, nil, "no such file or directory"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			stdout, stderr, code := execute(t, "diff", test.a, test.b)
			require.Equal(t, test.code, code, stdout+stderr)
			for _, says := range test.says {
				require.Contains(t, stdout, says)
			}
			require.Contains(t, stderr, test.stderr)
		})
	}
	stdout, _, err := run(t, "diff", "--json", damaged, lacking)
	require.Error(t, err)
	var report diff.Report
	require.NoError(t, json.Unmarshal([]byte(stdout), &report))
	require.False(t, report.Same)
	require.Len(t, report.A.Damaged, 1)
	require.Empty(t, report.B.Damaged)
}

// Topics of ROS 1 may lack the leading '/', which their translations have.
func TestDiffOfBareNames(t *testing.T) {
	bare, other := *imu, *odom
	bare.Topic, other.Topic = "imu", "odom"
	full, named := sequence(imu, 1, "abc"), sequence(&bare, 1, "abc")
	a, b := writeLines(t, "a.lines", full), writeLines(t, "b.lines", named)
	for _, paths := range [][]string{{a, b}, {b, a}} {
		stdout, _, err := run(t, append([]string{"diff"}, paths...)...)
		require.NoError(t, err)
		require.Contains(t, stdout, "note: compared though only one side has a '/' in front of their names: imu\n")
		require.Contains(t, stdout, "identical: 1 topic, 3 messages\n")
	}
	// If one recording has both names, or if types differ, they are different topics.
	both := writeLines(t, "both.lines", append(slices.Clone(full), named...))
	for _, path := range []string{both, writeLines(t, "c.lines", sequence(&other, 1, "abc"))} {
		stdout, _, err := run(t, "diff", a, path)
		require.ErrorIs(t, err, diff.ErrDifferent)
		require.NotContains(t, stdout, "compared though")
	}
	changed := writeLines(t, "d.lines", sequence(&bare, 1, "abd"))
	stdout, _, err := run(t, "diff", a, changed, "--as", "ros2")
	require.ErrorIs(t, err, diff.ErrDifferent)
	require.Contains(t, stdout, "message 2 differs")
}

// An unknown --strict is answered with --bytes.
func TestDiffHasNoStrict(t *testing.T) {
	_, _, err := run(t, "diff", "a.mcap", "b.mcap", "--strict")
	require.ErrorContains(t, err, "use --bytes")
}

// A CARLA log that is converted to ROS 2 and back has the same messages.
func TestDiffOfCARLARoundTrips(t *testing.T) {
	for _, name := range []string{"carla_no_kinematics.log", "carla_order_of_actors.log", "carla_destroyed_actor.log"} {
		t.Run(name, func(t *testing.T) {
			from := samples.Path(t, filepath.Join("faults", name))
			there, back := filepath.Join(t.TempDir(), "there.mcap"), filepath.Join(t.TempDir(), "back.log")
			_, _, err := run(t, from, there)
			require.NoError(t, err)
			_, stderr, err := run(t, there, back)
			require.NoError(t, err)
			require.NotContains(t, stderr, "lost:")
			stdout, _, err := run(t, "diff", from, back, "--as", "ros2", "--tolerance", "1e-5")
			require.NoError(t, err, stdout)
		})
	}
}
