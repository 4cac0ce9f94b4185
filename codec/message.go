package codec

// Message is one payload as recorded. A Message, its Data included, is valid until the next call of the iterator that
// yielded it; a Writer keeps neither beyond Write.
type Message struct {
	Channel     *Channel
	LogTime     int64 // ns since the Unix epoch, when it was received
	PublishTime int64 // ns since the Unix epoch, when it was sent; 0 if the format does not keep it
	Data        []byte
}
