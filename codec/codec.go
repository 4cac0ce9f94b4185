// Package codec defines the types through which every recording flows, whatever its format: Channel, Message, Reader
// and Writer, and Format itself.
//
// Each format is a package below this one. A program lists the formats that it knows, opens any recording with
// [Formats.Open] and writes one with [Formats.Create]:
//
//	formats := codec.Formats{mcap.Format, record.Format}
//	reader, err := formats.Open("drive.record")
//
// Formats know bytes. Package bridge knows the meaning of foreign payloads.
package codec
