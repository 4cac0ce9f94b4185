package formats

import (
	"fmt"
	"io"
	"strings"
	"time"

	"tapedeck/codec"
	"tapedeck/codec/encoding/number"
	"tapedeck/codec/format/record"
	"tapedeck/codec/text/human"
)

// writeApolloInfo writes info as Apollo's "cyber_recorder info" does. For a record file the text is equal byte for
// byte, except hidden characters, and its numbers come from the header. A recording of another format is described as
// if it were converted to a record file. For a record file without an index, it writes the lines before the channels
// and returns an error.
func writeApolloInfo(w io.Writer, path string, info *codec.Info) error {
	header := record.Header{
		BeginTime: uint64(info.StartTime), EndTime: uint64(info.EndTime),
		MessageNumber: info.MessageCount, ChannelNumber: uint64(len(info.Topics)), Size: uint64(info.Size),
	}
	version, closed, indexed := "1.0", info.Complete, true
	if d, ok := info.Extra.(record.Details); ok && len(info.Files) == 1 {
		version, closed, indexed, header = d.Version, d.Closed, d.Indexed, d.Header
	}
	begin, end := float64(header.BeginTime)/1e9, float64(header.EndTime)/1e9
	var b strings.Builder
	line := func(label string, value any) { fmt.Fprintf(&b, "%-16s%v\n", label, value) }
	line("record_file:", human.Printable(path))
	line("version:", human.Printable(version))
	line("duration:", fmt.Sprintf("%f Seconds", end-begin))
	line("begin_time:", apolloTime(begin))
	line("end_time:", apolloTime(end))
	line("size:", apolloSize(header.Size))
	line("is_complete:", closed)
	line("message_number:", header.MessageNumber)
	line("channel_number:", header.ChannelNumber)
	if indexed {
		line("channel_info:", "")
		for _, t := range info.Topics {
			fmt.Fprintf(&b, "%16s%s%8d messages: %s\n", "", padded(human.Printable(t.Channel.Topic), 50),
				t.MessageCount, human.Printable(t.Channel.Type))
		}
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return err
	}
	if !indexed {
		return fmt.Errorf("%s has no index that can be read; without --apollo its channels are told", path)
	}
	return nil
}

// padded returns s with blanks appended up to n bytes.
func padded(s string, n int) string { return s + strings.Repeat(" ", max(0, n-len(s))) }

func apolloTime(s float64) string { return time.Unix(number.Int64(s), 0).Format("2006-01-02-15:04:05") }

// apolloSize writes a number of bytes with the precision of a float32, because Apollo divides float32s.
func apolloSize(n uint64) string {
	text := fmt.Sprintf("%d Bytes", n)
	for _, unit := range []struct {
		name  string
		bytes uint64
	}{{"GB", 1 << 30}, {"MB", 1 << 20}, {"KB", 1 << 10}} {
		if n >= unit.bytes {
			return fmt.Sprintf("%s (%f %s)", text, float32(n)/float32(unit.bytes), unit.name)
		}
	}
	return text
}
