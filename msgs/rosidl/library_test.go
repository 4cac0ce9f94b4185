package rosidl

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

// folder returns a folder of packages.
func folder(texts map[string]string) fstest.MapFS {
	fsys := fstest.MapFS{}
	for path, text := range texts {
		fsys[path] = &fstest.MapFile{Data: []byte(text)}
	}
	return fsys
}

func TestLibrary(t *testing.T) {
	first := folder(map[string]string{
		"a_msgs/msg/Outer.msg":    "Header header\nb_msgs/Inner[] inner\n",
		"a_msgs/msg/Alone.msg":    "bool yes\n",
		"own_msgs/msg/User.msg":   "Header header\n",
		"own_msgs/msg/Header.msg": "uint8 id\n",
	})
	second := folder(map[string]string{
		"a_msgs/msg/Alone.msg":    "int8 ignored\n",
		"b_msgs/msg/Inner.msg":    "float64 x\n",
		"b_msgs/srv/Do.srv":       "Inner inner\n---\nbool done\n",
		"std_msgs/msg/Header.msg": "time stamp\nstring frame_id\n",
	})
	l := NewLibrary(first, second)

	m, err := l.Message("a_msgs/msg/Outer")
	require.NoError(t, err)
	require.Equal(t, "std_msgs/msg/Header", m.Fields[0].Type.Message)
	again, err := l.Message("a_msgs/Outer")
	require.NoError(t, err)
	require.Same(t, m, again)

	m, err = l.Message("a_msgs/msg/Alone")
	require.NoError(t, err)
	require.Equal(t, "yes", m.Fields[0].Name)

	m, err = l.Message("own_msgs/msg/User")
	require.NoError(t, err)
	require.Equal(t, "own_msgs/msg/Header", m.Fields[0].Type.Message)

	s, err := l.Service("b_msgs/srv/Do")
	require.NoError(t, err)
	m, err = l.Message("b_msgs/srv/Do_Request")
	require.NoError(t, err)
	require.Same(t, s.Request, m)
	m, err = l.Message("b_msgs/srv/Do_Response")
	require.NoError(t, err)
	require.Same(t, s.Response, m)
	m, err = l.Message("b_msgs/srv/Do_Event")
	require.NoError(t, err)
	require.Equal(t, []Field{
		{Name: "info", Type: Type{Kind: Nested, Message: "service_msgs/msg/ServiceEventInfo"}},
		{Name: "request", Type: Type{Kind: Nested, Message: "b_msgs/srv/Do_Request", Shape: Sequence, Length: 1}},
		{Name: "response", Type: Type{Kind: Nested, Message: "b_msgs/srv/Do_Response", Shape: Sequence, Length: 1}},
	}, m.Fields)

	require.Equal(t, []string{
		"a_msgs/msg/Alone", "a_msgs/msg/Outer", "b_msgs/msg/Inner", "b_msgs/srv/Do",
		"own_msgs/msg/Header", "own_msgs/msg/User", "std_msgs/msg/Header",
	}, l.Types())
}

// TestAction reads the messages of an action from its definition, and from the text that MCAP files carry.
func TestAction(t *testing.T) {
	const text = "# where to\nPose goal\n---\nbool docked\n---\nfloat32 left\n"
	l := NewLibrary(folder(map[string]string{"a_msgs/action/Dock.action": text, "a_msgs/msg/Pose.msg": "float64 x\n"}))
	nested := func(name, message string) Field { return Field{Name: name, Type: Type{Kind: Nested, Message: message}} }
	single := func(name string, k Kind) Field { return Field{Name: name, Type: Type{Kind: k}} }
	id := nested("goal_id", "unique_identifier_msgs/msg/UUID")
	for suffix, want := range map[string][]Field{
		"Goal":               {nested("goal", "a_msgs/msg/Pose")},
		"Result":             {single("docked", Bool)},
		"Feedback":           {single("left", Float32)},
		"FeedbackMessage":    {id, nested("feedback", "a_msgs/action/Dock_Feedback")},
		"SendGoal_Request":   {id, nested("goal", "a_msgs/action/Dock_Goal")},
		"SendGoal_Response":  {single("accepted", Bool), nested("stamp", "builtin_interfaces/msg/Time")},
		"GetResult_Request":  {id},
		"GetResult_Response": {single("status", Int8), nested("result", "a_msgs/action/Dock_Result")},
		"SendGoal_Event": {nested("info", "service_msgs/msg/ServiceEventInfo"),
			{Name: "request", Type: Type{Kind: Nested, Message: "a_msgs/action/Dock_SendGoal_Request",
				Shape: Sequence, Length: 1}},
			{Name: "response", Type: Type{Kind: Nested, Message: "a_msgs/action/Dock_SendGoal_Response",
				Shape: Sequence, Length: 1}}},
	} {
		name := "a_msgs/action/Dock_" + suffix
		m, err := l.Message(name)
		require.NoError(t, err, name)
		require.Equal(t, want, m.Fields, name)
		hash, err := l.Hash(name)
		require.NoError(t, err, name)
		own, err := l.Concatenated(name)
		require.NoError(t, err, name)
		for _, concatenated := range []string{own, // rosbag2 writes the whole .action file instead
			separator + "ACTION: a_msgs/action/Dock\n" + text + "\n" + separator + "MSG: a_msgs/Pose\nfloat64 x\n"} {
			parsed, err := ParseConcatenated(name, concatenated)
			require.NoError(t, err, name)
			again, err := parsed.Hash(name)
			require.NoError(t, err, name)
			require.Equal(t, hash, again, name)
		}
	}
	_, err := l.Message("a_msgs/action/Fly_Goal")
	require.EqualError(t, err, "unknown type a_msgs/action/Fly")
	_, err = l.Message("a_msgs/action/Fly_SendGoal_Request")
	require.EqualError(t, err, "unknown type a_msgs/action/Fly")
	_, err = NewLibrary(folder(map[string]string{"a/action/B.action": "bool x\n---\n"})).Message("a/action/B_Goal")
	require.EqualError(t, err, `parse a/action/B.action: the number of "---" lines is 1, not 2`)
}

func TestLibraryErrors(t *testing.T) {
	texts := map[string]string{
		"a_msgs/msg/One.msg":     "Two two\n",
		"a_msgs/msg/Two.msg":     "Three[] three\n",
		"a_msgs/msg/Three.msg":   "One one\n",
		"a_msgs/msg/Lacking.msg": "Missing missing\n",
		"a_msgs/msg/Broken.msg":  "int32\n",
		"a_msgs/srv/Do.srv":      "Missing missing\n---\n",
	}
	for i := range 60 {
		texts[fmt.Sprintf("a_msgs/msg/Deep%d.msg", i)] = fmt.Sprintf("Deep%d next\n", i+1)
	}
	l := NewLibrary(folder(texts))
	for _, tt := range []struct {
		name    string
		unknown bool
		want    string
	}{
		{"a_msgs/msg/Nothing", true, "unknown type a_msgs/msg/Nothing"},
		{"a_msgs/msg/Lacking", true, "field missing of a_msgs/msg/Lacking: unknown type a_msgs/msg/Missing"},
		{"a_msgs/srv/Do_Request", true, "field missing of a_msgs/srv/Do_Request: unknown type a_msgs/msg/Missing"},
		{"a_msgs/srv/Do", true, "unknown type a_msgs/srv/Do: a service is not a message"},
		{"a_msgs/srv/Nothing_Request", true, "unknown type a_msgs/srv/Nothing"},
		{"a_msgs/msg/One", false, "a_msgs/msg/One contains itself: a_msgs/msg/One > a_msgs/msg/Two > " +
			"a_msgs/msg/Three > a_msgs/msg/One"},
		{"a_msgs/msg/Deep0", false, "a_msgs/msg/Deep0 contains messages nested deeper than 50"},
		{"a_msgs/msg/Broken", false, `parse a_msgs/msg/Broken.msg:1: "" is not a name for a field of type int32`},
		{"../msg/Broken", false, `"../msg/Broken" is not a type name like "std_msgs/msg/String"`},
	} {
		_, err := l.Message(tt.name)
		require.EqualError(t, err, tt.want)
		require.Equal(t, tt.unknown, isUnknown(err), tt.name)
		_, err = l.Hash(tt.name)
		require.Error(t, err)
		_, err = l.Concatenated(tt.name)
		require.Error(t, err)
	}
	_, err := l.Service("a_msgs/srv/Do")
	require.EqualError(t, err, "field missing of a_msgs/srv/Do_Request: unknown type a_msgs/msg/Missing")
	_, err = l.Service("a_msgs/msg/Lacking")
	require.EqualError(t, err, "unknown type a_msgs/msg/Lacking: the type is not a service")
}

func TestLibraryConcurrently(t *testing.T) {
	texts := map[string]string{}
	for i := range 40 {
		texts[fmt.Sprintf("a_msgs/msg/T%d.msg", i)] = fmt.Sprintf("T%d next\n", i+1)
	}
	texts["a_msgs/msg/T40.msg"] = "bool last\n"
	l := NewLibrary(folder(texts))
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			_, err := l.Hash(fmt.Sprintf("a_msgs/msg/T%d", i))
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

func TestConcatenated(t *testing.T) {
	line := strings.Repeat("=", 80)
	l := NewLibrary(folder(map[string]string{
		"z_msgs/msg/Root.msg":  "b_msgs/Two two\n# words\nLeaf[3] leaf\na_msgs/One one",
		"z_msgs/msg/Leaf.msg":  "bool z\n",
		"a_msgs/msg/One.msg":   "b_msgs/Two two\n",
		"b_msgs/msg/Two.msg":   "z_msgs/Leaf leaf\n",
		"z_msgs/srv/Do.srv":    "Leaf leaf\n---\na_msgs/One one\n",
		"z_msgs/msg/Empty.msg": "",
	}))
	one := "\n" + line + "\nMSG: a_msgs/One\nb_msgs/Two two\n"
	two := "\n" + line + "\nMSG: b_msgs/Two\nz_msgs/Leaf leaf\n"
	leaf := "\n" + line + "\nMSG: z_msgs/Leaf\nbool z\n"
	for name, want := range map[string]string{
		"z_msgs/msg/Root":       "b_msgs/Two two\n# words\nLeaf[3] leaf\na_msgs/One one" + one + two + leaf,
		"z_msgs/msg/Leaf":       "bool z\n",
		"z_msgs/msg/Empty":      "",
		"z_msgs/srv/Do":         line + "\nSRV: z_msgs/srv/Do\nLeaf leaf\n---\na_msgs/One one\n" + one + two + leaf,
		"z_msgs/srv/Do_Event":   line + "\nSRV: z_msgs/srv/Do\nLeaf leaf\n---\na_msgs/One one\n" + one + two + leaf,
		"z_msgs/srv/Do_Request": "Leaf leaf\n" + leaf,
	} {
		text, err := l.Concatenated(name)
		require.NoError(t, err, name)
		require.Equal(t, want, text)

		parsed, err := ParseConcatenated(name, text)
		require.NoError(t, err, name)
		again, err := parsed.Concatenated(name)
		require.NoError(t, err, name)
		require.Equal(t, want, again)
		wantHash, err := l.Hash(name)
		require.NoError(t, err)
		hash, err := parsed.Hash(name)
		require.NoError(t, err)
		require.Equal(t, wantHash, hash)
	}
}

func TestParseConcatenated(t *testing.T) {
	line := strings.Repeat("=", 80)

	// A text of ROS 1 with CRLF, a repeated and an unused definition.
	text := strings.ReplaceAll("Header header\nduration wait\n"+
		line+"\nMSG: std_msgs/Header\nuint32 seq\ntime stamp\nstring frame_id\n"+
		line+"\nMSG: std_msgs/msg/Header\nuint32 seq\ntime stamp\nstring frame_id\n"+
		line+"\nMSG: other_msgs/Unused\nbool x", "\n", "\r\n")
	l, err := ParseConcatenated("my_msgs/Root", text)
	require.NoError(t, err)
	m, err := l.Message("my_msgs/msg/Root")
	require.NoError(t, err)
	require.Equal(t, "builtin_interfaces/msg/Duration", m.Fields[1].Type.Message)
	m, err = l.Message("std_msgs/Header")
	require.NoError(t, err)
	require.Len(t, m.Fields, 3)
	_, err = l.Message("other_msgs/msg/Unused")
	require.NoError(t, err)

	for _, tt := range []struct{ text, want string }{
		{"A a\n", "field a of my_msgs/msg/Root: unknown type my_msgs/msg/A"},
		{"A a\n" + line + "\nMSG: my_msgs/A\nRoot root\n", "contains itself"},
		{"A a\n" + line + "\nMSG: my_msgs/A\nint32\n", "parse my_msgs/msg/A.msg:1: "},
		{"A a\n" + line + "\nMSG: my_msgs/A\nint8 x\n" + line + "\nMSG: my_msgs/A\nint8 y\n",
			"two different definitions of my_msgs/msg/A"},
		{"A a\n\n" + line + "\nmodule x\n", `line 4: no "MSG: package/Type" behind the line of "="`},
		{"A a\n" + line, `line 3: no "MSG: package/Type" behind the line of "="`},
		{"A a\n" + line + "\nMSG: ../A\n", `line 3: no "MSG: package/Type" behind the line of "="`},
		{line + "\nIDL: my_msgs/msg/Root\nmodule my_msgs {\n",
			"line 2: my_msgs/msg/Root is defined in IDL, which is not supported"},
	} {
		_, err := ParseConcatenated("my_msgs/msg/Root", tt.text)
		require.ErrorContains(t, err, "parse concatenated definition of my_msgs/msg/Root: ")
		require.ErrorContains(t, err, tt.want)
	}
}

func isUnknown(err error) bool { return errors.Is(err, ErrUnknownType) }
