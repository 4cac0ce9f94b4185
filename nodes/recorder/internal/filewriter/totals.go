package filewriter

import (
	"maps"
	"slices"
	"sync"

	"tapedeck/codec"
	"tapedeck/nodes/recorder/internal/queue"
)

// Counted is a topic of a recording.
type Counted struct {
	*queue.Topic
	Lost uint64 // messages lost in transport since the recording began
}

// totals counts the messages of a recording, file by file. Each message is in the totals of one file, as written or as
// dropped, even if the disk lost it after it was written.
//
// The goroutine of Run begins and ends files. The goroutines that complete files call Writer.Ending, perhaps before Run
// knows that a file failed.
type totals struct {
	recorded func() []Counted
	open     *fileTotals // totals of the current or last file; only Run replaces it, with mu held

	mu      sync.Mutex
	counted map[*queue.Topic]codec.Totals // sum of the totals of all files
	files   map[string]*fileTotals        // totals of files that are not complete, by path
}

// fileTotals are the totals of one file.
type fileTotals struct {
	recording  *recordingTotals
	start, end int64 // log times of the first and the last message; 0: unknown, as messages may be missing
	last       bool  // the file is the last one of its recording
	complete   bool  // no more messages are counted
	topics     map[*queue.Topic]codec.Totals
}

// recordingTotals are the totals of a recording.
type recordingTotals struct {
	began  int64                         // log time
	files  int                           // number of files that were begun
	topics map[*queue.Topic]codec.Totals // sum of the totals of complete files
}

// begin counts for another file of recording r from now on.
func (t *totals) begin(path string, r *recordingTotals) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open == nil {
		t.counted, t.files = map[*queue.Topic]codec.Totals{}, map[string]*fileTotals{}
	} else {
		t.count()
	}
	if r.files == 0 {
		r.topics = map[*queue.Topic]codec.Totals{}
	}
	r.files++
	t.open = &fileTotals{recording: r, topics: map[*queue.Topic]codec.Totals{}}
	t.files[path] = t.open
}

// end sets the times of the open file, which may be the last one of its recording.
func (t *totals) end(start, end int64, last bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.open.start, t.open.end, t.open.last = start, end, last
}

// count adds the messages since the last call to the open file. t.mu is held.
func (t *totals) count() {
	if t.open.complete {
		return // they count for the next file
	}
	for _, topic := range t.recorded() {
		now := codec.Totals{Written: topic.Written.Load(), Dropped: topic.Dropped.Load(), Lost: topic.Lost}
		t.open.topics[topic.Topic] = t.open.topics[topic.Topic].Plus(now.Since(t.counted[topic.Topic]))
		t.counted[topic.Topic] = now
	}
}

// Ending implements codec.CreateOptions.Ending. It returns the totals of a file by topic and, at the end of a recording
// of several files, the totals of the recording.
func (w *Writer) Ending(path string, missing *codec.MissingError) []codec.Event {
	t := &w.totals
	t.mu.Lock()
	defer t.mu.Unlock()
	f := t.files[path]
	if f == nil {
		return nil
	}
	delete(t.files, path)
	if f == t.open {
		t.count()
	}
	f.complete = true
	f.drop(missing)
	r := f.recording
	for topic, n := range f.topics {
		r.topics[topic] = r.topics[topic].Plus(n)
	}
	events := totalsEvents(f.topics, f.start, f.end, false)
	if f.last && r.files > 1 {
		events = append(events, totalsEvents(r.topics, r.began, f.end, true)...)
	}
	return events
}

// drop counts missing messages as dropped. The missing messages of a topic are the last ones in the file. Repeated
// messages, which are not counted, are the first ones.
func (f *fileTotals) drop(missing *codec.MissingError) {
	if missing == nil {
		return
	}
	for _, m := range missing.Topics {
		for topic, n := range f.topics {
			if c := topic.Channel.Load(); c.Topic == m.Channel.Topic && c.Type == m.Channel.Type {
				lost := min(m.MessageCount, n.Written)
				topic.Missing.Add(lost)
				n.Written -= lost
				n.Dropped += lost
				f.topics[topic] = n
			}
		}
	}
}

// totalsEvents returns the events of totals, in the order of the topics.
func totalsEvents(topics map[*queue.Topic]codec.Totals, start, end int64, whole bool) (events []codec.Event) {
	names := map[string]codec.Totals{} // by topic name, sums over its types
	for topic, n := range topics {
		names[topic.Name()] = names[topic.Name()].Plus(n)
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		n := names[name]
		n.Received = n.Written + n.Dropped
		events = append(events, n.Event(name, start, end, whole))
	}
	return events
}
