package record

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"tapedeck/codec"
	"tapedeck/codec/internal/output"
)

// sectionOffsets returns the offsets of a file's sections by type.
func sectionOffsets(b []byte) map[sectionType][]int {
	at := map[sectionType][]int{headerSection: {0}}
	for pos := firstSection; pos < len(b); {
		s := parseSection(b[pos:])
		at[s.typ] = append(at[s.typ], pos)
		pos += sectionSize + int(s.size)
	}
	return at
}

// oddFile returns a file of the given sections, without an index.
func oddFile(sections ...[]byte) []byte {
	b := sectionOf(headerSection, newEncoder("", codec.CreateOptions{}).header)
	return append(append(b, make([]byte, firstSection-len(b))...), bytes.Join(sections, nil)...)
}

func sectionOf(typ sectionType, m proto.Message) []byte { return rawSection(typ, encode(m)) }

func rawSection(typ sectionType, payload []byte) []byte {
	return append(section{typ, int64(len(payload))}.append(nil), payload...)
}

func varintField(dst []byte, number protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(dst, number, protowire.VarintType), v)
}

// Unusual files that lack no information are read without errors and reports.
func TestOddButReadable(t *testing.T) {
	chunkHead := sectionOf(chunkHeaderSection, newChunkHeader(output.Span{Messages: 1, Start: 1, End: 9}, 0))
	long := strings.Repeat("/long", 100)
	single := func(fields ...[]byte) []byte { return appendBytes(nil, 1, bytes.Join(fields, nil)) }
	name, time, content := appendBytes(nil, 1, "/a"), varintField(nil, 2, 5), appendBytes(nil, 3, "data")
	want := messageCopy{"/a", 5, 0, "data"}
	for test, body := range map[string]struct {
		message []byte
		want    messageCopy
	}{
		"plain":               {single(name, time, content), want},
		"fields in any order": {single(content, time, name), want},
		"unknown fields":      {single(name, time, content, varintField(nil, 4, 1), appendBytes(nil, 5, "x")), want},
		"no content":          {single(name, time), messageCopy{"/a", 5, 0, ""}},
		"publish time behind": {single(name, time, content,
			protowire.AppendFixed64(protowire.AppendTag(nil, extension, protowire.Fixed64Type), 7)),
			messageCopy{"/a", 5, 7, "data"}},
		"a long name": {single(appendBytes(nil, 1, long), time, content), messageCopy{long, 5, 0, "data"}},
	} {
		for _, head := range [][]byte{
			chunkHead,
			rawSection(chunkHeaderSection, nil),
			sectionOf(chunkHeaderSection, newChunkHeader(output.Span{Start: 9, End: 1}, 0)),
			nil,
		} {
			t.Run(test, func(t *testing.T) {
				r := openBytes(t, oddFile(head, rawSection(chunkBodySection, body.message)))
				for _, damaged := range []func(error){nil, func(err error) { t.Error(err) }} {
					all, err := readAll(t, r, codec.Query{Damaged: damaged})
					require.NoError(t, err)
					require.Equal(t, []messageCopy{body.want}, all)
				}
				info, err := r.Info()
				require.NoError(t, err)
				require.EqualValues(t, 1, info.MessageCount)
				require.EqualValues(t, 5, info.StartTime)
				require.Equal(t, codec.Channel{Topic: body.want.topic, Encoding: codec.EncodingProtobuf},
					*info.Topics[0].Channel)
			})
		}
	}
}

// Old writers left garbage in the padding of the sections.
func TestPaddingIsIgnored(t *testing.T) {
	b := smallFile(t, true)
	for _, positions := range sectionOffsets(b) {
		for _, pos := range positions {
			binary.LittleEndian.PutUint32(b[pos+4:], 0xdeadbeef)
		}
	}
	require.True(t, sniff(nil, "", b[:min(len(b), 4096)]))
	all, err := readAll(t, openBytes(t, b), codec.Query{})
	require.NoError(t, err)
	require.Equal(t, smallMessages(), all)
}

// Each kind of damage is reported with its position, and the messages around it are saved.
func TestDamage(t *testing.T) {
	for _, test := range []struct {
		name  string
		spoil func(b []byte, at map[sectionType][]int) []byte
		want  string
		saved int
	}{
		{"no header", func(b []byte, _ map[sectionType][]int) []byte {
			clear(b[:firstSection])
			return b
		}, "damaged at 0x0: there is no header", 12},
		{"no section", func(b []byte, at map[sectionType][]int) []byte {
			b[at[chunkHeaderSection][1]] = 9
			return b
		}, "there is no section", 12},
		{"a negative size", func(b []byte, at map[sectionType][]int) []byte {
			b[at[chunkBodySection][1]+15] = 0x80
			return b
		}, "there is no section", 12},
		{"a huge size", func(b []byte, at map[sectionType][]int) []byte {
			b[at[chunkBodySection][1]+13] = 0x80
			return b
		}, "chunk 2", 12},
		{"a body too long", func(b []byte, at map[sectionType][]int) []byte {
			b[at[chunkBodySection][1]+8]++
			return b
		}, "damaged at", 12},
		{"a body too short", func(b []byte, at map[sectionType][]int) []byte {
			b[at[chunkBodySection][1]+8]--
			return b
		}, "damaged at", 12},
		{"a chunk's header alone", func(b []byte, at map[sectionType][]int) []byte {
			from, to := at[chunkBodySection][1], at[chunkHeaderSection][2]
			return slices.Delete(b, from, to)
		}, "followed by a section that is no chunk body", 8},
		{"a chunk without its first message", func(b []byte, at map[sectionType][]int) []byte {
			b[at[chunkBodySection][1]+sectionSize] = 0xff
			return b
		}, "chunk 2: there is no message", 11},
		{"less messages than there should be", func(b []byte, at map[sectionType][]int) []byte {
			b[at[chunkHeaderSection][1]+sectionSize+2*10+1]++
			return b
		}, "1 fewer messages than its header says", 12},
		{"a channel", func(b []byte, at map[sectionType][]int) []byte {
			b[at[channelSection][0]+sectionSize] = 0xff
			return b
		}, "a channel cannot be read", 12},
		{"the index", func(b []byte, at map[sectionType][]int) []byte {
			b[at[indexSection][0]+sectionSize] = 0xff
			return b
		}, "damaged at", 12},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := smallFile(t, true)
			b = test.spoil(b, sectionOffsets(b))
			require.True(t, sniff(nil, "", b[:min(len(b), 4096)]))
			r := openBytes(t, b)
			plain, err := readAll(t, r, codec.Query{})
			if test.name == "no header" { // which hides nothing
				require.NoError(t, err)
				require.Len(t, plain, test.saved)
				err = r.shallow.damage[0]
			}
			require.ErrorIs(t, err, ErrDamaged)
			require.ErrorContains(t, err, "memory.record")
			require.ErrorContains(t, err, test.want)
			var reports []error
			all, err := readAll(t, r, codec.Query{Damaged: func(err error) { reports = append(reports, err) }})
			require.NoError(t, err)
			require.NotEmpty(t, reports)
			require.Len(t, all, test.saved, reports)
			requireOrdered(t, all)
			info, err := r.Info()
			require.NoError(t, err)
			require.False(t, info.Complete)
			require.Len(t, info.Events, len(reports))
			if test.name != "no header" {
				require.Len(t, info.Topics, 2)
			}
		})
	}
}
