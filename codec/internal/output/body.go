package output

import (
	"hash/crc32"
	"slices"
)

// PieceSize is the size of the pieces in which a chunk is written, in bytes. A piece is small enough to be still in the
// CPU cache when write(2) copies it. Only tests change PieceSize.
var PieceSize = 512 << 10

// sumAtOnce is the number of bytes that are summed and then written while they are in the CPU cache.
const sumAtOnce = 256 << 10

// Body has the messages of a chunk. It is written in pieces, before the chunk's head and end are known. The Encoder
// owns the Body. The ChunkWriter writes the Body while no method of the Encoder runs.
type Body struct {
	Buf    []byte // Room bytes, then the bytes of the body that are neither in parts nor in the file yet
	Room   int    // bytes for the chunk's head
	Direct []byte // a large payload, not copied: it follows Buf and must be written before Write returns

	blocks *Blocks  // memory for Buf and parts; nil: Buf grows
	parts  [][]byte // full blocks before Buf, each with Room bytes before its content
	inside int      // bytes of the body in parts
	spare  [][]byte // blocks whose content is in the file

	front   []byte // pieceEncoder.Front, in the file; nil: nothing of the chunk is in the file
	written int64  // bytes of the body in the file
	sum     uint32
	whole   bool // the chunk is not written in pieces
}

// NewBody returns an empty body whose buffer begins with room bytes.
func NewBody(room int) Body {
	return Body{Buf: make([]byte, room, room+PieceSize+PieceSize/4), Room: room}
}

// Blocks is memory for the bodies of several chunks. The zero Blocks is ready for use.
type Blocks struct{ free [][]byte }

// blockSize is the size of a block in bytes. Each open chunk has at least one.
const blockSize = 64 << 10

// Body returns an empty body without memory. Grow must be called before Buf is used.
func (b *Blocks) Body(room int) Body { return Body{Room: room, blocks: b} }

// Grow ensures that a body of Blocks has memory for n more bytes in Buf.
func (b *Body) Grow(n int) {
	if b.blocks == nil || len(b.Buf) > 0 && len(b.Buf)+n <= cap(b.Buf) {
		return
	}
	b.free(&b.spare)
	if len(b.Buf) > 0 {
		b.parts = append(b.parts, b.Buf)
		b.inside += len(b.Buf) - b.Room
	}
	last := len(b.blocks.free) - 1
	if last < 0 {
		b.Buf = make([]byte, b.Room, blockSize)
		return
	}
	b.Buf, b.blocks.free = b.blocks.free[last][:b.Room], b.blocks.free[:last]
}

// free returns the blocks of a list to b.blocks.
func (b *Body) free(list *[][]byte) {
	b.blocks.free = append(b.blocks.free, *list...)
	*list = (*list)[:0]
}

// Append appends a copy of data.
func (b *Body) Append(data []byte) {
	if b.blocks == nil {
		b.Buf = append(b.Buf, data...)
		return
	}
	for len(data) > 0 {
		b.Grow(1)
		n := min(len(data), cap(b.Buf)-len(b.Buf))
		b.Buf = append(b.Buf, data[:n]...)
		data = data[n:]
	}
}

// Bytes returns the whole body, if nothing of it is in the file. Several blocks are copied to buf.
func (b *Body) Bytes(buf *[]byte) []byte {
	if len(b.parts) == 0 {
		return b.Buf[b.Room:]
	}
	*buf = (*buf)[:0]
	for content := range b.unwritten {
		*buf = append(*buf, content...)
	}
	return *buf
}

// Ready reports whether a piece must be written when payload is appended.
func (b *Body) Ready(payload []byte) bool { return large(payload) || b.copied() >= PieceSize }

// copied returns the number of copied bytes that are not in the file.
func (b *Body) copied() int { return b.inside + max(len(b.Buf)-b.Room, 0) }

// large reports whether a payload is written without a copy.
func large(payload []byte) bool { return len(payload) >= PieceSize/8 }

// AppendPayload appends a payload, without a copy if it is large.
func (b *Body) AppendPayload(data []byte) {
	if large(data) && !b.whole {
		b.Direct = data
	} else {
		b.Append(data)
	}
}

// Size returns the bytes of the body.
func (b *Body) Size() int64 { return b.written + int64(b.copied()+len(b.Direct)) }

// Begun reports whether a piece of the chunk is in the file.
func (b *Body) Begun() bool { return b.front != nil }

// Sum returns the CRC-32 (IEEE) of the summed bytes of the body: of all bytes when Chunk.Encode is called.
func (b *Body) Sum() uint32 { return b.sum }

// Reset empties the body. It keeps the memory, or returns it to the Blocks.
func (b *Body) Reset() {
	if b.blocks == nil {
		*b = Body{Buf: b.Buf[:b.Room], Room: b.Room}
		return
	}
	if b.Buf != nil {
		b.parts = append(b.parts, b.Buf)
	}
	b.free(&b.parts)
	b.free(&b.spare)
	*b = Body{Room: b.Room, blocks: b.blocks, parts: b.parts[:0], spare: b.spare[:0]}
}

// due reports whether a piece must be written.
func (b *Body) due() bool { return b.Direct != nil || b.copied() >= PieceSize }

// begin writes front where the chunk's head will be.
func (b *Body) begin(f *File, front []byte) error {
	b.front = front
	return f.WriteAt(front, f.Size())
}

// write writes the bytes of the body that are not in the file. f.Size does not include the open chunk.
func (b *Body) write(f *File) error {
	off := f.Size() + int64(len(b.front))
	err := b.each(func(piece []byte) error {
		err := f.WriteAt(piece, off+b.written)
		b.written += int64(len(piece))
		return err
	})
	b.spare = append(b.spare, b.parts...)
	b.parts, b.inside = b.parts[:0], 0
	b.Buf, b.Direct = b.Buf[:b.Room], nil
	return err
}

// each sums the bytes that are not in the file and calls do with pieces of them.
func (b *Body) each(do func(piece []byte) error) error {
	for rest := range b.unwritten {
		for len(rest) > 0 {
			n := min(len(rest), sumAtOnce)
			b.sum = crc32.Update(b.sum, crc32.IEEETable, rest[:n])
			if err := do(rest[:n]); err != nil {
				return err
			}
			rest = rest[n:]
		}
	}
	return nil
}

// unwritten yields the bytes of the body that are not in the file.
func (b *Body) unwritten(yield func([]byte) bool) {
	for _, part := range b.parts {
		if !yield(part[b.Room:]) {
			return
		}
	}
	_ = yield(b.Buf[b.Room:]) && yield(b.Direct)
}

// prepare sums the whole body, and writes the rest of a begun body. It is called before Chunk.Encode.
func (b *Body) prepare(f *File) error {
	if b.Begun() {
		return b.write(f)
	}
	return b.each(func([]byte) error { return nil })
}

// complete writes the chunk's head, and the rest of the chunk behind the body. Then f.Size includes the chunk.
func (b *Body) complete(f *File, head []byte, rest [][]byte) error {
	if !b.Begun() {
		body := slices.Collect(b.unwritten)
		first := b.Buf
		if len(b.parts) > 0 {
			first = b.parts[0]
		}
		if n := len(head); n <= b.Room {
			body[0] = first[b.Room-n:]
			copy(body[0], head)
			head = nil
		}
		return f.Append(slices.Concat([][]byte{head}, body, rest)...)
	}
	end := f.Size() + int64(len(b.front)) + b.written
	for _, b := range rest {
		if err := f.WriteAt(b, end); err != nil {
			return err
		}
		end += int64(len(b))
	}
	if err := f.WriteAt(head, f.Size()); err != nil {
		return err
	}
	f.size = end
	return nil
}
