package queue

// Modes of a deadline, with the numbers of rosbag2's services Resume and SplitBagfile.
const (
	ByClock       = iota // by the node's clock
	ByPublishing         // by the publish time of messages
	byReception          // by the log time of messages
	NumberOfModes = iota
)

// Deadline is a time at which a service request takes effect.
type Deadline struct {
	Mode  int32
	Time  int64  // ns since the Unix epoch; 0: now
	Topic string // only messages of this topic reach the deadline; "": messages of all topics do
}

// Reached reports whether the deadline has come at now, the time of the node's clock. Only messages reach a deadline by
// publish time.
func (d *Deadline) Reached(now int64) bool {
	return d.Time == 0 || d.Mode != ByPublishing && d.Time <= now
}

// ReachedBy reports whether a message reaches the deadline. Its times are ns since the Unix epoch.
func (d *Deadline) ReachedBy(topic string, publishTime, logTime int64) bool {
	t := logTime
	if d.Mode == ByPublishing {
		t = publishTime
	}
	return t >= d.Time && (d.Topic == "" || d.Topic == topic)
}
