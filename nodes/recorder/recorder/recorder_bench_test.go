package recorder

import (
	"fmt"
	"testing"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/nodes/recorder/internal/filewriter"
	"tapedeck/nodes/recorder/internal/intake"
	"tapedeck/nodes/recorder/internal/queue"
)

// nowhere is a codec.Writer that does nothing.
type nowhere struct{ codec.NoSplits }

func (nowhere) Declare(*codec.Channel) error { return nil }
func (nowhere) Write(*codec.Message) error   { return nil }
func (nowhere) Sync() error                  { return nil }
func (nowhere) Close() error                 { return nil }
func (nowhere) Losses() []codec.Loss         { return nil }

func newTestReceiver(topic string, q *queue.Queue) *intake.Receiver {
	return intake.NewReceiver(&codec.Channel{Topic: topic}, intake.Options{Clock: new(bridge.SimTime), Queue: q})
}

// BenchmarkMessage passes messages of 100 bytes from subscriptions through the queue to a writer, in batches as the
// middleware does.
func BenchmarkMessage(b *testing.B) {
	for _, topics := range []int{1, 500} {
		b.Run(fmt.Sprintf("%d topics", topics), func(b *testing.B) {
			q := queue.New(256 << 20)
			live := &filewriter.LiveReader{Queue: q, Reorder: queue.Reorder}
			w := filewriter.New(live, filewriter.SizedWriter{Writer: nowhere{}}, filewriter.Callbacks{
				OnFileEnd:  func(int64, int64, bool) {},
				NoteLosses: func() {},
				Recorded:   func() []filewriter.Counted { return nil },
				Now:        func() int64 { return 1 },
			})
			stop := make(chan struct{})
			close(stop)
			streams := make([]*intake.Receiver, topics)
			for i := range streams {
				streams[i] = newTestReceiver(fmt.Sprintf("/topic%d", i), q)
			}
			batch := make([]bridge.Sample, 64)
			sequence, now := uint64(0), bridge.Now()
			data := make([]byte, 100)
			b.ReportAllocs()
			b.ResetTimer()
			for i := 0; i < b.N; i += len(batch) {
				for j := range batch {
					sequence++
					batch[j] = bridge.Sample{Data: data, ReceiveTime: now + int64(sequence),
						Received: now + int64(sequence), Publisher: bridge.GUID{1}, Sequence: sequence}
				}
				streams[i/len(batch)%topics].Take(batch)
				if i/len(batch)%16 == 15 {
					if err := w.Run(stop); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

// BenchmarkOverload measures receiving while nothing is written and the queue drops a message for each new one.
func BenchmarkOverload(b *testing.B) {
	for _, topics := range []int{1, 500} {
		b.Run(fmt.Sprintf("%d topics", topics), func(b *testing.B) {
			q := queue.New(16 << 20)
			streams := make([]*intake.Receiver, topics)
			for i := range streams {
				streams[i] = newTestReceiver(fmt.Sprintf("/topic%d", i), q)
			}
			batch := make([]bridge.Sample, 64)
			sequence := uint64(0)
			data := make([]byte, 100)
			b.ReportAllocs()
			b.ResetTimer()
			for i := 0; i < b.N; i += len(batch) {
				for j := range batch {
					sequence++
					batch[j] = bridge.Sample{Data: data, ReceiveTime: int64(sequence),
						Received: int64(sequence), Publisher: bridge.GUID{1}, Sequence: sequence}
				}
				streams[i/len(batch)%topics].Take(batch)
			}
		})
	}
}
