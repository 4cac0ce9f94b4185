package codec

// Info says what is in a recording.
type Info struct {
	Format       string
	Path         string
	Files        []FileInfo // what Path consists of, in order; one entry when it is a file
	Size         int64      // bytes in all
	MessageCount uint64
	StartTime    int64 // LogTime of the earliest message, ns since the Unix epoch; 0 without messages
	EndTime      int64 // LogTime of the latest message, likewise
	Complete     bool  // the writer closed it, and nothing is missing
	Topics       []TopicInfo
	Events       []Event           // in time order; what is not in a message but should be known
	Metadata     map[string]string // kept with the recording as a whole; may be nil
	Extra        any               // what more the format knows, ready for encoding/json; nil when nothing
}

// FileInfo is one file of a recording.
type FileInfo struct {
	Path         string // as it can be opened
	Size         int64  // bytes
	MessageCount uint64
	StartTime    int64 // ns since the Unix epoch
	EndTime      int64 // likewise
}

// TopicInfo is one channel and how much of it there is.
type TopicInfo struct {
	Channel      *Channel
	MessageCount uint64
}

// Event is something that happened to a recording: messages dropped, a gap, a pause, a split, damage.
type Event struct {
	Kind  string // one of the kinds below
	Topic string // "" when it is about all of them
	Time  int64  // when it began, ns since the Unix epoch; 0 when unknown
	Until int64  // when it ended, likewise; 0 when it took no time, or when unknown
	Count uint64 // messages concerned, if known
	Text  string // one line for a person
}

// The kinds of events. Those that a recorder writes are messages on EventTopic; the others are found in reading.
const (
	EventLost       = "lost"       // Count messages were lost in transport between a publisher and the recorder
	EventDrop       = "drop"       // Count messages were received and not written, as the disk did not keep up
	EventGap        = "gap"        // a topic was silent for much longer than its rate lets expect, and nothing was lost that is known of
	EventPause      = "pause"      // recording was paused on purpose
	EventSplit      = "split"      // the recording went on in another file
	EventDisk       = "disk"       // the disk was full, slow or failed
	EventSnapshot   = "snapshot"   // a snapshot was taken; Text names its cause
	EventTotals     = "totals"     // counts of the file so far, of one topic
	EventDamage     = "damage"     // bytes that can't be read
	EventUnfinished = "unfinished" // the writer did not complete the file
)

// EventTopic is the topic on which a recorder keeps the events of a recording in the recording itself, as messages of type
// tapedeck/msg/RecordingEvent. Readers give them as Info.Events.
const EventTopic = "/tapedeck/events"
