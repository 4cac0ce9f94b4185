package queue

// The clock by which a deadline is reached, as rosbag2's Resume and SplitBagfile number it.
const (
	ByClock       = iota // the node's
	ByPublishing         // the publish time of messages
	byReception          // their log time
	NumberOfModes = iota
)

// Deadline is a time at which a service request takes effect.
type Deadline struct {
	Mode  int32
	Time  int64  // ns since the Unix epoch; 0: now
	Topic string // messages of this topic alone reach the deadline; "": those of all topics
}

// Reached reports whether the deadline has come at now, the time of the node's clock. Deadlines by publish time are
// reached by messages only.
func (d *Deadline) Reached(now int64) bool {
	return d.Time == 0 || d.Mode != ByPublishing && d.Time <= now
}

// ReachedBy reports whether a message with these times, ns since the Unix epoch, reaches the deadline.
func (d *Deadline) ReachedBy(topic string, publishTime, logTime int64) bool {
	t := logTime
	if d.Mode == ByPublishing {
		t = publishTime
	}
	return t >= d.Time && (d.Topic == "" || d.Topic == topic)
}
