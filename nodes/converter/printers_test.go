package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/codec/text/printable"
	"tapedeck/config"
	"tapedeck/msgs"
	"tapedeck/msgs/sensor_msgs"
	"tapedeck/msgs/std_msgs"
)

// writeHostile writes a recording in which names, metadata, definitions and events are s. The texts of its messages are
// data.
func writeHostile(t *testing.T, path, s, data string) {
	label := s[:min(len(s), 1<<14)] // limit of the format
	w, err := known.Codecs().Create(path, codec.CreateOptions{
		Format: "mcap", Metadata: map[string]string{label: s},
		Attachments: []codec.Attachment{{Name: label, MediaType: label, Size: int64(len(s)),
			Open: func(func(error)) io.Reader { return strings.NewReader(s) }}},
	})
	require.NoError(t, err)
	message := func(c *codec.Channel, m msgs.Message) {
		payload, err := cdr.Marshal(m)
		require.NoError(t, err)
		require.NoError(t, w.Write(&codec.Message{Channel: c, LogTime: 1e9, Data: payload}))
	}
	ros2 := func(topic, typeName string) *codec.Channel {
		return &codec.Channel{Topic: topic, Type: typeName, Encoding: codec.EncodingCDR,
			Metadata: map[string]string{label: label}}
	}
	message(ros2("/text", "std_msgs/msg/String"), &std_msgs.String{Data: data})
	message(ros2("/imu", "sensor_msgs/msg/Imu"), &sensor_msgs.Imu{Header: std_msgs.Header{FrameId: data}})
	message(ros2(label, "std_msgs/msg/String"), &std_msgs.String{Data: s})
	message(ros2("/odd", label), &std_msgs.String{Data: s})
	odd := ros2("/schema", "a_msgs/msg/A")
	odd.Encoding, odd.Schema = label, codec.Schema{Encoding: label, Data: []byte(s)}
	message(odd, &std_msgs.String{Data: s})
	broken := ros2("/broken", "a_msgs/msg/B")
	broken.Schema = codec.Schema{Encoding: "ros2msg", Data: []byte("string " + s)}
	message(broken, &std_msgs.String{Data: s})
	event, err := codec.EventMessage(codec.Event{Kind: codec.EventGap, Topic: s, Time: 1e9, Text: s})
	require.NoError(t, err)
	require.NoError(t, w.Write(event))
	require.NoError(t, w.Close())
}

// printAll runs the commands on hostile recordings and returns what each of them prints.
func printAll(t *testing.T, s string) map[string]string {
	folder := t.TempDir()
	name := strings.Map(func(r rune) rune {
		if r == '/' || r == 0 {
			return '_'
		}
		return r
	}, s[:min(len(s), 100)])
	a, b := filepath.Join(folder, "a"+name+".mcap"), filepath.Join(folder, "b"+name+".mcap")
	writeHostile(t, a, s, s)
	writeHostile(t, b, s, "other")
	whole, err := os.ReadFile(a)
	require.NoError(t, err)
	damaged := filepath.Join(folder, "d"+name+".mcap")
	require.NoError(t, os.WriteFile(damaged, whole[:len(whole)/2], 0o666))
	out := func(name string) string { return filepath.Join(folder, name) }
	label := s[:min(len(s), 1<<14)]
	shown := map[string]string{}
	for i, args := range [][]string{
		{"info", a}, {"info", "-v", a}, {"info", "--json", a}, {"info", "--apollo", a}, {"info", "--ros2", a},
		{"info", damaged}, {"info", "--picture", out("p.png"), a}, {"info", "missing" + name},
		{"echo", a, "/text"}, {"echo", "-f", a, "/text"},
		{"echo", "--json", a, "/imu"}, {"echo", "--csv", a, "/text"},
		{"echo", a, label}, {"echo", a, "/odd"}, {"echo", a, "/broken"}, {"echo", a, "/schema"}, {"echo", a, "/" + s},
		{"diff", a, b}, {"diff", "--json", a, b}, {"diff", "-x", "~*", a, b},
		{"check", a}, {"check", "--json", a}, {"check", damaged}, {"expect", a, "-o", out("contract.yaml")},
		{"check", "--expect", out("contract.yaml"), b},
		{"recover", damaged, out("r.mcap")}, {"recover", a},
		{a, out("c.mcap")}, {a, out("c.record")}, {a, out("c.bag"), "--unmatched", "drop"}, {a, out("s.bag"), "--strict"},
		{a, out("t.mcap"), "-t", "/nothing"}, {a, b, out("bag")},
		{a, b, "--output-folder", out("each"), "--to", "record"},
	} {
		key := fmt.Sprint(i)
		for _, arg := range args {
			if !strings.ContainsAny(arg, "/~") {
				key += " " + arg
			}
		}
		var stdout, stderr bytes.Buffer
		err := config.Execute(t.Context(), newCommand(printable.Writer(&stdout), printable.LineWriter(&stderr)), args)
		if err != nil {
			text := err.Error()
			if errors.Is(err, config.ErrUsage) {
				text = "usage: " + text
			}
			stderr.WriteString(printable.Line(text) + "\n") // as config.Main does
		}
		shown[key] = stdout.String() + "\x00" + stderr.String()
	}
	return shown
}

// FuzzPrinters checks that control characters of recordings are escaped on the terminal and add no lines.
func FuzzPrinters(f *testing.F) {
	seeds := []string{
		"a\nb\x1b[2J\x1b[31mred\x7f\b\b\r\u2028\u2029\v\f\u202egnp.exe\u2066\u200f\u200e%s%n%!d(tab\there",
		"", "../../etc\n", "a\x00b", "\x9b31m\xff\xfe",
		"\x1b]8;;http://example.com\x07link\x1b]8;;\x07\x1b]52;c;aGk=\x07",
		"\u009b31m\u0085\u009d0;title\u009ca\u200bb\ufeff\u2060\u3164\u034f\ufe0f\U000e0041\U0001d173",
	}
	if testing.Short() {
		seeds = seeds[:1]
	}
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) { checkPrinters(t, s[:min(len(s), 1000)]) })
}

func TestPrintersOfLongTexts(t *testing.T) {
	texts := []string{strings.Repeat("é\n", 21_000), strings.Repeat("\x1b[A", 21_000)}
	if testing.Short() {
		texts = []string{strings.Repeat("é\n", 6000)}
	}
	for _, s := range texts {
		checkPrinters(t, s)
	}
}

func checkPrinters(t *testing.T, s string) {
	s = "~" + s
	harmless := strings.Map(func(r rune) rune {
		if printable.Hidden(r) || unicode.IsSpace(r) {
			return '~'
		}
		return r
	}, s)
	shown, want := printAll(t, s), printAll(t, harmless)
	for command, text := range shown {
		stdout, stderr, _ := strings.Cut(text, "\x00")
		require.True(t, utf8.ValidString(text), command)
		kept := "\n"
		if strings.Contains(command, "--csv") {
			kept = "\n\t"
		}
		require.Equal(t, -1, strings.IndexFunc(stdout+stderr, func(r rune) bool {
			return printable.Hidden(r) && !strings.ContainsRune(kept, r)
		}), "%s: %q", command, text[:min(len(text), 5000)])
		require.Less(t, len(text), 2<<20, command)
		if strings.Contains(command, "--json") {
			require.True(t, json.Valid([]byte(stdout)), "%s: %q", command, stdout)
			continue
		}
		if kept == "\n" {
			require.Equal(t, strings.Count(want[command], "\n"), strings.Count(text, "\n"), "%s:\n%q\n%q", command,
				text[:min(len(text), 5000)], want[command][:min(len(want[command]), 5000)])
		}
	}
}
