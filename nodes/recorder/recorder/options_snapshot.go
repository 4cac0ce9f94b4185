package recorder

import (
	"slices"
	"strings"
	"time"

	"tapedeck/config"
	"tapedeck/nodes/internal/filter/condition"
	"tapedeck/nodes/internal/filter/pattern"
	"tapedeck/nodes/recorder/internal/diskguard"
	"tapedeck/nodes/recorder/internal/queue"
	"tapedeck/nodes/recorder/internal/selection"
)

// snapshotOptions are about the messages kept in memory for snapshots, and about when snapshots are taken.
type snapshotOptions struct {
	Snapshot            bool          `param:"snapshot" group:"Snapshots"`
	SnapshotMode        bool          `param:"snapshot_mode" group:"Snapshots"`
	SnapshotDuration    time.Duration `param:"snapshot_duration" alias:"max-cache-duration" group:"Snapshots" min:"0"`
	SnapshotAfter       time.Duration `param:"snapshot_after" group:"Snapshots" min:"0" max:"24h"`
	MaxSnapshotAfter    time.Duration `param:"max_snapshot_after" group:"Snapshots" min:"0" max:"24h"`
	SnapshotSize        config.Size   `param:"snapshot_size" group:"Snapshots" min:"1MiB"`
	SnapshotTopicLimits []string      `param:"snapshot_topic_limits" group:"Snapshots" value:"TOPIC=LIMITS"`
	SnapshotCondition   []string      `param:"snapshot_condition" group:"Snapshots" value:"CONDITION"`
	SnapshotCooldown    time.Duration `param:"snapshot_cooldown" group:"Snapshots" min:"0"`
	SnapshotFolder      string        `param:"snapshot_folder" group:"Snapshots" value:"FOLDER"`
	SnapshotService     string        `param:"snapshot_service" group:"Snapshots" value:"SERVICE"`
	SnapshotTopic       string        `param:"snapshot_topic" group:"Snapshots" value:"TOPIC"`
}

func defaultSnapshotOptions() snapshotOptions {
	return snapshotOptions{
		SnapshotDuration: 30 * time.Second, MaxSnapshotAfter: time.Hour, SnapshotSize: 256 << 20,
		SnapshotCooldown: 10 * time.Second,
		SnapshotService:  "/snapshot", SnapshotTopic: "/snapshot_trigger",
	}
}

// cacheForSnapshots uses queue_size as snapshot_size with snapshot_mode, as rosbag2 does with the size of its cache: no
// messages wait for the disk then.
func (o *options) cacheForSnapshots() {
	usual := defaultOptions()
	if o.SnapshotMode && o.QueueSize != usual.QueueSize && o.SnapshotSize == usual.SnapshotSize {
		o.SnapshotSize = o.QueueSize
	}
}

// maxWait returns how long messages may wait for the disk, 0 for any time. rosbag2's max-cache-duration, which is an
// alias of snapshot_duration, limits that time if there are no snapshots.
func (o *options) maxWait() time.Duration {
	if o.Snapshot || o.SnapshotMode || o.SnapshotDuration == defaultOptions().SnapshotDuration {
		return 0
	}
	return o.SnapshotDuration
}

// check returns a usage error for options that are invalid or need other options.
func (o *snapshotOptions) check() error {
	if _, err := o.topicLimits(func(topic string) (string, error) { return topic, nil }); err != nil {
		return err
	}
	if _, err := o.conditions(func(topic string) (string, error) { return topic, nil }); err != nil {
		return err
	}
	usual := defaultSnapshotOptions()
	usual.SnapshotDuration = o.SnapshotDuration // see maxWait
	if list := changed(o, &usual); list != nil && !o.Snapshot && !o.SnapshotMode {
		return config.Usagef("%s: nothing is kept for snapshots; add --snapshot or --snapshot-mode",
			strings.Join(list, ", "))
	}
	if o.SnapshotCooldown != usual.SnapshotCooldown && len(o.SnapshotCondition) == 0 {
		return config.Usagef("snapshot_cooldown: it is for conditions; add --snapshot-condition")
	}
	return nil
}

// checkLimits returns a usage error if limits of a recording are set with snapshot_mode, which makes no recording.
func (o *options) checkLimits() error {
	// The options that also apply to snapshots.
	files := splitOptions{RepeatLatched: o.RepeatLatched, SplitNames: o.SplitNames,
		RepeatTransientLocal: o.RepeatTransientLocal}
	limits := limitOptions{MaxDuration: o.MaxDuration, StartPaused: o.StartPaused}
	disk := diskOptions{MinSpace: o.MinSpace, LowSpaceAction: diskguard.Stop}
	memory := memoryOptions{QueueSize: o.QueueSize}
	list := slices.Concat(changed(&o.splitOptions, &files), changed(&o.limitOptions, &limits),
		changed(&o.diskOptions, &disk), changed(&o.memoryOptions, &memory))
	if len(o.Throttle) > 0 { // snapshots have all messages
		list = append(list, "throttle")
	}
	if list != nil && o.SnapshotMode {
		return config.Usagef("%s: snapshot_mode writes only snapshots, to which this does not apply; use --snapshot "+
			"to record as well", strings.Join(list, ", "))
	}
	return nil
}

// changed returns the names of options that differ from usual.
func changed(opts, usual any) (names []string) {
	before := config.Parameters(usual)
	for i, p := range config.Parameters(opts) {
		if p.Default != before[i].Default { // Default is the present value
			names = append(names, p.Name)
		}
	}
	return names
}

// topicLimit is the limits in the ring for each topic with a matching name.
type topicLimit struct {
	queue.Limits
	topics pattern.Pattern
}

// topicLimits returns the limits of topics in their order. It calls expand for names without a *.
func (o *snapshotOptions) topicLimits(expand func(string) (string, error)) (list []topicLimit, err error) {
	seen := selection.Names{}
	for _, text := range o.SnapshotTopicLimits {
		topic, values, ok := strings.Cut(text, "=")
		duration, size, sized := strings.Cut(values, ",")
		var l topicLimit
		l.Age, err = time.ParseDuration(strings.TrimSpace(duration))
		if !ok || err != nil || l.Age < 0 {
			return nil, config.Usagef("snapshot_topic_limits: %q is not allowed, want TOPIC=DURATION or "+
				"TOPIC=DURATION,SIZE such as /camera/image=5s,100MB", text)
		}
		if sized {
			bytes, err := config.ParseSize(size)
			if err != nil || bytes == 0 {
				return nil, config.Usagef("snapshot_topic_limits: %q is not allowed, want a size such as 100MB "+
					"behind the comma", text)
			}
			l.Bytes = int64(bytes)
		}
		topic = strings.TrimSpace(topic)
		if !strings.Contains(topic, "*") {
			topic, err = expand(topic)
			if err != nil {
				return nil, config.Usagef("snapshot_topic_limits: %w", err)
			}
		}
		if seen[topic] {
			return nil, config.Usagef("snapshot_topic_limits: %s is there twice", topic)
		}
		seen[topic] = true
		l.topics, err = pattern.Parse(topic)
		if err != nil {
			return nil, config.Usagef("snapshot_topic_limits: %w", err)
		}
		list = append(list, l)
	}
	return list, nil
}

// limitsOf returns the limits of a topic by the first matching entry of list, or else the default limits.
func limitsOf(list []topicLimit, topic string, defaults queue.Limits) queue.Limits {
	for _, l := range list {
		if l.topics.Match(topic) {
			return l.Limits
		}
	}
	return defaults
}

// conditions returns the conditions by topic. It calls expand for the names of topics.
func (o *snapshotOptions) conditions(expand func(string) (string, error)) (map[string][]*condition.Condition, error) {
	conditions := map[string][]*condition.Condition{}
	for _, text := range o.SnapshotCondition {
		c, err := condition.Parse(text)
		if err == nil {
			c.Topic, err = expand(c.Topic)
		}
		if err != nil {
			return nil, config.Usagef("snapshot_condition: %w", err)
		}
		conditions[c.Topic] = append(conditions[c.Topic], c)
	}
	return conditions, nil
}
