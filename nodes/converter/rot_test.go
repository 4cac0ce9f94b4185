package main

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tapedeck/codec"
)

// rotten is a recording whose bytes the test flips.
type rotten struct {
	name string
	// write writes the recording at path.
	write func(t *testing.T, path string)
	path  string // file or folder, in a folder of its own
	// regions divides a file of the recording.
	regions func(t *testing.T, name string, b []byte) []region
	// messages has the regions in which a flipped byte may change or lose messages, and check and info -v find nothing.
	messages []string
	// rest has the regions in which a flipped byte may change anything else that Info has, also unnoticed: definitions,
	// QoS, metadata, attachments.
	rest []string
	// plain has further regions in which a flipped byte may change messages while plain reading finds nothing.
	plain []string
	// most is the number of bytes that are flipped; 0 means all.
	most int
}

// region is a part of a file, from the end of the previous region.
type region struct {
	end  int
	name string
}

// unusedRegion is the name of regions without content.
const unusedRegion = "unused"

// regionAt returns the name of the region with the byte at.
func regionAt(regions []region, at int) string {
	i, _ := slices.BinarySearchFunc(regions, at, func(r region, at int) int {
		if r.end <= at {
			return -1
		}
		return 1
	})
	if i == len(regions) {
		return unusedRegion
	}
	return regions[i].name
}

// allContent is the content of a recording, as hashes.
type allContent struct {
	messages []string // topics, types, times, payloads
	rest     []string // definitions, QoS, metadata, attachments
	warned   string   // damage that was reported while reading
}

// readContent reads a recording. The error is the one that ended reading.
func readContent(path string, verify bool) (c allContent, err error) {
	in, err := new(readOptions).openInput(path)
	if err != nil {
		return c, err
	}
	defer in.Close()
	hash := func(v ...any) string {
		sum := sha256.New()
		fmt.Fprintln(sum, v...)
		return string(sum.Sum(nil))
	}
	c.warned = strings.Join(append(warningsOf(in.info.Events), in.info.Notes...), "\n") + fmt.Sprint(in.info.Complete)
	damaged := func(err error) { c.warned += err.Error() }
	for _, t := range in.info.Topics {
		text, err := json.Marshal(t.Channel)
		if err != nil {
			return c, err
		}
		c.rest = append(c.rest, hash("channel", string(text)))
	}
	for _, r := range in.info.Records {
		c.rest = append(c.rest, hash("record", r))
	}
	c.rest = append(c.rest, hash("metadata", in.info.Metadata))
	for _, a := range in.info.Attachments {
		b, err := io.ReadAll(a.Open(damaged))
		if err != nil {
			return c, err
		}
		c.rest = append(c.rest, hash("attachment", a.Name, a.MediaType, a.LogTime, a.CreateTime, b))
	}
	for m, err := range codec.Messages(in.reader, codec.Query{Verify: verify, Damaged: damaged}) {
		if err != nil {
			return c, err
		}
		c.messages = append(c.messages, hash(m.Channel.Topic, m.Channel.Type, m.Channel.Encoding, m.LogTime,
			m.PublishTime, m.Data))
	}
	return c, nil
}

// outcome is the effect of a flipped byte on a reader.
type outcome int

const (
	harmless        outcome = iota
	found                   // an error, a warning or a finding
	restChanged             // unnoticed
	messagesChanged         // or lost, unnoticed
)

// compare returns the outcome of reading got with err instead of want.
func compare(want, got allContent, err error) outcome {
	switch {
	case err != nil || got.warned != want.warned:
		return found
	case !slices.Equal(want.messages, got.messages):
		return messagesChanged
	case !slices.Equal(want.rest, got.rest):
		return restChanged
	}
	return harmless
}

// commandsFind reports whether check, or else info -v, finds anything in the recording at path.
func commandsFind(t *testing.T, path string) bool {
	var stderr bytes.Buffer
	err := new(checkOptions).check(t.Context(), []string{path}, io.Discard, &stderr)
	if err == nil {
		o := defaultInfoOptions()
		o.Verbose = true
		err = o.info(t.Context(), []string{path}, io.Discard, &stderr)
	}
	return err != nil || stderr.Len() > 0
}

// TestRot flips bytes of small recordings, one at a time. Whatever changes the messages must be found by check, info -v
// and by reading, except in the regions that docs/reference/bit-rot.md names.
func TestRot(t *testing.T) {
	for _, r := range rottenRecordings() {
		t.Run(r.name, func(t *testing.T) {
			r.path = filepath.Join(t.TempDir(), r.path)
			r.write(t, r.path)
			r.test(t)
		})
	}
}

func (r *rotten) test(t *testing.T) {
	const seed = 44
	random := rand.New(rand.NewPCG(seed, 0))
	want, err := readContent(r.path, true)
	require.NoError(t, err)
	require.NotEmpty(t, want.messages)
	require.False(t, commandsFind(t, r.path))
	counts := map[outcome]int{}
	messages, rest, plain := silentFlips{}, silentFlips{}, silentFlips{}
	err = filepath.WalkDir(r.path, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(r.path, path)
		regions := r.regions(t, name, b)
		for _, at := range r.sample(random, regions, len(b)) {
			in := regionAt(regions, at)
			for _, mask := range []byte{1 << random.IntN(8), 0xff} {
				where := fmt.Sprintf("%s[%#x]^%#x", name, at, mask)
				b[at] ^= mask
				require.NoError(t, os.WriteFile(path, b, 0o666))
				b[at] ^= mask
				strict, quick := r.flip(t, want, where, int64(len(b)))
				counts[strict]++
				switch {
				case strict == messagesChanged:
					messages[in] = append(messages[in], where)
				case strict == restChanged:
					rest[in] = append(rest[in], where)
				}
				if quick == messagesChanged && strict != messagesChanged {
					plain[in] = append(plain[in], where)
				}
			}
		}
		return os.WriteFile(path, b, 0o666)
	})
	require.NoError(t, err)
	t.Logf("found %d, harmless %d, messages %d, rest %d", counts[found], counts[harmless], counts[messagesChanged],
		counts[restChanged])
	all := !testing.Short() && r.most == 0
	messages.compare(t, "change or lose messages", all, r.messages, nil)
	rest.compare(t, "change definitions, metadata or attachments", all, r.rest, nil)
	plain.compare(t, "change or lose messages for readers that do not verify", all, r.plain, r.messages)
}

// silentFlips are places of flipped bytes that nothing finds, by region.
type silentFlips map[string][]string

// compare requires that the places are in the allowed regions. If all bytes were flipped, it requires that each allowed
// region has some. It ignores others.
func (p silentFlips) compare(t *testing.T, what string, all bool, allowed, others []string) {
	for _, region := range slices.Sorted(maps.Keys(p)) {
		assert.Contains(t, slices.Concat(allowed, others), region, "flipped bytes %s, and nothing finds them: %.300v",
			what, p[region])
	}
	for _, region := range allowed {
		assert.True(t, !all || p[region] != nil, "%s: no flipped byte does %s unnoticed any more", region, what)
	}
}

// sample returns the offsets of the bytes to flip in a file of size bytes: all of them, or a sample of large files and
// unused regions.
func (r *rotten) sample(random *rand.Rand, regions []region, size int) []int {
	most := cmp.Or(r.most, 10_000)
	if testing.Short() {
		most = min(most/4, 40)
	}
	unused := 0
	var offsets []int
	for _, at := range random.Perm(size) {
		if regionAt(regions, at) == unusedRegion {
			unused++
			if unused > 50 {
				continue
			}
		}
		if len(offsets) == most {
			break
		}
		offsets = append(offsets, at)
	}
	slices.Sort(offsets)
	return offsets
}

// flip reads the recording, in which one byte is wrong, and returns the outcomes of reading with all checks and of
// plain reading.
func (r *rotten) flip(t *testing.T, want allContent, where string, size int64) (strict, plain outcome) {
	defer func() {
		if p := recover(); p != nil {
			t.Fatalf("%s: panic: %v\n%s", where, p, debug.Stack())
		}
	}()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	strict = found
	if !commandsFind(t, r.path) {
		got, err := readContent(r.path, true)
		strict = compare(want, got, err)
	}
	got, err := readContent(r.path, false)
	plain = compare(want, got, err)
	runtime.ReadMemStats(&after)
	require.Less(t, int64(after.TotalAlloc-before.TotalAlloc), 128<<20+1000*size, where)
	return strict, plain
}
