package bridge

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNamesOfNode(t *testing.T) {
	for _, test := range []struct {
		name, namespace string
		remaps          []string
		full            string
	}{
		{"recorder", "", nil, "/recorder"},
		{"recorder", "/", nil, "/recorder"},
		{"recorder", "/robot", nil, "/robot/recorder"},
		{"recorder", "robot/left", nil, "/robot/left/recorder"},
		{"recorder", "", []string{"__node:=rec"}, "/rec"},
		{"recorder", "", []string{"__name:=rec", "__node:=late"}, "/rec"},
		{"recorder", "/robot", []string{"__ns:=/"}, "/recorder"},
		{"recorder", "", []string{"__ns:=/a/b", "__ns:=/c"}, "/a/b/recorder"},
		{"recorder", "", []string{"other:__node:=rec", "other:__ns:=/a"}, "/recorder"},
		{"recorder", "", []string{"recorder:__node:=rec", "recorder:__ns:=/old", "rec:__ns:=/new"}, "/new/rec"},
	} {
		n, err := NewNames(Options{Name: test.name, Namespace: test.namespace, Remaps: test.remaps})
		require.NoError(t, err, "%+v", test)
		require.Equal(t, test.full, n.Node(), "%+v", test)
		require.Equal(t, test.full, join(n.Namespace(), n.NodeName()))
	}
}

func TestExpand(t *testing.T) {
	for _, test := range []struct{ namespace, name, full string }{
		{"/ns", "/abs", "/abs"},
		{"/ns", "rel/x", "/ns/rel/x"},
		{"/", "rel/x", "/rel/x"},
		{"/ns", "~", "/ns/n"},
		{"/ns", "~/x", "/ns/n/x"},
		{"/", "~/x", "/n/x"},
		{"/ns", "{node}/x", "/ns/n/x"},
		{"/ns", "/{node}", "/n"},
		{"/ns", "{ns}/x", "/ns/x"},
		{"/ns", "/a{namespace}/x", "/a/ns/x"},
		{"/ns", "a__b", "/ns/a__b"},
		{"/ns", "_hidden", "/ns/_hidden"},
	} {
		n, err := NewNames(Options{Name: "n", Namespace: test.namespace})
		require.NoError(t, err)
		topic, err := n.Topic(test.name)
		require.NoError(t, err)
		require.Equal(t, test.full, topic, "%+v", test)
		service, err := n.Service(test.name)
		require.NoError(t, err)
		require.Equal(t, test.full, service, "%+v", test)
	}
}

func TestRemap(t *testing.T) {
	for _, test := range []struct {
		rule, name     string
		topic, service string
	}{
		{"a:=b", "a", "/ns/b", "/ns/b"},
		{"a:=b", "/ns/a", "/ns/b", "/ns/b"},
		{"a:=b", "/a", "/a", "/a"},
		{"a:=b", "a/c", "/ns/a/c", "/ns/a/c"},
		{"/a:=/b", "/a", "/b", "/b"},
		{"~/a:=/b", "~/a", "/b", "/b"},
		{"a:=~/b", "a", "/ns/n/b", "/ns/n/b"},
		{"a:={node}/b", "a", "/ns/n/b", "/ns/n/b"},
		{"rostopic://a:=b", "a", "/ns/b", "/ns/a"},
		{"rosservice://a:=b", "a", "/ns/a", "/ns/b"},
		{"rostopic:///a:=/b", "/a", "/b", "/a"},
		{"n:a:=b", "a", "/ns/b", "/ns/b"},
		{"m:a:=b", "a", "/ns/a", "/ns/a"},
		{"n:rostopic://a:=b", "a", "/ns/b", "/ns/a"},
		{"rostopic:a:=b", "a", "/ns/a", "/ns/a"}, // of a node that is called rostopic
	} {
		n, err := NewNames(Options{Name: "n", Namespace: "/ns", Remaps: []string{test.rule}})
		require.NoError(t, err, test.rule)
		topic, err := n.Topic(test.name)
		require.NoError(t, err)
		require.Equal(t, test.topic, topic, "%+v", test)
		service, err := n.Service(test.name)
		require.NoError(t, err)
		require.Equal(t, test.service, service, "%+v", test)
	}
}

func TestRemapOrder(t *testing.T) {
	n, err := NewNames(Options{Name: "n", Remaps: []string{
		"m:a:=never", "a:=b", "a:=c", "b:=d", "__node:=new", "__ns:=/ns", "~/x:=y", "n:e:=old", "new:e:=f",
	}})
	require.NoError(t, err)
	for name, want := range map[string]string{
		"a":         "/ns/b", // the first that matches, once
		"b":         "/ns/d",
		"~/x":       "/ns/y", // rules are expanded with the new name
		"/ns/new/x": "/ns/y",
		"e":         "/ns/f",
	} {
		topic, err := n.Topic(name)
		require.NoError(t, err)
		require.Equal(t, want, topic, name)
	}
}

func TestNamesRefused(t *testing.T) {
	long := strings.Repeat("a", 300)
	for _, test := range []struct {
		name, namespace, remap, message string
	}{
		{"", "", "", `node name "": is empty`},
		{"a b", "", "", `node name "a b": contains " "`},
		{"1a", "", "", `node name "1a": "1a" begins with a digit`},
		{"/a", "", "", `node name "/a": contains '/', a namespace belongs into __ns`},
		{long, "", "", "is longer than 255 characters"},
		{"n", "/a/", "", `namespace "/a/": ends in '/'`},
		{"n", "/a//b", "", `namespace "/a//b": contains '//'`},
		{"n", "", "a", `remap rule "a": has no ':='`},
		{"n", "", ":=b", `remap rule ":=b": one side is empty`},
		{"n", "", "a:=", `remap rule "a:=": one side is empty`},
		{"n", "", "a:=b c", `remap rule "a:=b c": "b c": contains " "`},
		{"n", "", "a-b:=c", `remap rule "a-b:=c": "a-b": contains "-"`},
		{"n", "", "m:a-b:=c", `"a-b": contains "-"`},
		{"n", "", "a:=~b", "'~' must stand alone"},
		{"n", "", "a:={host}", `unknown substitution in "{host}"`},
		{"n", "", "x y:a:=b", `node name "x y": contains " "`},
		{"n", "", "http://a:=b", `unknown scheme "http"`},
		{"n", "", "__ns:=rel", `namespace "rel": must begin with '/'`},
		{"n", "", "__node:=/a", `node name "/a": contains '/'`},
		{"n", "", "__log:=a", `unknown keyword "__log"`},
	} {
		o := Options{Name: test.name, Namespace: test.namespace}
		if test.remap != "" {
			o.Remaps = []string{test.remap}
		}
		_, err := NewNames(o)
		require.ErrorContains(t, err, test.message, "%+v", test)
	}
}

func TestTopicRefused(t *testing.T) {
	n, err := NewNames(Options{Name: "n", Namespace: "/ns"})
	require.NoError(t, err)
	for name, message := range map[string]string{
		"":                       `name "": is empty`,
		"/":                      "ends in '/'",
		"a/":                     "ends in '/'",
		"a//b":                   "contains '//'",
		"~a":                     "'~' must stand alone",
		"a~":                     `contains "~"`,
		"a/1b":                   `"1b" begins with a digit`,
		"{what}":                 "unknown substitution",
		"a}":                     `contains "}"`,
		"ä":                      "contains",
		strings.Repeat("a", 250): "is longer than 247 characters",
	} {
		_, err := n.Topic(name)
		require.ErrorContains(t, err, message, name)
		_, err = n.Service(name)
		require.ErrorContains(t, err, message, name)
	}
}

func FuzzNames(f *testing.F) {
	f.Add("n:rostopic://~/a:={node}/b", "~/a")
	f.Add("__ns:=/a", "{ns}/x")
	f.Fuzz(func(t *testing.T, rule, name string) {
		n, err := NewNames(Options{Name: "n", Remaps: []string{rule}})
		if err != nil {
			return
		}
		if topic, err := n.Topic(name); err == nil {
			require.NoError(t, checkFull(topic, maxTopicName))
		}
	})
}
