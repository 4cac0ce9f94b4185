package series

import "time"

// SplitLimits are the limits of one file. 0 means no limit.
type SplitLimits struct {
	Bytes    int64
	Duration time.Duration
	Messages uint64
}

// Split is the file that is being written. The zero Split is the first file of a recording. Times are log times in ns.
type Split struct {
	messages uint64
	bytes    int64 // approximate
	start    int64 // of the first message
	until    int64 // when the file is to end
	begun    bool  // the recording has a message
	origin   int64 // of the recording: files end at whole durations after it
}

// MessageSize returns the approximate number of bytes that a message takes in a file.
func MessageSize(topic string, payload []byte) int64 { return int64(len(payload)+len(topic)) + 48 }

// Full reports whether a message with the time t and the given size belongs in another file. A file has at least one
// message.
func (f *Split) Full(l *SplitLimits, t, size int64) bool {
	return f.messages > 0 &&
		(l.Messages > 0 && f.messages >= l.Messages ||
			l.Bytes > 0 && f.bytes+size > l.Bytes ||
			l.Duration > 0 && (t >= f.until || t < f.start-int64(l.Duration)))
}

// Repeats reports whether the messages that a file repeats from previous files take more than a tenth of its size
// limit. They do not count for the limits.
func Repeats(l *SplitLimits, bytes int64) bool { return l.Bytes > 0 && bytes > l.Bytes/10 }

// Begin is called with the time of each message before it is written.
func (f *Split) Begin(l *SplitLimits, t int64) {
	if f.messages > 0 {
		return
	}
	f.start = t
	if !f.begun || t < f.origin { // simulated time may restart
		f.origin, f.begun = t, true
	}
	if d := int64(l.Duration); d > 0 {
		f.until = f.origin + ((t-f.origin)/d+1)*d
	}
}

// Add counts a message of the given bytes that was written.
func (f *Split) Add(bytes int64) {
	f.messages++
	f.bytes += bytes
}

// Start returns the time of the first message, 0 if there is none.
func (f *Split) Start() int64 { return f.start }

// Next starts another file.
func (f *Split) Next() { *f = Split{begun: f.begun, origin: f.origin} }
