package rosbag

import "github.com/pierrec/lz4/v4"

const (
	lz4Magic       = 0x184d2204
	lz4Independent = 1 << 5 // flags of a frame
	lz4BlockSum    = 1 << 4
	lz4Size        = 1 << 3
	lz4Dictionary  = 1
	lz4Stored      = 1 << 31 // of a block's size: it is not compressed

	maxRatio = 255 // of a block's size to what it is compressed to
)

// salvageLZ4 returns what can be saved of a broken LZ4 frame, at most size bytes, in dst if they fit there. In place
// of a broken block there are zeros.
func salvageLZ4(raw, dst []byte, size int) []byte {
	dst = dst[:0]
	if len(raw) < 7 || le.Uint32(raw) != lz4Magic {
		return dst
	}
	flags, block := raw[4], 1<<(8+2*(raw[5]>>4&7)) // of at most so many bytes
	head := 7
	if flags&lz4Size != 0 {
		head += 8
	}
	if flags&lz4Dictionary != 0 || block < 64<<10 {
		return dst
	}
	size = min(size, maxRatio*len(raw)+block)
	for rest := raw[min(head, len(raw)):]; len(rest) >= 4 && len(dst) < size; {
		n := le.Uint32(rest)
		stored := n&lz4Stored != 0
		n &^= lz4Stored
		if rest = rest[4:]; n == 0 || uint64(n) > uint64(len(rest)) {
			break
		}
		off := len(dst)
		dst = append(dst, make([]byte, min(block, size-off))...)
		var got int
		var err error
		if stored {
			got = copy(dst[off:], rest[:n])
		} else if got, err = lz4.UncompressBlock(rest[:n], dst[off:]); err != nil {
			if flags&lz4Independent == 0 {
				return dst[:off]
			}
			clear(dst[off:])
			got = len(dst) - off
		}
		dst, rest = dst[:off+got], rest[n:]
		if flags&lz4BlockSum != 0 {
			rest = rest[min(4, len(rest)):]
		}
	}
	return dst
}
