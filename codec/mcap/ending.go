package mcap

import (
	"encoding/binary"
	"hash/crc32"
	"slices"

	"github.com/foxglove/mcap/go/mcap"

	"tapedeck/codec"
)

// summarySize is more than the summary takes, the next chunk included.
func (w *encoder) summarySize() int64 {
	const perTopic = 10 + 10 // in the statistics and in the index of the next chunk
	s := &w.summary
	return int64(len(s.schemas) + len(s.channels) + len(s.chunks) + len(s.metadata) + perTopic*len(w.topics))
}

// appendInfo appends what embed returns to b, which is written at offset.
func (w *encoder) appendInfo(b []byte, offset int64, info *codec.Info) ([]byte, error) {
	if w.embed == nil {
		return b, nil
	}
	name, values, err := w.embed(info)
	if err != nil {
		return nil, err
	}
	return w.appendMetadata(b, offset, name, values)
}

// appendMetadata appends a metadata record to b, which is written at offset, and adds it to the index.
func (w *encoder) appendMetadata(b []byte, offset int64, name string, values map[string]string) ([]byte, error) {
	record, err := w.encode(func() error { return w.encoder.WriteMetadata(&mcap.Metadata{Name: name, Metadata: values}) })
	if err != nil {
		return nil, err
	}
	index := mcap.MetadataIndex{Offset: uint64(offset) + uint64(len(b)), Length: uint64(len(record)), Name: name}
	b = append(b, record...)
	w.metadata++
	record, err = w.encode(func() error { return w.encoder.WriteMetadataIndex(&index) })
	w.summary.metadata = append(w.summary.metadata, record...)
	return b, err
}

// encodeSummary returns the file's end, from the record on that ends the data, which is at offset.
func (w *encoder) encodeSummary(offset int64, info *codec.Info) ([]byte, error) {
	s := mcap.Statistics{
		MessageCount: info.MessageCount, MessageStartTime: uint64(info.StartTime), MessageEndTime: uint64(info.EndTime),
		SchemaCount: uint16(len(w.schemas)), ChannelCount: uint32(len(w.channels)), ChunkCount: uint32(w.chunks),
		MetadataCount:        uint32(w.metadata),
		ChannelMessageCounts: map[uint16]uint64{},
	}
	for id, t := range w.topics {
		s.ChannelMessageCounts[uint16(id)] = t.Written()
	}
	statistics, err := w.encode(func() error { return w.encoder.WriteStatistics(&s) })
	if err != nil {
		return nil, err
	}
	statistics = slices.Clone(statistics)
	dataEnd, err := w.encode(func() error { return w.encoder.WriteDataEnd(&mcap.DataEnd{}) })
	if err != nil {
		return nil, err
	}
	dataEnd = slices.Clone(dataEnd)
	footer := mcap.Footer{SummaryStart: uint64(offset) + uint64(len(dataEnd))}
	var summary, offsets []byte
	for _, group := range []struct {
		op      mcap.OpCode
		records []byte
	}{
		{mcap.OpSchema, w.summary.schemas},
		{mcap.OpChannel, w.summary.channels},
		{mcap.OpStatistics, statistics},
		{mcap.OpChunkIndex, w.summary.chunks},
		{mcap.OpMetadataIndex, w.summary.metadata},
	} {
		if len(group.records) == 0 {
			continue
		}
		offset := mcap.SummaryOffset{GroupOpcode: group.op, GroupStart: footer.SummaryStart + uint64(len(summary)),
			GroupLength: uint64(len(group.records))}
		record, err := w.encode(func() error { return w.encoder.WriteSummaryOffset(&offset) })
		if err != nil {
			return nil, err
		}
		offsets = append(offsets, record...)
		summary = append(summary, group.records...)
	}
	footer.SummaryOffsetStart = footer.SummaryStart + uint64(len(summary))
	summary = append(summary, offsets...)
	summary = append(summary, byte(mcap.OpFooter))
	summary = binary.LittleEndian.AppendUint64(summary, footerSize-recordHead)
	summary = binary.LittleEndian.AppendUint64(summary, footer.SummaryStart)
	summary = binary.LittleEndian.AppendUint64(summary, footer.SummaryOffsetStart)
	summary = binary.LittleEndian.AppendUint32(summary, crc32.ChecksumIEEE(summary))
	return slices.Concat(dataEnd, summary, mcap.Magic), nil
}
