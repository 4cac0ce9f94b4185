package contract

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"tapedeck/codec"
	"tapedeck/codec/text/human"
)

// Contract lists expectations of recordings. The zero value expects nothing.
type Contract struct {
	Path     string            `yaml:"-"`        // path of the contract's file
	Duration Limits            `yaml:"duration"` // s
	Accept   []Kind            `yaml:"accept"`   // kinds of findings to ignore on topics that are not in Topics
	Topics   map[string]*Topic `yaml:"topics"`
}

// Topic lists expectations of a topic. A field with the zero value is not checked.
type Topic struct {
	Type     string            `yaml:"type"`
	Optional bool              `yaml:"optional"` // the topic may be missing
	Messages uint64            `yaml:"messages"` // minimum number of messages
	Rate     Limits            `yaml:"rate"`     // messages per second
	Gap      float64           `yaml:"gap"`      // maximum time between two messages in s
	Latency  float64           `yaml:"latency"`  // maximum time from stamp to receipt, for 99 % of the messages, in s
	Frames   []string          `yaml:"frames"`   // allowed values of frame_id; of /tf: frames with a transform
	Size     string            `yaml:"size"`     // size of images, such as "640x480"
	QoS      string            `yaml:"qos"`      // reliability and durability, such as "reliable volatile"
	Ranges   map[string]Limits `yaml:"ranges"`   // limits by field
	Accept   []Kind            `yaml:"accept"`   // kinds of findings to ignore
}

// Limits are the limits of a number; nil is no limit.
type Limits struct {
	Min *float64 `yaml:"min"`
	Max *float64 `yaml:"max"`
}

// limits returns Limits with a minimum and a maximum.
func limits(least, most float64) Limits { return Limits{&least, &most} }

// none reports whether there is no limit.
func (l Limits) none() bool { return l.Min == nil && l.Max == nil }

// min returns the lower limit, 0 if there is none.
func (l Limits) min() float64 {
	if l.Min == nil {
		return 0
	}
	return *l.Min
}

// holds reports whether v is within the limits. NaN never is.
func (l Limits) holds(v float64) bool {
	return !math.IsNaN(v) && (l.Min == nil || v >= *l.Min) && (l.Max == nil || v <= *l.Max)
}

// text formats the limits of a number with its unit.
func (l Limits) text(unit string) string {
	switch {
	case l.Max == nil:
		return fmt.Sprintf("at least %s%s", number(*l.Min), unit)
	case l.Min == nil:
		return fmt.Sprintf("at most %s%s", number(*l.Max), unit)
	}
	return fmt.Sprintf("%s to %s%s", number(*l.Min), number(*l.Max), unit)
}

// yaml returns the limits as YAML.
func (l Limits) yaml() string {
	var texts []string
	if l.Min != nil {
		texts = append(texts, "min: "+number(*l.Min))
	}
	if l.Max != nil {
		texts = append(texts, "max: "+number(*l.Max))
	}
	return "{" + strings.Join(texts, ", ") + "}"
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// maxFile is the maximum size of a contract in bytes.
const maxFile = 4 << 20

// Load reads a contract.
func Load(path string) (*Contract, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxFile {
		return nil, fmt.Errorf("%s is no contract: it is larger than %s", path, human.Bytes(maxFile))
	}
	c, err := Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	c.Path = path
	return c, nil
}

var (
	sizePattern = regexp.MustCompile(`^[1-9][0-9]{0,5}x[1-9][0-9]{0,5}$`)
	lacksField  = regexp.MustCompile(`field (\S+) not found in type \S+`)
)

// Parse parses a contract.
func Parse(text []byte) (*Contract, error) {
	c := &Contract{}
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(c); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, errors.New("the file is empty; 'converter expect' writes one")
		}
		problem := strings.TrimPrefix(strings.ReplaceAll(err.Error(), "\n ", ""), "yaml: ")
		problem = strings.TrimPrefix(problem, "unmarshal errors: ")
		if name := noLimits(text); strings.Contains(problem, "into contract.Limits") && name != "" {
			return nil, fmt.Errorf("%s: write {min: …, max: …}", name)
		}
		return nil, errors.New(lacksField.ReplaceAllString(problem, "$1 is not an expectation"))
	}
	if err := d.Decode(&yaml.Node{}); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is text after a second ---; a contract is one document")
	}
	if err := c.Duration.check("duration"); err != nil {
		return nil, err
	}
	if err := checkKinds("accept", c.Accept); err != nil {
		return nil, err
	}
	if len(c.Topics) == 0 && c.Duration.none() {
		return nil, errors.New("nothing is expected: there are neither topics nor a duration")
	}
	for _, name := range slices.Sorted(maps.Keys(c.Topics)) {
		if c.Topics[name] == nil {
			c.Topics[name] = &Topic{}
		}
		if err := c.Topics[name].check(); err != nil {
			return nil, fmt.Errorf("topic %s: %w", human.Printable(name), err)
		}
	}
	return c, nil
}

// noLimits returns the name of the first limits that are written as a single value or list, "" if there are none.
func noLimits(text []byte) string {
	var root yaml.Node
	if yaml.Unmarshal(text, &root) != nil {
		return ""
	}
	var search func(n *yaml.Node, limits bool) string
	search = func(n *yaml.Node, limits bool) string {
		for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
			key, value := n.Content[i].Value, n.Content[i+1]
			if (limits || key == "duration" || key == "rate") && value.Kind != yaml.MappingNode {
				return key
			}
			if name := search(value, key == "ranges"); name != "" {
				return name
			}
		}
		return ""
	}
	for _, n := range root.Content {
		if name := search(n, false); name != "" {
			return name
		}
	}
	return ""
}

// check returns an error if an expectation is invalid.
func (t *Topic) check() error {
	for name, v := range map[string]float64{"gap": t.Gap, "latency": t.Latency} {
		if math.IsNaN(v) || v < 0 || v > 1e9 {
			return fmt.Errorf("%s %v: want seconds", name, v)
		}
	}
	if t.Size != "" && !sizePattern.MatchString(t.Size) {
		return fmt.Errorf("size %q: want WIDTHxHEIGHT, such as 640x480", t.Size)
	}
	if err := t.Rate.check("rate"); err != nil {
		return err
	}
	for _, field := range slices.Sorted(maps.Keys(t.Ranges)) {
		if err := t.Ranges[field].check(field); err != nil {
			return err
		}
	}
	return checkKinds("accept", t.Accept)
}

// check returns an error if the limits called name are invalid.
func (l Limits) check(name string) error {
	for _, v := range []*float64{l.Min, l.Max} {
		if v != nil && math.IsNaN(*v) {
			return fmt.Errorf("%s: NaN is no limit", name)
		}
	}
	if l.Min != nil && l.Max != nil && *l.Min > *l.Max {
		return fmt.Errorf("%s: min %s is above max %s", name, number(*l.Min), number(*l.Max))
	}
	return nil
}

// checkKinds returns an error if the list called name has an unknown kind.
func checkKinds(name string, list []Kind) error {
	for _, k := range list {
		if !slices.Contains(kinds, k) {
			return fmt.Errorf("%s: there is no kind of findings %q", name, k)
		}
	}
	return nil
}

// topic returns the expectations of a topic. c may be nil.
func (c *Contract) topic(name string) *Topic {
	if c != nil && c.Topics[name] != nil {
		return c.Topics[name]
	}
	return &Topic{}
}

// qosText returns the reliability and durability of publishers.
func qosText(list []codec.QoS) string {
	var texts []string
	for _, q := range list {
		texts = append(texts, fmt.Sprintf("%s %s", q.Reliability, q.Durability))
	}
	slices.Sort(texts)
	return strings.Join(slices.Compact(texts), ", ")
}

// WriteTo writes the contract as YAML with comments for people.
func (c *Contract) WriteTo(w io.Writer) (int64, error) {
	b := &bytes.Buffer{}
	b.WriteString(`# What a recording must contain. Edit it: change limits, and delete lines that need not be met.
# 'converter check DRIVE --expect FILE' and 'recorder --expect FILE' check it.
#   rate      messages a second, over 5 s or more    gap       most seconds between two messages
#   latency   most seconds from stamp to receipt, for 99 % of the messages
#   frames    what frame_id may be; for /tf, frames that must have a transform
#   optional  true: the topic may be missing         accept    kinds of findings to ignore
`)
	if !c.Duration.none() {
		fmt.Fprintf(b, "duration: %s  # s\n", c.Duration.yaml())
	}
	writeList(b, "", "accept", c.Accept)
	b.WriteString("topics:\n")
	for _, name := range slices.Sorted(maps.Keys(c.Topics)) {
		t := c.Topics[name]
		fmt.Fprintf(b, "%s\n", key("  ", name))
		line := func(key, value string, given bool) {
			if given {
				fmt.Fprintf(b, "    %s: %s\n", key, value)
			}
		}
		line("type", scalar(t.Type), t.Type != "")
		line("optional", "true", t.Optional)
		line("messages", fmt.Sprint(t.Messages), t.Messages > 0)
		line("rate", t.Rate.yaml(), !t.Rate.none())
		line("gap", number(t.Gap), t.Gap > 0)
		line("latency", number(t.Latency), t.Latency > 0)
		writeList(b, "    ", "frames", t.Frames)
		line("size", t.Size, t.Size != "")
		line("qos", scalar(t.QoS), t.QoS != "")
		writeList(b, "    ", "accept", t.Accept)
		if len(t.Ranges) > 0 {
			b.WriteString("    ranges:\n")
		}
		for _, field := range slices.Sorted(maps.Keys(t.Ranges)) {
			fmt.Fprintf(b, "%s %s\n", key("      ", field), t.Ranges[field].yaml())
		}
	}
	return b.WriteTo(w)
}

// writeList writes a key with a list of texts, unless the list is empty.
func writeList[T ~string](b *bytes.Buffer, indent, key string, list []T) {
	var texts []string
	for _, text := range list {
		texts = append(texts, scalar(string(text)))
	}
	if len(list) > 0 {
		fmt.Fprintf(b, "%s%s: [%s]\n", indent, key, strings.Join(texts, ", "))
	}
}

var plainText = regexp.MustCompile(`^[A-Za-z/_][A-Za-z0-9/_. ]*$`)

// key returns a text as a YAML key. Behind a question mark, a key may be longer than 1024 characters.
func key(indent, text string) string {
	text = scalar(text)
	if len(text) > 1024 {
		return indent + "? " + text + "\n" + indent + ":"
	}
	return indent + text + ":"
}

// scalar returns a text as a YAML scalar, quoted if necessary.
func scalar(text string) string {
	if plainText.MatchString(text) && !slices.Contains([]string{"y", "n", "yes", "no", "on", "off", "true", "false",
		"null"}, strings.ToLower(text)) && !strings.HasSuffix(text, " ") {
		return text
	}
	quoted, _ := yaml.Marshal(&yaml.Node{Kind: yaml.ScalarNode, Style: yaml.DoubleQuotedStyle, Value: text})
	return strings.TrimSpace(string(quoted))
}
