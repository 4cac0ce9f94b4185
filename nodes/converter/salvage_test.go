package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/format/rosbag2"
	"tapedeck/codec/text/human"
)

// extent is a range of bytes in a file: start ≤ byte < end.
type extent struct{ start, end int }

func (e extent) overlaps(o extent) bool { return e.start < o.end && o.start < e.end }

// victim is a recording that the tests damage.
type victim struct {
	name     string
	data     []byte
	payloads [][]byte // by message
	// chunks are, by message, the extents that hold it: a compressed chunk, pages of SQLite, or else its payload.
	chunks []extent
}

// storages are the formats of the damaged recordings, each in a single file.
var storages = []struct {
	name, compression string
	fake              []byte // beginning of a record of such a file
}{
	{"drive.record", "", []byte{1, 0, 0, 0, 0, 0, 0, 0, 20, 0, 0, 0, 0, 0, 0, 0, 0x0a, 30, 0x0a, 4, '/', 'i', 'm', 'u',
		0x10}},
	{"drive.mcap", "none", []byte{5, 50, 0, 0, 0, 0, 0, 0, 0, 1, 0, 6, 200, 0, 0, 0, 0, 0, 0, 0}},
	{"drive.mcap", "lz4", []byte{6, 200, 0, 0, 0, 0, 0, 0, 0, 4, 0x22, 0x4d, 0x18}},
	{"drive.mcap", "zstd", []byte{6, 200, 0, 0, 0, 0, 0, 0, 0, 0x28, 0xb5, 0x2f, 0xfd}},
	{"drive.db3", "none", []byte{13, 0, 0, 0, 9, 0, 200, 0, 15, 128, 15, 0, 14, 128}},
	{"drive.bag", "none", append([]byte{32, 0, 0, 0, 4, 0, 0, 0}, "op=\x02\b\x00\x00\x00conn=\x00"...)},
	{"drive.bag", "lz4", append([]byte{60, 0, 0, 0, 4, 0, 0, 0}, "op=\x05\x0f\x00\x00\x00compression=lz4"...)},
	{"drive.bag", "bz2", append([]byte{60, 0, 0, 0, 4, 0, 0, 0}, "op=\x05\x0f\x00\x00\x00compression=bz2"...)},
}

const (
	salvageMessages = 240
	salvageChunk    = 20 // messages
)

// makeVictim writes a recording of messages with random payloads.
func makeVictim(t *testing.T, name, compression string, random *rand.Rand) *victim {
	path := filepath.Join(t.TempDir(), name)
	list, create := known.Codecs(), codec.CreateOptions{Compression: compression}
	if filepath.Ext(name) == ".db3" {
		path, list = filepath.Join(t.TempDir(), "drive"), codec.Formats{rosbag2.Options{Storage: "sqlite3"}.Format()}
	}
	w, err := list.Create(path, create)
	require.NoError(t, err)
	channels := []*codec.Channel{}
	encoding, schema := codec.EncodingCDR, codec.Schema{Encoding: codec.SchemaROS2Msg, Data: []byte("uint8[] data\n")}
	if strings.HasSuffix(name, ".bag") {
		encoding, schema.Encoding = codec.EncodingROS1, codec.SchemaROS1Msg
	}
	for _, topic := range []string{"/imu", "/camera/image"} {
		channels = append(channels, &codec.Channel{Topic: topic, Type: "my_msgs/Data", Encoding: encoding,
			Schema: schema})
	}
	v := &victim{name: name}
	at := 0
	for i := range salvageMessages {
		payload := make([]byte, 40+random.IntN(400))
		for k := range payload {
			payload[k] = byte(random.Uint32())
		}
		v.payloads = append(v.payloads, payload)
		require.NoError(t, w.Write(&codec.Message{Channel: channels[i%2], LogTime: 1e18 + int64(i)*1e6, Data: payload}))
		if i%salvageChunk == salvageChunk-1 {
			require.NoError(t, w.Sync())
			stat, err := os.Stat(path + codec.ActiveSuffix)
			if err != nil {
				stat, err = os.Stat(path)
			}
			require.NoError(t, err)
			v.chunks = append(v.chunks, slices.Repeat([]extent{{at, int(stat.Size())}}, salvageChunk)...)
			at = int(stat.Size())
		}
	}
	require.NoError(t, w.Close())
	if filepath.Ext(name) == ".db3" {
		path = filepath.Join(path, "drive_0.db3")
	}
	v.data, err = os.ReadFile(path)
	require.NoError(t, err)
	if compression == "" || compression == "none" {
		for i, p := range v.payloads {
			at := bytes.Index(v.data, p)
			require.Positive(t, at)
			v.chunks[i] = extent{at, at + len(p)}
			if filepath.Ext(name) == ".db3" {
				const page = 4096
				v.chunks[i] = extent{at / page * page, (at + len(p) + page - 1) / page * page}
			}
		}
	}
	return v
}

// harm is one kind of damage.
type harm struct {
	name  string
	moves bool // the bytes behind the damage move; not for SQLite, which finds no moved pages
	// do damages b and returns it with the damaged extents of the original.
	do func(b, fake []byte, random *rand.Rand) (damaged []byte, hits []extent)
}

var harms = []harm{
	{"flipped bit", false, func(b, _ []byte, r *rand.Rand) ([]byte, []extent) {
		at := r.IntN(len(b))
		b[at] ^= 1 << r.IntN(8)
		return b, []extent{{at, at + 1}}
	}},
	{"garbage", false, func(b, _ []byte, r *rand.Rand) ([]byte, []extent) {
		at := r.IntN(len(b))
		hit := extent{at, min(at+1+r.IntN(3000), len(b))}
		for i := hit.start; i < hit.end; i++ {
			b[i] = byte(r.Uint32())
		}
		return b, []extent{hit}
	}},
	{"garbage that looks like content", false, func(b, fake []byte, r *rand.Rand) ([]byte, []extent) {
		at := r.IntN(len(b))
		hit := extent{at, min(at+len(fake)*(1+r.IntN(40)), len(b))}
		copy(b[hit.start:hit.end], bytes.Repeat(fake, 41))
		return b, []extent{hit}
	}},
	{"sectors of zeros", false, func(b, _ []byte, r *rand.Rand) ([]byte, []extent) {
		at := r.IntN(len(b)) / 512 * 512
		hit := extent{at, min(at+512*(1+r.IntN(8)), len(b))}
		clear(b[hit.start:hit.end])
		return b, []extent{hit}
	}},
	{"cut off", false, func(b, _ []byte, r *rand.Rand) ([]byte, []extent) {
		at := 1 + r.IntN(len(b)-1)
		return b[:at], []extent{{at, len(b)}}
	}},
	{"without the beginning", true, func(b, _ []byte, r *rand.Rand) ([]byte, []extent) {
		at := 1 + r.IntN(len(b)/2)
		return b[at:], []extent{{0, at}}
	}},
	{"missing piece", true, func(b, _ []byte, r *rand.Rand) ([]byte, []extent) {
		at := r.IntN(len(b))
		hit := extent{at, min(at+1+r.IntN(2000), len(b))}
		return slices.Delete(b, hit.start, hit.end), []extent{hit}
	}},
	{"inserted garbage", true, func(b, _ []byte, r *rand.Rand) ([]byte, []extent) {
		at := r.IntN(len(b))
		garbage := make([]byte, 1+r.IntN(2000))
		for i := range garbage {
			garbage[i] = byte(r.Uint32())
		}
		return slices.Insert(b, at, garbage...), []extent{{at, at + 1}, {max(at-1, 0), at}}
	}},
	{"several places", false, func(b, _ []byte, r *rand.Rand) ([]byte, []extent) {
		var hits []extent
		for range 5 {
			at := r.IntN(len(b))
			hit := extent{at, min(at+1+r.IntN(60), len(b))}
			for i := hit.start; i < hit.end; i++ {
				b[i] = byte(r.Uint32())
			}
			hits = append(hits, hit)
		}
		return b, hits
	}},
}

// isIntact reports whether no hit overlaps the chunk of message i or the data between the previous chunk and this one,
// which holds the length of the chunk.
func (v *victim) isIntact(i int, hits []extent) bool {
	own, before := v.chunks[i], extent{}
	for j := i - 1; j >= 0 && before == (extent{}); j-- {
		if v.chunks[j] != own {
			before = v.chunks[j]
		}
	}
	own.start = before.end
	return !slices.ContainsFunc(hits, own.overlaps)
}

// listedRange matches a line of recover that lists damaged or lost messages.
var listedRange = regexp.MustCompile(`(?m)^(may be damaged, kept|lost): \d+ messages? on `)

// TestSalvage damages recordings in many ways and places. The recovered recording must have every message outside the
// damage, and recover must report the damage.
func TestSalvage(t *testing.T) {
	rounds := 3
	for i, s := range storages {
		for k, h := range harms {
			if h.moves && filepath.Ext(s.name) == ".db3" {
				continue
			}
			if testing.Short() {
				rounds = 1
				if (i+k)%4 > 0 { // every harm and every storage at least twice, but not every pair
					continue
				}
			}
			t.Run(s.name+" "+s.compression+" "+h.name, func(t *testing.T) {
				random := rand.New(rand.NewPCG(7, 8))
				v := makeVictim(t, s.name, s.compression, random)
				for round := range rounds {
					b, hits := h.do(bytes.Clone(v.data), s.fake, random)
					folder := t.TempDir()
					path, out := filepath.Join(folder, s.name), filepath.Join(folder, "saved"+
						strings.Replace(filepath.Ext(s.name), ".db3", ".mcap", 1))
					require.NoError(t, os.WriteFile(path, b, 0o644))
					stdout, stderr, err := run(t, "recover", path, out)
					at := fmt.Sprintf("round %d: hit %v of %d\n%.600s\n%s", round, hits, len(v.data), stderr, stdout)
					isIntact := func(i int) bool { return v.isIntact(i, hits) }
					if err != nil {
						for i := range v.payloads {
							require.False(t, isIntact(i), "recover fails although message %d is intact: %v\n%s", i, err,
								at)
						}
						continue
					}
					reported := false // the saved recording has events about the damage
					_, messages := readAll(t, out)
					messages = slices.DeleteFunc(messages, func(m codec.Message) bool {
						events := codec.IsEvents(m.Channel)
						reported = reported || events
						return events
					})
					require.Contains(t, stdout, fmt.Sprintf(": %s, ", human.Count(len(messages), "message")))
					saved := map[string]int{}
					for _, m := range messages {
						saved[string(m.Data)]++
					}
					lost := 0
					for i, p := range v.payloads {
						if isIntact(i) {
							require.LessOrEqual(t, saved[string(p)], 1, "message %d was saved twice; %s", i, at)
						}
						if saved[string(p)] == 0 {
							lost++
							require.False(t, isIntact(i), "intact message %d is lost; %s", i, at)
						}
					}
					require.Equal(t, reported, listedRange.MatchString(stdout), "events and lines differ; %s",
						at)
					// SQLite has no checksums: payloads may have changed.
					if s.name != "drive.db3" && strings.Contains(stdout, "nothing was damaged") {
						require.Zero(t, lost, "messages are lost although nothing was damaged; %s", at)
					}
				}
			})
		}
	}
}
