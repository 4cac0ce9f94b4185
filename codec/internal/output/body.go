package output

import "hash/crc32"

// PieceSize is the size of the pieces in which a chunk is written, in bytes. A piece is small enough to be still in the
// CPU cache when write(2) copies it. Only tests change PieceSize.
var PieceSize = 512 << 10

// sumAtOnce is the number of bytes that are summed and then written while they are in the CPU cache.
const sumAtOnce = 256 << 10

// Body has the messages of a chunk. It is written in pieces, before the chunk's head and end are known. The Encoder
// owns the Body. The ChunkWriter writes the Body while no method of the Encoder runs.
type Body struct {
	Buf    []byte // Room bytes, then the bytes of the body that are not in the file yet
	Room   int    // bytes for the chunk's head
	Direct []byte // a large payload, not copied: it follows Buf and must be written before Write returns

	front   []byte // pieceEncoder.Front, in the file; nil: nothing of the chunk is in the file
	written int64  // bytes of the body in the file
	sum     uint32
	whole   bool // the chunk is not written in pieces
}

// NewBody returns an empty body whose buffer begins with room bytes.
func NewBody(room int) Body {
	return Body{Buf: make([]byte, room, room+PieceSize+PieceSize/4), Room: room}
}

// Ready reports whether a piece must be written when payload is appended.
func (b *Body) Ready(payload []byte) bool { return large(payload) || len(b.Buf)-b.Room >= PieceSize }

// large reports whether a payload is written without a copy.
func large(payload []byte) bool { return len(payload) >= PieceSize/8 }

// AppendPayload appends a payload, without a copy if it is large.
func (b *Body) AppendPayload(data []byte) {
	if large(data) && !b.whole {
		b.Direct = data
	} else {
		b.Buf = append(b.Buf, data...)
	}
}

// Size returns the bytes of the body.
func (b *Body) Size() int64 { return b.written + int64(len(b.Buf)-b.Room+len(b.Direct)) }

// Begun reports whether a piece of the chunk is in the file.
func (b *Body) Begun() bool { return b.front != nil }

// Sum returns the CRC-32 (IEEE) of the summed bytes of the body: of all bytes when Chunk.Encode is called.
func (b *Body) Sum() uint32 { return b.sum }

// Reset empties the body and keeps the memory.
func (b *Body) Reset() { *b = Body{Buf: b.Buf[:b.Room], Room: b.Room} }

// due reports whether a piece must be written.
func (b *Body) due() bool { return b.Direct != nil || len(b.Buf)-b.Room >= PieceSize }

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
	b.Buf, b.Direct = b.Buf[:b.Room], nil
	return err
}

// each sums the bytes that are not in the file and calls do with pieces of them.
func (b *Body) each(do func(piece []byte) error) error {
	for _, rest := range [][]byte{b.Buf[b.Room:], b.Direct} {
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
		body := b.Buf[b.Room:]
		if n := len(head); n <= b.Room {
			body = b.Buf[b.Room-n:]
			copy(body, head)
			head = nil
		}
		return f.Append(append([][]byte{head, body, b.Direct}, rest...)...)
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
