package record

import (
	"fmt"
	"hash/crc32"
	"io"
	"slices"

	"tapedeck/codec"
)

// verify compares the checksum of a chunk, if it has one, and reports once if that is wrong.
func (it *iterator) verify(chunk int) (sound bool, err error) {
	if slices.Contains(it.suspect, chunk) {
		return false, nil
	}
	if sound, err = it.compare(chunk); err != nil || sound {
		return sound, err
	}
	it.suspect = append(it.suspect, chunk)
	d := &damage{path: it.path, pos: it.layout.bodies[chunk].start, chunk: chunk, text: wrongSum}
	return false, it.query.Damage(&codec.DamageError{Err: d, Suspect: it.messagesOf(chunk)})
}

// compare compares the checksum of a chunk.
func (it *iterator) compare(chunk int) (right bool, err error) {
	b, ok := it.layout.bodies[chunk]
	if !ok {
		return true, nil
	}
	if right, ok = it.sums[chunk]; ok {
		return right, nil
	}
	sum := crc32.NewIEEE()
	if _, err := io.Copy(sum, io.NewSectionReader(it.file, b.start, b.end-b.start)); err != nil {
		return false, fmt.Errorf("read %s: chunk %d at %#x: %w", it.path, chunk, b.start, codec.Pathless(err))
	}
	right = sum.Sum32() == b.sum
	it.sums[chunk] = right
	return right, nil
}

// messagesOf returns the messages of a chunk that the query selects.
func (it *iterator) messagesOf(chunk int) (all codec.Affected) {
	var m singleMessage
	for _, p := range it.layout.pieces {
		if p.chunk != chunk {
			continue
		}
		for pos := p.start; pos < p.end && readMessage(&it.scan, pos, &m) == nil; pos = m.end {
			if c := it.find(m.name); it.wants(c) && it.query.Covers(m.time) {
				all.Add(it.channels[c].Topic, m.time)
			}
		}
	}
	return all
}
