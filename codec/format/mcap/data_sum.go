package mcap

import (
	"hash/crc32"
	"io"
)

// dataSum is a CRC-32 (IEEE) that grows with the bytes of a file's data section.
type dataSum uint32

// add appends bytes.
func (s *dataSum) add(b []byte) { *s = dataSum(crc32.Update(uint32(*s), crc32.IEEETable, b)) }

// Write implements io.Writer by add.
func (s *dataSum) Write(b []byte) (int, error) {
	s.add(b)
	return len(b), nil
}

// read appends the bytes of a file from one offset to another.
func (s *dataSum) read(file io.ReaderAt, from, to int64) error {
	_, err := io.Copy(s, io.NewSectionReader(file, from, to-from))
	return err
}

// join appends n bytes whose CRC-32 is sum. It takes about a microsecond for any n.
func (s *dataSum) join(sum uint32, n int64) {
	// A sum is a polynomial modulo IEEE, whose highest bit is the coefficient of x^0. n bytes shift it by x^(8n).
	shift, power := uint32(1)<<31, uint32(1)<<(31-8) // 1 and x^8
	for ; n > 0; n >>= 1 {
		if n&1 != 0 {
			shift = multiply(shift, power)
		}
		power = multiply(power, power)
	}
	*s = dataSum(multiply(uint32(*s), shift) ^ sum)
}

// multiply returns the product of two polynomials modulo IEEE.
func multiply(a, b uint32) uint32 {
	product := uint32(0)
	for ; a != 0; a <<= 1 {
		product ^= b & -(a >> 31)
		b = b>>1 ^ crc32.IEEE&-(b&1)
	}
	return product
}
