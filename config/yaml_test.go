package config

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// write writes a file in a temporary folder and returns its path.
func write(t *testing.T, text string) string {
	path := filepath.Join(t.TempDir(), "p.yaml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

func TestReadFile(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       map[string]any // for /robot/tk, the last value of each name
	}{
		{"empty", "", map[string]any{}},
		{"comments only", "# nothing\n---\n", map[string]any{}},
		{"empty sections", "/**:\n/robot/tk:\n  ros__parameters:\n", map[string]any{}},
		{"as launch writes it, with a Python tuple",
			"/robot/tk:\n  ros__parameters:\n    a.b: !!python/tuple\n    - 1\n    - 2\n    flag: true\n    name: " +
				"!!python/unicode 'x'\n",
			map[string]any{"a.b": []int64{1, 2}, "flag": true, "name": "x"}},
		{"as launch writes it for a node without name", "/**:\n  ros__parameters:\n    a: 1\n",
			map[string]any{"a": int64(1)}},
		{"nested namespaces", "robot:\n  tk:\n    ros__parameters: {a: 1}\n  other:\n    ros__parameters: {a: 2}\n",
			map[string]any{"a": int64(1)}},
		{"nested wildcards", "/**:\n  tk:\n    ros__parameters: {a: 1}\n'*':\n  '*':\n    ros__parameters: {b: " +
			"1}\n/*:\n  ros__parameters: {c: 1}\n",
			map[string]any{"a": int64(1), "b": int64(1)}},
		{"wildcards in one key", "/*/tk:\n  ros__parameters: {a: 1}\n/**/tk:\n  ros__parameters: {b: " +
			"1}\n/robot/**:\n  ros__parameters: {c: 1}\n/other/**:\n  ros__parameters: {d: 1}\n",
			map[string]any{"a": int64(1), "b": int64(1), "c": int64(1)}},
		{"other nodes", "tk:\n  ros__parameters: {a: 1}\n/tk:\n  ros__parameters: {a: 1}\n/robot/tk2:\n  " +
			"ros__parameters: {a: [[1]]}\n", map[string]any{}},
		{"later sections win", "/**:\n  ros__parameters: {a: 1, b: 1}\n/robot/tk:\n  ros__parameters: {a: 2}\n",
			map[string]any{"a": int64(2), "b": int64(1)}},
		{"several documents", "/**:\n  ros__parameters: {a: 1}\n---\n/**:\n  ros__parameters: {b: 1}\n",
			map[string]any{"a": int64(1), "b": int64(1)}},
		{"nested parameters", "/**:\n  ros__parameters:\n    qos_overrides:\n      /Tf:\n        publisher: {depth: " +
			"5, reliability: reliable}\n    x.y: 1\n    x: {z: 2}\n",
			map[string]any{"qos_overrides./Tf.publisher.depth": int64(5),
				"qos_overrides./Tf.publisher.reliability": "reliable",
				"x.y": int64(1), "x.z": int64(2)}},
		{"booleans of YAML 1.1", "/**:\n  ros__parameters: {a: True, b: yes, c: on, d: Off, e: 'yes', f: n, g: [yes, " +
			"no], h: !!str yes}\n",
			map[string]any{"a": true, "b": true, "c": true, "d": false, "e": "yes", "f": false,
				"g": []bool{true, false},
				"h": "yes"}},
		{"numbers", "/**:\n  ros__parameters: {a: 0x10, b: -1, c: 1.0, d: 1e3, e: .inf, f: -.inf, g: inf, h: '1', i: " +
			"1.2.3, j: 2024-01-01}\n",
			map[string]any{"a": int64(16), "b": int64(-1), "c": 1.0, "d": 1000.0, "e": math.Inf(1), "f": math.Inf(-1),
				"g": "inf", "h": "1", "i": "1.2.3", "j": "2024-01-01"}},
		{"lists", "/**:\n  ros__parameters: {a: [], b: [1, 2.5], c: [1, x], d: [a, 'b']}\n",
			map[string]any{"a": []string{}, "b": []float64{1, 2.5}, "c": []string{"1", "x"}, "d": []string{"a", "b"}}},
		{"null says nothing", "/**:\n  ros__parameters: {a: 1, b: null, c: ~, d: }\n", map[string]any{"a": int64(1)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			settings, _, err := readFile(write(t, c.text), "/robot/tk")
			require.NoError(t, err)
			got := map[string]any{}
			for _, s := range settings {
				got[s.name] = s.value
			}
			require.Equal(t, c.want, got)
		})
	}
}

func TestReadFileErrors(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"no section", "max_duration: 5\n", "line 1: want node names with ros__parameters"},
		{"a list", "- a\n", "line 1: want node names"},
		{"no node", "ros__parameters:\n  a: 1\n", "line 1: ros__parameters needs the name of a node"},
		{"broken", "/**: [\n", "p.yaml: yaml:"},
		{"tab", "/**:\n\tros__parameters:\n", "p.yaml: yaml:"},
		{"parameters are a list", "/**:\n  ros__parameters: [a]\n", "line 2: want parameters as name: value"},
		{"a map in a list", "/**:\n  ros__parameters:\n    a:\n    - b: 1\n",
			"line 4: parameter a: a list may hold plain values only"},
		{"a name that is a list", "/**:\n  ros__parameters:\n    [a]: 1\n", "line 3: want the name of a parameter"},
		{"twice", "/**:\n  ros__parameters:\n    a: 1\n    a: 2\n", "line 4: parameter a is given twice"},
		{"alias", "/**:\n  ros__parameters:\n    a: &x 1\n    b: *x\n",
			"line 4: parameter b: YAML aliases are not supported"},
		{"a binary file", "\x00\x01\x02", "p.yaml: yaml:"},
		{"large", strings.Repeat("#\n", maxFile), "larger than 16MiB"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, err := readFile(write(t, c.text), "/tk")
			require.ErrorContains(t, err, c.want)
			require.ErrorContains(t, err, "p.yaml")
		})
	}
	_, _, err := readFile(t.TempDir(), "/tk")
	require.ErrorContains(t, err, "is a directory")
	_, _, err = readFile("missing.yaml", "/tk")
	require.ErrorContains(t, err, "open missing.yaml")
}

func TestReadFileWarnsOfNamespace(t *testing.T) {
	_, warnings, err := readFile(write(t, "tk:\n  ros__parameters: {a: 1}\n/robot/tk:\n  ros__parameters: {a: 1}\n"),
		"/robot/tk")
	require.NoError(t, err)
	require.Len(t, warnings, 1)
	require.Contains(t, warnings[0], "line 2: section for /tk ignored: the node is /robot/tk")
}

// TestMatches checks which nodes match the pattern of a section in a parameter file.
func TestMatches(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"/**", "/a", true},
		{"/**", "/a/b/c", true},
		{"/**/c", "/c", true},
		{"/**/c", "/a/b/c", true},
		{"/**/c", "/a/b", false},
		{"/a/**/c", "/a/c", true},
		{"/a/**", "/a", true},
		{"/*/c", "/c", false},
		{"/*/c", "/a/c", true},
		{"/*", "/a/c", false},
		{"a", "/a", true},
		{"a", "/b/a", false},
		{"/a*", "/ab", false},
		{"", "/a", false},
		{"/**/*/**", "/a", true},
		{"/a/**/b/**/c", "/a/x/b/b/y/c", true},
		{"/a/**/b/**/c", "/a/x/b/b/y/c/d", false},
		{strings.Repeat("/**", 1000) + "/x", "/a/b/c/d/e/f/g/h/i/j/k", false},
	} {
		require.Equal(t, c.want, matches(split(c.pattern), split(c.name)), "%s %s", c.pattern, c.name)
	}
}

func FuzzParameterFile(f *testing.F) {
	f.Add("/robot/tk:\n  ros__parameters:\n    a.b: !!python/tuple\n    - 1\n    - 2\n    flag: true\n")
	f.Add("/**:\n  tk:\n    ros__parameters: {a: {b: [1, 2.5, .inf]}, c: 0x10, d: 'yes'}\n---\n/*/tk:\n  " +
		"ros__parameters: {e: ~}\n")
	f.Add("a: &x\n  ros__parameters:\n    <<: *x\n")
	f.Add("? [a]\n: {ros__parameters: 1}\n")
	f.Fuzz(func(t *testing.T, text string) {
		r := fileReader{path: "p.yaml", node: "/robot/tk"}
		if err := r.read([]byte(text)); err != nil {
			require.ErrorContains(t, err, "parameter file p.yaml")
			return
		}
		for _, s := range r.settings {
			require.NotEmpty(t, s.name)
			require.NotNil(t, s.value)
			require.True(t, s.list || len(s.texts) == 1)
		}
		if s, ok, err := parseValue("a", text); ok && err == nil {
			require.True(t, s.list || len(s.texts) == 1)
			require.NotNil(t, s.value)
		}
	})
}
