package record

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"tapedeck/codec"
	"tapedeck/codec/format/record/internal/recordpb"
	"tapedeck/codec/internal/output"
)

const (
	defaultChunkSize     = 16 << 20
	defaultChunkDuration = time.Second
	maxChunkSize         = 1 << 30

	// messageHead is more than what precedes a content, without the name.
	messageHead = 3*(1+binary.MaxVarintLen64) + publishSize
	// finalReserve is more than the events that are written before the index after the disk failed.
	finalReserve = 16 << 10
)

// encoder encodes one file. The messages of a chunk may be in the file before its header is: then that says until the
// chunk is complete that it is not.
type encoder struct {
	path          string
	chunkSize     uint64
	chunkDuration uint64

	header    *recordpb.Header // describes what is in the file
	index     []indexEntry
	indexSize int64 // upper bound, for what is in the file

	channels  map[*codec.Channel]*writerChannel
	names     map[string]*writerChannel
	order     []*writerChannel
	topics    []*output.Topic // of order
	declared  int             // so many of order are in the file
	encoded   int             // likewise, or in a chunk that is or may be being encoded
	checksums bool            // of chunks
	last      *codec.Channel  // of the last message
	lastOwn   *writerChannel

	chunk chunk       // the open one
	spare output.Body // empty, for another one
}

var _ output.Encoder = (*encoder)(nil)

// writerChannel is a channel of the file.
type writerChannel struct {
	output.Topic        // the channel is the first of those that share it, with the QoS of all
	number       int    // in the order of declaration
	prefix       []byte // the name as field of a SingleMessage and the tag of the time
	wire         *recordpb.Channel

	located bool    // the index says where in the file its messages are
	places  []int64 // there they are
}

func newEncoder(path string, o codec.CreateOptions) *encoder {
	e := &encoder{
		path:          path,
		chunkSize:     uint64(min(cmp.Or(o.ChunkSize, defaultChunkSize), maxChunkSize)),
		chunkDuration: uint64(cmp.Or(o.ChunkDuration, defaultChunkDuration)),
		channels:      map[*codec.Channel]*writerChannel{},
		names:         map[string]*writerChannel{},
	}
	e.header = &recordpb.Header{ // Apollo's writer sets all but map and vehicle
		MajorVersion: new(uint64(1)), MinorVersion: new(uint64), Compress: new(uint64),
		ChunkInterval: &e.chunkDuration, SegmentInterval: new(uint64), IndexPosition: new(uint64),
		ChunkNumber: new(uint64), ChannelNumber: new(uint64), BeginTime: new(uint64), EndTime: new(uint64),
		MessageNumber: new(uint64), Size: new(uint64), IsComplete: new(uint64), ChunkRawSize: &e.chunkSize,
		SegmentRawSize: new(uint64),
	}
	e.chunk.body = output.NewBody(chunkHead)
	return e
}

// Begin returns a header that is followed by its padding.
func (e *encoder) Begin(*codec.Info) ([]byte, error) {
	return append(e.encodeHeader(), make([]byte, firstSection)...)[:firstSection], nil
}

// encodeHeader returns the header, with the '0' that Apollo's writer has behind it.
func (e *encoder) encodeHeader() []byte {
	payload := encode(e.header)
	return append(append(section{headerSection, int64(len(payload))}.append(nil), payload...), '0')
}

func (e *encoder) Declare(c *codec.Channel) error {
	_, err := e.declare(c)
	return err
}

// declare returns the channel of the file for c.
func (e *encoder) declare(c *codec.Channel) (*writerChannel, error) {
	if own := e.channels[c]; own != nil {
		return own, nil
	}
	if err := acceptsTopic(c.Topic); err != nil {
		return nil, fmt.Errorf("write %s: %w", e.path, err)
	}
	name := c.Topic
	for i := 2; ; i++ {
		own := e.names[name]
		if own == nil {
			break
		}
		if first := own.Channel; first.Topic == c.Topic && first.Type == c.Type && first.Encoding == c.Encoding &&
			first.Schema.Encoding == c.Schema.Encoding && bytes.Equal(first.Schema.Data, c.Schema.Data) {
			e.channels[c] = own
			e.join(own, c.QoS)
			return own, nil
		}
		name = fmt.Sprintf("%s#%d", c.Topic, i)
	}
	own := &writerChannel{Topic: output.Topic{Channel: c}, wire: wireChannel(c, name)}
	own.prefix = append(appendBytes(nil, 1, name), timeTag)
	if err := acceptsDefinition(c, own.wire); err != nil {
		return nil, fmt.Errorf("write %s: %w", e.path, err)
	}
	e.add(own)
	e.channels[c] = own
	return own, nil
}

// accepts returns why recordings cannot hold a channel.
func accepts(c *codec.Channel) error {
	if err := acceptsTopic(c.Topic); err != nil {
		return err
	}
	return acceptsDefinition(c, wireChannel(c, c.Topic))
}

func acceptsTopic(topic string) error {
	switch {
	case topic == "":
		return errors.New("a topic without a name")
	case len(topic) > maxName-8:
		return fmt.Errorf("a topic has a name of %d bytes; at most %d fit", len(topic), maxName-8)
	}
	return nil
}

func acceptsDefinition(c *codec.Channel, wire *recordpb.Channel) error {
	if size := proto.Size(wire); size > maxChannel {
		return fmt.Errorf("the definition of %s takes %d bytes; at most %d fit", c.Topic, size, maxChannel)
	}
	return nil
}

// add adds a channel. It comes into the file with the next chunk.
func (e *encoder) add(own *writerChannel) {
	own.number = len(e.order)
	e.names[own.wire.GetName()] = own
	e.order = append(e.order, own)
	e.topics = append(e.topics, &own.Topic)
	e.checksums = e.checksums || own.Channel.Encoding != codec.EncodingProtobuf
	own.located = located(own.Channel)
}

// join adds the QoS of a channel that shares own. It comes into this file unless own is there already.
func (e *encoder) join(own *writerChannel, qos []codec.QoS) {
	joined := *own.Channel
	joined.QoS = codec.JoinQoS(slices.Clone(joined.QoS), qos)
	if len(joined.QoS) == len(own.Channel.QoS) {
		return
	}
	own.Channel = &joined
	if own.number >= e.encoded {
		own.wire, own.located = wireChannel(&joined, own.wire.GetName()), located(&joined)
	}
}

// Prepare reports whether m does not fit into the open chunk.
func (e *encoder) Prepare(m *codec.Message) (full bool, err error) {
	if m.Channel != e.last {
		own, err := e.declare(m.Channel)
		if err != nil {
			return false, err
		}
		e.last, e.lastOwn = m.Channel, own
	}
	if e.fits(m) {
		return e.overtakes(m), nil
	}
	if len(m.Data) > maxPayload-messageHead-len(e.lastOwn.prefix) {
		return false, fmt.Errorf("write %s: a message of %s takes %d bytes; at most %d fit",
			e.path, m.Channel.Topic, len(m.Data), math.MaxInt32-1<<10)
	}
	return true, nil
}

// fits reports whether there is room for a message of lastOwn in the open chunk. The contents are at most chunkSize
// before the last message, and what surrounds them takes a third as much again for messages of 100 bytes. When it takes
// more the chunk ends early.
func (e *encoder) fits(m *codec.Message) bool {
	room := int64(e.chunkSize+e.chunkSize/2+1<<20) - e.chunk.body.Size()
	return int64(len(m.Data)) <= room-messageHead-int64(len(e.lastOwn.prefix))
}

// overtakes reports whether what precedes the messages in the open chunk, which is in the file, has no room for m.
func (e *encoder) overtakes(m *codec.Message) bool {
	c := &e.chunk
	if !c.body.Begun() {
		return false
	}
	h := newChunkHeader(c.span, c.raw)
	wider := func(v, like uint64) bool { return protowire.SizeVarint(v) > protowire.SizeVarint(like) }
	return e.lastOwn.number >= e.declared+len(c.channels) || wider(uint64(m.LogTime), c.widths.GetEndTime()) ||
		wider(h.GetMessageNumber()+1, c.widths.GetMessageNumber()) ||
		wider(h.GetRawSize()+uint64(len(m.Data)), c.widths.GetRawSize())
}

// Append appends a message that Prepare was called with. One that is larger than the chunk is the only one in it.
func (e *encoder) Append(m *codec.Message) (full bool) {
	c := &e.chunk
	full = c.span.Messages == 0 && !e.fits(m)
	e.appendHead(e.lastOwn, m)
	c.body.AppendPayload(m.Data)
	return full || c.raw > e.chunkSize || uint64(m.LogTime-c.span.Start) > e.chunkDuration
}

// Front returns the channels and a head by which readers recognise that the chunk is not complete. Its numbers take as
// many bytes as those of a chunk that goes on as it began. In one that goes on otherwise they have leading zeros, or it
// ends early.
func (e *encoder) Front() []byte {
	c := &e.chunk
	c.channels, c.checksummed = e.order[e.declared:], e.checksums
	e.encoded = len(e.order)
	times := e.chunkSize / max(c.raw, 1)
	if d := uint64(c.span.End - c.span.Start); d > 0 {
		times = min(times, e.chunkDuration/d)
	}
	c.widths = newChunkHeader(c.span, c.raw+times*c.raw)
	*c.widths.MessageNumber *= times + 1
	*c.widths.EndTime = max(*c.widths.EndTime, *c.widths.EndTime+e.chunkDuration) // times before 0 take most bytes
	c.widths.BeginTime = new(max(*c.widths.EndTime, uint64(c.span.Start)))
	front, _ := encodeChannels(c.channels, 0)
	return c.appendHead(front, c.widths, 0, openBody)
}

func (e *encoder) Event(event codec.Event) (*codec.Message, error) { return codec.EventMessage(event) }
func (e *encoder) Topics() []*output.Topic                         { return e.topics }
func (e *encoder) Body() *output.Body                              { return &e.chunk.body }

// Take closes the open chunk. One without messages has the channels that are not in the file yet.
func (e *encoder) Take(beside bool) output.Chunk {
	c := e.chunk
	if !c.body.Begun() {
		c.channels, c.checksummed = e.order[e.declared:], e.checksums
		e.encoded = len(e.order)
	}
	if c.span.Messages == 0 && len(c.channels) == 0 {
		return nil
	}
	c.encoder, c.beside = e, beside
	next := c.body
	if beside {
		next, e.spare = e.spare, (output.Body{})
		if next.Buf == nil {
			next = output.NewBody(chunkHead)
		}
	}
	next.Reset()
	e.chunk = chunk{body: next}
	return &c
}

func (e *encoder) Drop() output.Span {
	span := e.chunk.Span()
	e.chunk.body.Reset()
	e.chunk = chunk{body: e.chunk.body}
	return span
}

// Finish writes the index and then the final header.
func (e *encoder) Finish(file *output.File, _ *codec.Info, durable bool) error {
	e.chunk, e.spare = chunk{}, output.Body{}
	*e.header.IndexPosition = uint64(file.Size())
	err := file.Append(e.encodeIndex())
	if err == nil && durable {
		err = file.Sync() // the header must not say that the file is complete before it is
	}
	if err == nil {
		*e.header.Size, *e.header.IsComplete = uint64(file.Size()), 1
		err = file.WriteAt(e.encodeHeader(), 0)
	}
	return err
}

// appendHead counts a message and appends what precedes its content.
func (e *encoder) appendHead(own *writerChannel, m *codec.Message) {
	time := uint64(m.LogTime)
	e.chunk.span.Add(m.LogTime)
	e.chunk.raw += uint64(len(m.Data))
	own.Messages++
	if own.located {
		e.chunk.places = append(e.chunk.places, place{own, e.chunk.body.Size()})
	}

	size := len(own.prefix) + protowire.SizeVarint(time) + 1 + protowire.SizeBytes(len(m.Data))
	if m.PublishTime != 0 {
		size += publishSize
	}
	b := append(e.chunk.body.Buf, nameTag) // the number of ChunkBody.messages is that of the name
	b = protowire.AppendVarint(b, uint64(size))
	b = append(b, own.prefix...)
	b = protowire.AppendVarint(b, time)
	if m.PublishTime != 0 {
		b = protowire.AppendTag(b, extension, protowire.Fixed64Type)
		b = protowire.AppendFixed64(b, uint64(m.PublishTime))
	}
	b = append(b, contentTag)
	e.chunk.body.Buf = protowire.AppendVarint(b, uint64(len(m.Data)))
}
