package codec

// Info describes the content of a recording.
type Info struct {
	Format       string
	Path         string
	Files        []FileInfo // the files of the recording, in order; one entry if Path is a file
	Size         int64      // bytes in all
	MessageCount uint64
	StartTime    int64 // LogTime of the earliest message, ns since the Unix epoch; 0 without messages
	EndTime      int64 // LogTime of the latest message, ns since the Unix epoch; 0 without messages
	Unsigned     bool  // the files hold times without a sign: times before 1970 mean times after 2262
	Complete     bool  // the writer closed it, and nothing is missing
	Indexed      bool  // Info comes from an index: damage of messages is found only by reading them
	Topics       []TopicInfo
	Events       []Event           // in time order; from messages on EventTopic, and found by the reader
	Metadata     map[string]string // of the whole recording; may be nil
	Records      []MetadataRecord  // named metadata of other programs
	Attachments  []Attachment
	Notes        []string // surprising facts about which files were read
	Extra        any      // details of the format, ready for encoding/json; may be nil

	// Continue, unless nil, is called in a recording of several files with the Info of the previous file, and with the
	// joined Extra of all previous files. It makes the reader omit the state at the end of the previous file, which
	// this file repeats. It returns the joined Extra including this file.
	Continue func(before *Info, extra any) any `json:"-"`
}

// FileInfo is one file of a recording.
type FileInfo struct {
	Path         string // by which the file can be opened
	Size         int64  // bytes
	MessageCount uint64
	StartTime    int64 // ns since the Unix epoch
	EndTime      int64 // ns since the Unix epoch
}

// TopicInfo is a channel with the number of its messages.
type TopicInfo struct {
	Channel      *Channel
	MessageCount uint64
	Repeated     uint64 // latched messages that files repeat from previous files; not in MessageCount, and not read
}
