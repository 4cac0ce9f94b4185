package output

import "hash/crc32"

// PieceSize is how many bytes of a chunk are collected before they are written ahead of the rest. So many stay in the
// cache of a processor from the copy of the payloads to the one that the system makes. Only tests change it.
var PieceSize = 512 << 10

// sumAtOnce is how many bytes are summed and then written, for the same reason.
const sumAtOnce = 256 << 10

// Body is the body of a chunk that is written in pieces, the messages, ahead of what precedes and follows it. Its owner
// is the Encoder; the ChunkWriter writes it while the Encoder is not called.
type Body struct {
	Buf    []byte // Room bytes, then what is not in the file
	Room   int    // for what precedes the body
	Direct []byte // follows Buf: a payload, which is the caller's of Write and is written before that returns

	front   []byte // precedes the body until the chunk is complete; nil: nothing of the chunk is in the file
	written int64  // bytes of the body in the file
	sum     uint32
	whole   bool // nothing is to be written ahead
}

// NewBody returns an empty body whose buffer begins with room bytes.
func NewBody(room int) Body {
	return Body{Buf: make([]byte, room, room+PieceSize+PieceSize/4), Room: room}
}

// AppendPayload appends a payload, without a copy if it is large.
func (b *Body) AppendPayload(data []byte) {
	if len(data) >= PieceSize/8 && !b.whole {
		b.Direct = data
	} else {
		b.Buf = append(b.Buf, data...)
	}
}

// Size returns the bytes of the body.
func (b *Body) Size() int64 { return b.written + int64(len(b.Buf)-b.Room+len(b.Direct)) }

// Begun reports whether a part of the chunk is in the file.
func (b *Body) Begun() bool { return b.front != nil }

// Sum returns the CRC-32 (IEEE) of the body when its chunk is encoded.
func (b *Body) Sum() uint32 { return b.sum }

// Reset empties the body, which keeps its memory.
func (b *Body) Reset() { *b = Body{Buf: b.Buf[:b.Room], Room: b.Room} }

// due reports whether there is enough to be written.
func (b *Body) due() bool { return b.Direct != nil || len(b.Buf)-b.Room >= PieceSize }

// begin writes front in the place of what precedes the body.
func (b *Body) begin(f *File, front []byte) error {
	b.front = front
	return f.WriteAt(front, f.Size())
}

// write writes what is not in the file behind the rest of the body, which is behind the end of the file.
func (b *Body) write(f *File) error {
	off := f.Size() + int64(len(b.front))
	err := b.each(func(part []byte) error {
		err := f.WriteAt(part, off+b.written)
		b.written += int64(len(part))
		return err
	})
	b.Buf, b.Direct = b.Buf[:b.Room], nil
	return err
}

// each sums what is not in the file and calls do with its parts.
func (b *Body) each(do func(part []byte) error) error {
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

// prepare gets the body ready for the chunk to be encoded.
func (b *Body) prepare(f *File) error {
	if b.Begun() {
		return b.write(f)
	}
	return b.each(func([]byte) error { return nil })
}

// complete writes what precedes and follows the body. Then the chunk is in the file.
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
	for _, part := range rest {
		if err := f.WriteAt(part, end); err != nil {
			return err
		}
		end += int64(len(part))
	}
	if err := f.WriteAt(head, f.Size()); err != nil {
		return err
	}
	f.size = end
	return nil
}
