package main

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"tapedeck/config"
	"tapedeck/nodes/internal/formats"
)

// rule allows values of some fields to differ. Of several rules that match a field the last one applies.
type rule struct {
	topic string   // "" matches all
	field []string // consecutive parts of the field's path; empty matches all floats and times
	limit float64  // of the difference; infinite for ignored fields
	share bool     // limit is relative to the larger value
}

// parseTolerances reads rules such as 1e-5, 0.1%, header.stamp=1e-6 and /odom:pose.position=0.01.
func parseTolerances(texts []string) ([]rule, error) {
	var rules []rule
	for _, text := range formats.Split(texts) {
		name, value, named := strings.Cut(text, "=")
		if !named {
			name, value = "", text
		}
		r := fieldRule(name)
		number, share := strings.CutSuffix(value, "%")
		var err error
		r.limit, err = strconv.ParseFloat(number, 64)
		if err != nil || !(r.limit >= 0) || math.IsInf(r.limit, 0) || named && len(r.field) == 0 {
			return nil, config.Usagef("--tolerance %q is not valid; want a number (1e-5), a share (0.1%%), FIELD=NUMBER or "+
				"TOPIC:FIELD=NUMBER", text)
		}
		if r.share = share; share {
			r.limit /= 100
		}
		rules = append(rules, r)
	}
	return rules, nil
}

// parseIgnored reads fields such as header.seq and /odom:pose.covariance.
func parseIgnored(texts []string) ([]rule, error) {
	var rules []rule
	for _, text := range formats.Split(texts) {
		r := fieldRule(text)
		if len(r.field) == 0 {
			return nil, config.Usagef("--ignore-fields %q is not valid; want a FIELD such as header.stamp, or TOPIC:FIELD", text)
		}
		r.limit = math.Inf(1)
		rules = append(rules, r)
	}
	return rules, nil
}

// fieldRule reads FIELD or TOPIC:FIELD.
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

// of reports whether r matches the field of a path without elements.
func (r *rule) of(path []string) bool {
	n := len(r.field)
	for i := 0; i+n <= len(path); i++ {
		if slices.Equal(path[i:i+n], r.field) {
			return true
		}
	}
	return false
}

// allows reports whether r allows the difference of two values, which are NaN if they are not numbers.
func (r *rule) allows(a, b float64) bool {
	limit, off := r.limit, math.Abs(a-b)
	if r.share {
		limit *= max(math.Abs(a), math.Abs(b))
	}
	return math.IsInf(r.limit, 0) || off <= limit && !math.IsInf(off, 0)
}
