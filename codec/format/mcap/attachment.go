package mcap

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/foxglove/mcap/go/mcap"

	"tapedeck/codec"
	"tapedeck/codec/internal/output"
	"tapedeck/codec/text/plural"
)

const (
	// maxAttachmentHead is the maximum of bytes before the content of an attachment, mostly its name and its media
	// type.
	maxAttachmentHead = 64 << 10
	crcSize           = 4
	copySize          = 1 << 20 // bytes of an attachment that are in memory at once
)

// attach adds the attachment of rec. content is the beginning of the record.
func (r *reader) attach(rec record, content []byte) error {
	a := codec.Attachment{}
	head, rest := int64(2*8), content[min(len(content), 2*8):]
	for _, text := range []*string{&a.Name, &a.MediaType} {
		if len(rest) < 4 || uint64(binary.LittleEndian.Uint32(rest)) > uint64(len(rest)-4) {
			return errors.New("the name or the media type is too long")
		}
		n := int(binary.LittleEndian.Uint32(rest))
		*text, rest, head = string(rest[4:4+n]), rest[4+n:], head+4+int64(n)
	}
	if len(rest) < 8 {
		return errors.New("no size of the data")
	}
	head += 8
	a.LogTime, a.CreateTime = int64(binary.LittleEndian.Uint64(content)), int64(binary.LittleEndian.Uint64(content[8:]))
	size := binary.LittleEndian.Uint64(rest)
	if size > uint64(max(rec.size-head-crcSize, 0)) {
		return fmt.Errorf("an attachment of %s in a record of %d", plural.Count(size, "byte"), rec.size)
	}
	a.Size = int64(size)
	offset, name := rec.offset+recordHead, fmt.Sprintf("read %s: attachment %q at 0x%x", r.Path, a.Name, rec.offset)
	a.Open = func(damaged func(error)) io.Reader {
		return &attachmentReader{
			SectionReader: io.NewSectionReader(r.File, offset+head, a.Size),
			head:          io.NewSectionReader(r.File, offset, head),
			crc:           io.NewSectionReader(r.File, offset+head+a.Size, crcSize),
			name:          name, damaged: damaged,
		}
	}
	r.attachments = append(r.attachments, a)
	return nil
}

// attachmentReader reads the bytes of an attachment and compares their checksum at the end.
type attachmentReader struct {
	*io.SectionReader
	head, crc io.Reader // of the record, before and after the bytes
	name      string
	damaged   func(error)

	begun bool
	sum   uint32
}

func (r *attachmentReader) Read(b []byte) (int, error) {
	if !r.begun { // the checksum includes the fields before the bytes
		head, err := io.ReadAll(r.head)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", r.name, err)
		}
		r.begun, r.sum = true, crc32.ChecksumIEEE(head)
	}
	n, err := r.SectionReader.Read(b)
	r.sum = crc32.Update(r.sum, crc32.IEEETable, b[:n])
	if errors.Is(err, io.EOF) {
		err = r.compare()
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = fmt.Errorf("%s: %w", r.name, err)
	}
	return n, err
}

// compare returns io.EOF, or an error if the checksum is wrong. A checksum of 0 means that there is no checksum.
func (r *attachmentReader) compare() error {
	var want [crcSize]byte
	switch n, err := io.ReadFull(r.crc, want[:]); {
	case n == 0: // the checksum was compared before
		return io.EOF
	case err != nil:
		return err
	}
	if crc := binary.LittleEndian.Uint32(want[:]); crc == 0 || crc == r.sum {
		return io.EOF
	}
	err := errors.New("the checksum is wrong: some of its bytes may be damaged")
	if r.damaged == nil {
		return err
	}
	r.damaged(fmt.Errorf("%s: %w", r.name, err))
	return io.EOF
}

// Attach appends an attachment to the file. It reads the bytes in pieces.
func (w *encoder) Attach(file *output.File, a *codec.Attachment) error {
	index := mcap.AttachmentIndex{
		Offset: uint64(file.Size()), LogTime: uint64(a.LogTime), CreateTime: uint64(a.CreateTime),
		DataSize: uint64(a.Size), Name: a.Name, MediaType: a.MediaType,
	}
	head := []byte{byte(mcap.OpAttachment)}
	size := 2*8 + 4 + len(a.Name) + 4 + len(a.MediaType) + 8 + crcSize
	head = binary.LittleEndian.AppendUint64(head, uint64(size)+index.DataSize)
	head = binary.LittleEndian.AppendUint64(head, index.LogTime)
	head = binary.LittleEndian.AppendUint64(head, index.CreateTime)
	for _, text := range []string{a.Name, a.MediaType} {
		head = append(binary.LittleEndian.AppendUint32(head, uint32(len(text))), text...)
	}
	head = binary.LittleEndian.AppendUint64(head, index.DataSize)
	if err := file.Append(head); err != nil {
		return err
	}
	crc := crc32.NewIEEE()
	crc.Write(head[recordHead:])
	n, err := io.CopyBuffer(file, io.TeeReader(a.Open(nil), crc), make([]byte, copySize))
	if err == nil && n != a.Size {
		err = fmt.Errorf("attachment %q has %s where %d were expected", a.Name, plural.Count(n, "byte"), a.Size)
	}
	sum := binary.LittleEndian.AppendUint32(nil, crc.Sum32())
	if err == nil {
		err = file.Append(sum)
	}
	if err != nil {
		return err
	}
	w.sum.add(head[:recordHead])
	w.sum.join(crc.Sum32(), int64(len(head)-recordHead)+a.Size)
	w.sum.add(sum)
	w.attached++
	index.Length = uint64(file.Size()) - index.Offset
	record, err := encode(w, w.encoder.WriteAttachmentIndex, &index)
	w.summary.attachments = append(w.summary.attachments, record...)
	return err
}
