package mcap

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"slices"

	"github.com/foxglove/mcap/go/mcap"

	"tapedeck/codec/internal/chunked"
	"tapedeck/codec/store"
	"tapedeck/codec/text/plural"
)

const footerSize = recordHead + 8 + 8 + 4

// readSummary finds the segments by the summary. The error is a *chunked.NoIndexError if the summary cannot be used.
func (r *reader) readSummary() error {
	footer, err := r.footer()
	if err != nil {
		return err
	}
	start, end := int64(footer.SummaryStart), r.Size-int64(len(mcap.Magic))-footerSize
	if start == 0 {
		return chunked.Missing("there is no summary")
	}
	if start < int64(len(mcap.Magic)) || start > end {
		return chunked.Wrong("the footer says that the summary begins at 0x%x", start)
	}
	store.Prefetch(r.File, start, r.Size-start)
	if footer.SummaryCRC != 0 {
		crc := crc32.NewIEEE()
		if _, err := io.Copy(crc, io.NewSectionReader(r.File, start, end+footerSize-4-start)); err != nil {
			return err
		}
		if crc.Sum32() != footer.SummaryCRC {
			return chunked.Wrong("the checksum of the summary is wrong")
		}
	}
	var statistics *mcap.Statistics
	err = r.walk(start, end, func(rec record, content []byte) error {
		switch rec.op {
		case mcap.OpSchema, mcap.OpChannel:
			return r.define(rec.op, content)
		case mcap.OpStatistics:
			statistics, err = mcap.ParseStatistics(content)
			return err
		case mcap.OpChunkIndex:
			chunk, err := mcap.ParseChunkIndex(content)
			if err != nil {
				return err
			}
			return r.addChunk(chunk, start)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if statistics == nil {
		return chunked.Missing("there are no statistics")
	}
	if err := r.checkSummary(statistics); err != nil {
		return err
	}
	r.summaryChecked = footer.SummaryCRC != 0
	for id, n := range statistics.ChannelMessageCounts {
		r.Contents.Count(int(id), n)
	}
	if err := r.walkGaps(start); err != nil {
		return err
	}
	if len(r.attachments) < int(statistics.AttachmentCount) || r.metadataRecords < int(statistics.MetadataCount) {
		return chunked.Wrong("%d of %d attachments and %d of %s are in the file", len(r.attachments),
			statistics.AttachmentCount, r.metadataRecords, plural.Count(statistics.MetadataCount, "metadata record"))
	}
	// The index is more reliable: libmcap's statistics ignore the time 0.
	for i := range r.Contents.Segments {
		if s := &r.Contents.Segments[i]; len(s.Channels) > 0 {
			r.Contents.Cover(s.Start, s.End)
		}
	}
	if _, _, ok := r.Contents.Covered(); !ok && statistics.MessageCount > 0 {
		r.Contents.Cover(int64(statistics.MessageStartTime), int64(statistics.MessageEndTime))
	}
	r.complete = true
	return nil
}

// footer reads the end of the file.
func (r *reader) footer() (*mcap.Footer, error) {
	tail := make([]byte, footerSize+len(mcap.Magic))
	if r.Size < int64(2*len(mcap.Magic)+footerSize) {
		return nil, chunked.Missing("there is no footer")
	}
	if _, err := r.File.ReadAt(tail, r.Size-int64(len(tail))); err != nil {
		return nil, chunked.Unexpected(err)
	}
	if !bytes.Equal(tail[footerSize:], mcap.Magic) || mcap.OpCode(tail[0]) != mcap.OpFooter ||
		binary.LittleEndian.Uint64(tail[1:]) != footerSize-recordHead {
		return nil, chunked.Missing("there is no footer")
	}
	return mcap.ParseFooter(tail[recordHead:])
}

// walk calls visit with each record between the offsets from and to, and its walker.contentOf. An error of visit, or
// damage, becomes a *chunked.NoIndexError.
func (r *reader) walk(from, to int64, visit func(rec record, content []byte) error) error {
	w := walker{Window: chunked.Window{File: r.File, Size: r.Size}, off: from, to: to, known: r.known}
	for {
		rec, err := w.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if w.Err != nil {
			return w.Err
		}
		if err == nil {
			err = visit(rec, w.contentOf(rec))
		}
		var reason *chunked.NoIndexError
		if errors.As(err, &reason) {
			return err
		}
		if err != nil {
			return chunked.Wrong("%s record at 0x%x: %v", rec.op, rec.offset, err)
		}
	}
}

// addChunk adds the segment that an index entry describes. The data section ends at or before end.
func (r *reader) addChunk(c *mcap.ChunkIndex, end int64) error {
	if c.ChunkStartOffset > uint64(end) || c.ChunkLength > uint64(end)-c.ChunkStartOffset ||
		c.ChunkLength < recordHead+chunkHead || c.MessageIndexLength > uint64(end)-c.ChunkStartOffset-c.ChunkLength {
		return chunked.Wrong("the index has a chunk of %s at 0x%x", plural.Count(c.ChunkLength, "byte"),
			c.ChunkStartOffset)
	}
	s := chunked.Segment{
		Offset: int64(c.ChunkStartOffset), Size: int64(c.ChunkLength), IndexSize: int64(c.MessageIndexLength),
		Chunk: true, Compression: c.Compression.String(),
		Start: int64(c.MessageStartTime), End: int64(c.MessageEndTime),
	}
	if c.MessageIndexLength > 0 {
		s.Channels = []int{}
		for id := range c.MessageIndexOffsets {
			s.Channels = append(s.Channels, int(id))
		}
		slices.Sort(s.Channels)
	}
	r.Contents.Segments = append(r.Contents.Segments, s)
	return nil
}

// checkSummary returns an error if the summary lacks something that reading needs.
func (r *reader) checkSummary(statistics *mcap.Statistics) error {
	channels := 0
	for _, c := range r.Contents.Channels {
		if c != nil {
			channels++
		}
	}
	switch {
	case int(statistics.ChunkCount) != len(r.Contents.Segments):
		return chunked.Missing("%d of %d chunks are in the index", len(r.Contents.Segments), statistics.ChunkCount)
	case int(statistics.ChannelCount) != channels || int(statistics.SchemaCount) != len(r.schemas):
		return chunked.Missing("%d of %d channels and %d of %d schemas are in the summary",
			channels, statistics.ChannelCount, len(r.schemas), statistics.SchemaCount)
	}
	var sum uint64
	for id, n := range statistics.ChannelMessageCounts {
		sum += n
		if !r.known(id) {
			return chunked.Missing("channel %d is not in the summary", id)
		}
	}
	for i := range r.Contents.Segments {
		for _, id := range r.Contents.Segments[i].Channels {
			if !r.Contents.Known(id) {
				return chunked.Missing("channel %d is not in the summary", id)
			}
		}
	}
	if sum != statistics.MessageCount {
		return chunked.Missing("the statistics count %s, and %d by channel",
			plural.Count(statistics.MessageCount, "message"), sum)
	}
	return nil
}

// walkGaps reads the records between the chunks of the index: metadata, attachments, and messages outside of chunks.
// The data section ends at or before end.
func (r *reader) walkGaps(end int64) error {
	chunks := r.Contents.Segments
	slices.SortFunc(chunks, func(a, b chunked.Segment) int { return cmp.Compare(a.Offset, b.Offset) })
	r.Contents.Segments = nil
	from := int64(len(mcap.Magic))
	b := builder{r, chunked.Run{Contents: &r.Contents, Counted: true}}
	gap := func(to int64) error {
		defer b.Flush()
		return r.walk(from, to, func(rec record, content []byte) error {
			if rec.op == mcap.OpChunk {
				return chunked.Missing("the chunk at 0x%x is not in the index", rec.offset)
			}
			return b.add(rec, content)
		})
	}
	for _, c := range chunks {
		if c.Offset < from {
			return chunked.Wrong("the index has overlapping chunks at 0x%x", c.Offset)
		}
		if err := gap(c.Offset); err != nil {
			return err
		}
		r.Contents.Segments = append(r.Contents.Segments, c)
		from = c.Offset + c.Size + c.IndexSize
	}
	return gap(end)
}
