package carla

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/codec/format/carla"
)

// TestLoadMapping reads the documented mapping.
func TestLoadMapping(t *testing.T) {
	got, err := LoadMapping("../../../config/carla_mapping.yaml")
	require.NoError(t, err)
	require.Equal(t, WriteOptions{
		Map: "Town10HD_Opt", Profile: carla.UE4, Step: 50 * time.Millisecond,
		Actors: []ActorMapping{{
			Name: "hero", Topics: []string{"/odom"}, Frames: []string{"base_link"}, Blueprint: "vehicle.tesla.model3",
			Attributes: []carla.Attribute{
				{Type: carla.AttributeColor, ID: "color", Value: "180,0,0"},
				{Type: carla.AttributeInt, ID: "number_of_wheels", Value: "4"},
			},
		}},
	}, got)
}

// TestParseMapping parses valid mappings and mappings with errors.
func TestParseMapping(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"", ""},
		{"actors:", ""},
		{"actors: {hero: }", ""},
		{"actors: {hero: {attributes: {a: true, b: 0.5, c: x}}}", ""},
		{"profile: ue6", `profile: unknown CARLA profile "ue6"`},
		{"step: -1s", "step: -1s is negative"},
		{"step: soon", "line 1: cannot unmarshal !!str `soon` into time.Duration"},
		{"maps: Town01", "line 1: field maps not found"},
		{"actors: [hero]", "actors: line 1: want a mapping"},
		{"\nactors:\n  hero: {topic: /odom}", "actors: hero: line 3: yaml: unmarshal errors"},
		{"actors: {my car: {}}", "actors: my car: line 1: the name is not a valid part"},
		{"actors: {hero: {attributes: {color: [1, 2, 3]}}}", "actors: hero: attributes: color: line 1: want a value"},
		{"actors: {a: {blueprint: x}, a: {blueprint: y}}", "actors: line 1: a is there twice"},
		{"actors: {a: {topics: [/odom]}, b: {topics: [/odom]}}", "actors: /odom belongs to both a and b"},
	} {
		_, err := parseMapping([]byte(test.text))
		if test.want == "" {
			require.NoError(t, err, test.text)
		} else {
			require.ErrorContains(t, err, test.want)
		}
	}
}
