package diff

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/config"
	"tapedeck/nodes/internal/formats"
)

// rule allows values of some fields to differ. If several rules match a field, the last one applies.
type rule struct {
	topic    string   // "" matches all
	field    []string // consecutive parts of the field's path; empty matches all floats and times
	limit    float64  // of the difference; infinite for ignored fields
	relative bool     // limit is a share of the larger value
	text     string   // the option, for error texts
}

// parseRules parses the values of --tolerance, such as 1e-5, 0.1%, header.stamp=1e-6 and /odom:pose.position=0.01, and
// of --ignore-fields, such as header.seq and /odom:pose.covariance.
func parseRules(tolerances, ignored []string) (rules []rule, err error) {
	for _, text := range formats.Split(tolerances) {
		name, value, named := strings.Cut(text, "=")
		if !named {
			name, value = "", text
		}
		r := fieldRule(name)
		r.text = "--tolerance " + text
		number, share := strings.CutSuffix(value, "%")
		r.limit, err = strconv.ParseFloat(number, 64)
		if err != nil || !(r.limit >= 0) || math.IsInf(r.limit, 0) || named && len(r.field) == 0 {
			return nil, config.Usagef("--tolerance %q is not valid; want a number (1e-5), a share (0.1%%), "+
				"FIELD=NUMBER or TOPIC:FIELD=NUMBER", text)
		}
		r.relative = share
		if share {
			r.limit /= 100
		}
		rules = append(rules, r)
	}
	for _, text := range formats.Split(ignored) {
		r := fieldRule(text)
		if len(r.field) == 0 {
			return nil, config.Usagef("--ignore-fields %q is not valid; want a FIELD such as header.stamp, or "+
				"TOPIC:FIELD", text)
		}
		r.limit, r.text = math.Inf(1), "--ignore-fields "+text
		rules = append(rules, r)
	}
	return rules, nil
}

// fieldRule parses FIELD or TOPIC:FIELD.
func fieldRule(text string) rule {
	topic, field, ok := strings.Cut(text, ":")
	if !ok {
		topic, field = "", text
	}
	if field == "" {
		return rule{}
	}
	return rule{topic: topic, field: strings.Split(field, ".")}
}

// matches reports whether r matches the field with a path without elements.
func (r *rule) matches(path []string) bool {
	n := len(r.field)
	for i := 0; i+n <= len(path); i++ {
		if slices.Equal(path[i:i+n], r.field) {
			return true
		}
	}
	return false
}

// matchesIn reports whether r matches a field of the list, or a field inside one. above is the path of the fields.
func (r *rule) matchesIn(above []string, list []cdr.FieldType) bool {
	for _, f := range list {
		path := append(slices.Clip(above), f.Name)
		if r.matches(path) || r.matchesIn(path, f.Fields()) {
			return true
		}
	}
	return false
}

// unmatched returns the options of rules that name a topic which no channel has, and the options of rules that match no
// field of the channels.
func (s schemas) unmatched(rules []rule, channels []*codec.Channel) (topics, fields []string) {
	for _, r := range rules {
		there, matches := r.topic == "", len(r.field) == 0
		for _, c := range channels {
			if r.topic != "" && r.topic != c.Topic {
				continue
			}
			there = true
			schema := s.schemaOf(c)
			matches = matches || schema == nil || r.matchesIn(nil, schema.Fields())
		}
		switch {
		case !there:
			topics = append(topics, r.text)
		case !matches:
			fields = append(fields, r.text)
		}
	}
	return topics, fields
}

// allows reports whether r allows the difference of two values. A value is NaN if it is not a number.
func (r *rule) allows(a, b float64) bool {
	limit, off := r.limit, math.Abs(a-b)
	if r.relative {
		limit *= max(math.Abs(a), math.Abs(b))
	}
	return math.IsInf(r.limit, 0) || off <= limit && !math.IsInf(off, 0)
}
