package codec

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// Numbers and names of the policies, from rmw's types.h and qos_string_conversions.c; the index is the number. If QoS
// has no such value, as for system_default, the entry has ROS 2's default.
var (
	historyPolicies = []policy[History]{
		{"system_default", KeepLast}, {"keep_last", KeepLast}, {"keep_all", KeepAll}, {"unknown", UnknownHistory},
	}
	reliabilityPolicies = []policy[Reliability]{
		{"system_default", Reliable}, {"reliable", Reliable}, {"best_effort", BestEffort}, {"unknown", Reliable},
		{"best_available", Reliable},
	}
	durabilityPolicies = []policy[Durability]{
		{"system_default", Volatile}, {"transient_local", TransientLocal}, {"volatile", Volatile},
		{"unknown", Volatile}, {"best_available", TransientLocal},
	}
	livelinessPolicies = []policy[Liveliness]{
		{"system_default", Automatic}, {"automatic", Automatic}, {"manual_by_node", ManualByTopic},
		{"manual_by_topic", ManualByTopic}, {"unknown", Automatic}, {"best_available", Automatic},
	}
)

type policy[P ~string] struct {
	name  string
	value P
}

// setPolicy sets a policy from text, its name or number. It does nothing if text is nil.
func setPolicy[P ~string](to *P, known []policy[P], key string, text *string) error {
	if text == nil {
		return nil
	}
	if n, err := strconv.Atoi(*text); err == nil && n >= 0 && n < len(known) {
		*to = known[n].value
		return nil
	}
	var names []string
	for _, k := range known {
		if k.name == *text {
			*to = k.value
			return nil
		}
		names = append(names, k.name)
	}
	return fmt.Errorf("%s: %q is not one of %s", key, *text, strings.Join(names, ", "))
}

// text returns the name or the number of a policy.
func text[P ~string](known []policy[P], value P, named bool) string {
	number := max(0, slices.IndexFunc(known, func(k policy[P]) bool { return k.name == string(value) }))
	if named {
		return known[number].name
	}
	return strconv.Itoa(number)
}

// yamlQoS is one profile of rosbag2's YAML. Nil fields are missing keys.
type yamlQoS struct {
	History         *string      `yaml:"history"`
	Depth           *string      `yaml:"depth"`
	Reliability     *string      `yaml:"reliability"`
	Durability      *string      `yaml:"durability"`
	Deadline        yamlDuration `yaml:"deadline"`
	Lifespan        yamlDuration `yaml:"lifespan"`
	Liveliness      *string      `yaml:"liveliness"`
	LivelinessLease yamlDuration `yaml:"liveliness_lease_duration"`
}

var yamlQoSKeys = []string{
	"history", "depth", "reliability", "durability", "deadline", "lifespan", "liveliness", "liveliness_lease_duration",
	"avoid_ros_namespace_conventions",
}

// qos returns DefaultQoS with the fields that y gives.
func (y *yamlQoS) qos() (QoS, error) {
	q := DefaultQoS()
	err := cmp.Or(
		setPolicy(&q.History, historyPolicies, "history", y.History),
		setPolicy(&q.Reliability, reliabilityPolicies, "reliability", y.Reliability),
		setPolicy(&q.Durability, durabilityPolicies, "durability", y.Durability),
		setPolicy(&q.Liveliness, livelinessPolicies, "liveliness", y.Liveliness),
		y.Deadline.set(&q.Deadline, "deadline"),
		y.Lifespan.set(&q.Lifespan, "lifespan"),
		y.LivelinessLease.set(&q.LivelinessLease, "liveliness_lease_duration"),
	)
	return q, cmp.Or(err, y.setDepth(&q))
}

// setDepth sets the depth. A depth that exceeds 31 bits is unlimited: ROS 2 Lyrical on Fast DDS writes 2^64-1 for
// publishers on Cyclone DDS that keep all.
func (y *yamlQoS) setDepth(q *QoS) error {
	if y.Depth == nil {
		return nil
	}
	depth, err := strconv.ParseUint(*y.Depth, 0, 64)
	switch {
	case err != nil:
		return fmt.Errorf("depth: %q is not a number of messages", *y.Depth)
	case depth <= math.MaxInt32:
		q.Depth = int(depth)
	default:
		q.Depth = 0
		if q.History == KeepLast {
			q.History = KeepAll
		}
	}
	return nil
}

// yamlDuration is a duration of rosbag2's YAML, with the keys sec and nsec, or none of them.
type yamlDuration map[string]uint64

// set sets a duration. Zero, which means unspecified, and the values that Foxy's middlewares announced for infinite
// become Infinite.
func (d yamlDuration) set(to *time.Duration, key string) error {
	if len(d) == 0 {
		return nil
	}
	sec, haveSec := d["sec"]
	nsec, haveNsec := d["nsec"]
	if !haveSec || !haveNsec || len(d) > 2 {
		return fmt.Errorf("%s: must have both sec and nsec, and nothing else", key)
	}
	const fastFoxy, connextFoxy = 1<<32 - 1, 1<<31 - 1
	switch {
	case sec == 0 && nsec == 0,
		sec == 1<<31-1 && (nsec == fastFoxy || nsec == connextFoxy),
		sec > uint64(Infinite/time.Second),
		nsec > uint64(Infinite)-sec*uint64(time.Second):
		*to = Infinite
	default:
		*to = time.Duration(sec*uint64(time.Second) + nsec)
	}
	return nil
}

// ParseQoSProfiles parses rosbag2's offered_qos_profiles of a topic, in the form of any version: a YAML sequence with
// policies by number or by name. It returns repeated profiles once, and none for the empty text.
func ParseQoSProfiles(text string) ([]QoS, error) {
	var list []yamlQoS
	if err := yaml.Unmarshal([]byte(text), &list); err != nil {
		return nil, fmt.Errorf("parse QoS profiles: %w", err)
	}
	var profiles []QoS
	known := map[QoS]bool{}
	for i := range list {
		q, err := list[i].qos()
		if err != nil {
			return nil, fmt.Errorf("parse QoS profile %d: %w", i+1, err)
		}
		if !known[q] {
			known[q] = true
			profiles = append(profiles, q)
		}
	}
	return profiles, nil
}

// UnreadQoS is the key of Channel.Metadata under which readers store rosbag2's profiles if they cannot be read.
const UnreadQoS = "offered_qos_profiles"

// SetQoSProfiles sets the QoS of a channel with ParseQoSProfiles, or stores the text under UnreadQoS.
func (c *Channel) SetQoSProfiles(text string) {
	profiles, err := ParseQoSProfiles(text)
	if err == nil {
		c.QoS = profiles
		return
	}
	if c.Metadata == nil {
		c.Metadata = map[string]string{}
	}
	c.Metadata[UnreadQoS] = text
}

// UnreadQoSEvents returns an event for each channel with profiles under UnreadQoS. Nil channels are skipped.
func UnreadQoSEvents(channels []*Channel) (events []Event) {
	for _, c := range channels {
		if c == nil {
			continue
		}
		if _, err := ParseQoSProfiles(c.Metadata[UnreadQoS]); err != nil {
			events = append(events, UnreadQoSEvent(c.Topic, err))
		}
	}
	return events
}

// UnreadQoSEvent returns the event that the QoS of a topic cannot be read. It is the only EventDamage with a topic.
func UnreadQoSEvent(topic string, err error) Event {
	return Event{Kind: EventDamage, Topic: topic, Text: fmt.Sprintf(
		"the QoS of topic %s cannot be read, and is the default unless the recording has it elsewhere: %v", topic, err)}
}

// FormatQoSProfiles returns rosbag2's YAML text of profiles, with policies by number. Every release from Foxy on reads
// this form.
func FormatQoSProfiles(profiles []QoS) string { return formatQoSProfiles(profiles, false) }

// FormatNamedQoSProfiles returns rosbag2's YAML text of profiles, with policies by name, as rosbag2 writes since Jazzy.
func FormatNamedQoSProfiles(profiles []QoS) string { return formatQoSProfiles(profiles, true) }

func formatQoSProfiles(profiles []QoS, named bool) string {
	var b strings.Builder
	for i, q := range profiles {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "- history: %v\n  depth: %d\n  reliability: %v\n  durability: %v\n",
			text(historyPolicies, q.History, named),
			q.Depth, text(reliabilityPolicies, q.Reliability, named), text(durabilityPolicies, q.Durability, named))
		formatDuration(&b, "deadline", q.Deadline)
		formatDuration(&b, "lifespan", q.Lifespan)
		fmt.Fprintf(&b, "  liveliness: %v\n", text(livelinessPolicies, q.Liveliness, named))
		formatDuration(&b, "liveliness_lease_duration", q.LivelinessLease)
		b.WriteString("  avoid_ros_namespace_conventions: false")
	}
	return b.String()
}

func formatDuration(b *strings.Builder, key string, d time.Duration) {
	fmt.Fprintf(b, "  %s:\n    sec: %d\n    nsec: %d\n", key, d/time.Second, d%time.Second)
}

// ParseQoSOverrides parses a file for rosbag2's --qos-profile-overrides-path: QoS profiles by topic. Missing keys of a
// profile are as in DefaultQoS. Errors name the topic and the key.
func ParseQoSOverrides(text []byte) (map[string]QoS, error) {
	var topics map[string]map[string]yaml.Node
	if err := yaml.Unmarshal(text, &topics); err != nil {
		return nil, fmt.Errorf("parse QoS overrides: %w", err)
	}
	overrides := make(map[string]QoS, len(topics))
	for topic, fields := range topics {
		var y yamlQoS
		for key, value := range fields {
			if !slices.Contains(yamlQoSKeys, key) {
				return nil, fmt.Errorf("parse QoS overrides: topic %s: unknown key %q; known are %s", topic, key,
					strings.Join(yamlQoSKeys, ", "))
			}
			one := yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{{Kind: yaml.ScalarNode, Value: key}, &value}}
			if err := one.Decode(&y); err != nil {
				return nil, fmt.Errorf("parse QoS overrides: topic %s: %s: %w", topic, key, err)
			}
		}
		q, err := y.qos()
		if err != nil {
			return nil, fmt.Errorf("parse QoS overrides: topic %s: %w", topic, err)
		}
		overrides[topic] = q
	}
	return overrides, nil
}
