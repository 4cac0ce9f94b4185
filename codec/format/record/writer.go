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

	// messageHead is more than the bytes before the content of a message, without the channel's name.
	messageHead = 3*(1+binary.MaxVarintLen64) + publishSize
	// finalReserve is more than the bytes of the events that are written before the index after the disk failed.
	finalReserve = 16 << 10
)

// encoder encodes one file. Messages of a chunk may be in the file before the chunk is complete. Until then, the header
// of the chunk marks it as incomplete.
type encoder struct {
	path          string
	chunkSize     uint64
	chunkDuration uint64

	header    *recordpb.Header // of the file's present content
	index     []indexEntry
	indexSize int64 // upper bound for the file's present content

	channels  map[*codec.Channel]*writerChannel
	names     map[string]*writerChannel
	order     []*writerChannel
	topics    []*output.Topic // of the channels in order
	declared  int             // number of channels in order that are in the file
	encoded   int             // number of channels in order that are in the file or in a chunk taken for encoding
	checksums bool            // chunks get a checksum
	last      *codec.Channel  // channel of the last message
	lastOwn   *writerChannel  // the file's channel for last

	chunk chunk       // the open chunk
	spare output.Body // empty buffer for another chunk; its Buf is nil if there is none
}

var _ output.Encoder = (*encoder)(nil)

// writerChannel is a channel of the file.
type writerChannel struct {
	output.Topic        // Topic.Channel is the first declared channel, with the QoS of all equal channels
	number       int    // in the order of declaration
	prefix       []byte // the encoded name of a SingleMessage, and the tag of the time
	wire         *recordpb.Channel

	located bool    // the index lists the positions of the channel's messages
	places  []int64 // positions of the channel's messages in the file, if located
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

// Begin returns the header and its padding.
func (e *encoder) Begin(*codec.Info) ([]byte, error) {
	return append(e.encodeHeader(), make([]byte, firstSection)...)[:firstSection], nil
}

// encodeHeader returns the header, and the '0' that Apollo's writer adds.
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

// accepts returns an error if recordings cannot hold a channel.
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

// add adds a channel. The next chunk writes it to the file.
func (e *encoder) add(own *writerChannel) {
	own.number = len(e.order)
	e.names[own.wire.GetName()] = own
	e.order = append(e.order, own)
	e.topics = append(e.topics, &own.Topic)
	e.checksums = e.checksums || own.Channel.Encoding != codec.EncodingProtobuf
	own.located = located(own.Channel)
}

// join adds the QoS of a channel that shares own. If own is in the file already, the QoS is written with the next file.
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

// fits reports whether the open chunk has room for a message of lastOwn. The payloads of a chunk without the last one
// take at most chunkSize. The bytes around payloads of 100 bytes take a third of chunkSize. A chunk with smaller
// payloads ends early.
func (e *encoder) fits(m *codec.Message) bool {
	room := int64(e.chunkSize+e.chunkSize/2+1<<20) - e.chunk.body.Size()
	return int64(len(m.Data)) <= room-messageHead-int64(len(e.lastOwn.prefix))
}

// overtakes reports whether m does not fit the head of the open chunk, which is already in the file: the head does not
// declare the channel of m, or a number in the head would become longer.
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

// Append appends the message of the last Prepare. A message that is larger than a chunk is alone in its chunk.
func (e *encoder) Append(m *codec.Message) (full bool) {
	c := &e.chunk
	full = c.span.Messages == 0 && !e.fits(m)
	e.appendHead(e.lastOwn, m)
	c.body.AppendPayload(m.Data)
	return full || c.raw > e.chunkSize || uint64(m.LogTime-c.span.Start) > e.chunkDuration
}

// Front returns the channels and a head that marks the chunk as incomplete. The numbers in the head have the lengths
// for a chunk that continues as it began. If the chunk turns out smaller, the numbers get leading zeros. The chunk ends
// before a number would become longer.
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
	*c.widths.EndTime = max(*c.widths.EndTime, *c.widths.EndTime+e.chunkDuration) // negative times take the most bytes
	c.widths.BeginTime = new(max(*c.widths.EndTime, uint64(c.span.Start)))
	front, _ := encodeChannels(c.channels, 0)
	return c.appendHead(front, c.widths, 0, openBody)
}

func (e *encoder) Event(event codec.Event) (*codec.Message, error) { return codec.EventMessage(event) }
func (e *encoder) Topics() []*output.Topic                         { return e.topics }
func (e *encoder) Body() *output.Body                              { return &e.chunk.body }

// Take closes the open chunk. The chunk also has the channels that are not in the file yet.
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

// appendHead counts a message and appends the bytes before its content.
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
	b := append(e.chunk.body.Buf, nameTag) // ChunkBody.messages and SingleMessage.channel_name have equal tags
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
