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

// totals counts what becomes of the messages of a recording, file by file. Each message is in the totals of one file,
// as written or as dropped, even if the disk lost it after it was written.
//
// The goroutine of Run begins and ends files. The goroutines that complete files call ending, which may be before Run
// knows that a file failed.
type totals struct {
	recorded func() []Counted
	open     *fileTotals // of the file that is written, or was at last; only Run replaces it, with mu held

	mu      sync.Mutex
	counted map[*queue.Topic]codec.Totals // all that the totals of files have
	files   map[string]*fileTotals        // by path: those that are not complete
}

// fileTotals are the totals of one file.
type fileTotals struct {
	recording  *recordingTotals
	start, end int64 // log times of the first and the last message; 0: those that the file has
	last       bool  // of its recording
	complete   bool  // nothing is counted any more
	topics     map[*queue.Topic]codec.Totals
}

// recordingTotals are the totals of a recording, which is written to until another one takes its place.
type recordingTotals struct {
	began  int64                         // log time
	files  int                           // that were begun
	topics map[*queue.Topic]codec.Totals // of the files that are complete
}

// begin counts for another file of a recording from now on.
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

// count adds to the open file what was counted since the last call. t.mu is held.
func (t *totals) count() {
	if t.open.complete {
		return // the next file has it
	}
	for _, topic := range t.recorded() {
		now := codec.Totals{Written: topic.Written.Load(), Dropped: topic.Dropped.Load(), Lost: topic.Lost}
		t.open.topics[topic.Topic] = t.open.topics[topic.Topic].Plus(now.Since(t.counted[topic.Topic]))
		t.counted[topic.Topic] = now
	}
}

// Ending returns the totals of a file for codec.CreateOptions.Ending: by topic, and at the end of a recording of
// several files also those of the whole recording.
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

// drop counts missing messages as dropped. The first messages of a topic in a file may be repeated ones, which are not
// counted; the missing ones are the last.
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
	names := map[string]codec.Totals{} // of all types
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
