package codec

// Info says what is in a recording.
type Info struct {
	Format       string
	Path         string
	Files        []FileInfo // what Path consists of, in order; one entry when it is a file
	Size         int64      // bytes in all
	MessageCount uint64
	StartTime    int64 // LogTime of the earliest message, ns since the Unix epoch; 0 without messages
	EndTime      int64 // LogTime of the latest message, in the same unit; 0 without messages
	Unsigned     bool  // the files hold times without a sign: those before 1970 mean times beyond 2262
	Complete     bool  // the writer closed it, and nothing is missing
	Indexed      bool  // Info comes from an index: damage of messages is found by reading them
	Topics       []TopicInfo
	Events       []Event           // in time order; what a recorder kept on EventTopic, and what was found in reading
	Metadata     map[string]string // kept with the recording as a whole; may be nil
	Records      []MetadataRecord  // metadata that other programs keep under names
	Attachments  []Attachment
	Notes        []string // which files were read and which were not, where that may surprise
	Extra        any      // what more the format knows, ready for encoding/json; nil when nothing

	// Continue, unless nil, is called in a recording of several files with the Info of the file in front of this one,
	// and with the Extra of all files before. It has the reader leave out the state with which that file ends and which
	// this file repeats, and returns the Extra of all files with this one.
	Continue func(before *Info, extra any) any `json:"-"`
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
	Repeated     uint64 // latched messages that further files begin with; not among MessageCount, and not read
}
