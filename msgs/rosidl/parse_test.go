package rosidl

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTypeID compares ids with the constants of type_description_interfaces/msg/FieldType.
func TestTypeID(t *testing.T) {
	for text, id := range map[string]int{
		"string": 17, "wstring": 18, "string<=5": 21, "wstring<=5": 22, "string[3]": 65, "string<=5[3]": 69,
		"string[<=3]": 113, "string<=5[<=3]": 117, "string[]": 161, "wstring<=5[]": 166, "uint8[]": 147, "byte": 16,
		"uint8": 3, "float64[9]": 59, "std_msgs/msg/Header": 1, "geometry_msgs/msg/Point[]": 145,
	} {
		m, err := ParseMessage("a_msgs/msg/A", text+" x\n")
		require.NoError(t, err)
		field := m.Fields[0].Type
		require.Equal(t, id, field.ID(), text)
		again, err := TypeText(id, uint64(field.Length), uint64(field.StringBound), field.Message)
		require.NoError(t, err)
		require.Equal(t, text, again)
	}
	for id, want := range map[int]string{
		0: "type id 0 is unknown", -1: "type id -1 is unknown", 193: "type id 193 is unknown",
		12: "type id 12 has no name in .msg files", 68: "type id 68 has no name in .msg files",
	} {
		_, err := TypeText(id, 0, 0, "")
		require.EqualError(t, err, want)
	}
}

func TestParseMessage(t *testing.T) {
	text := "\ufeff# A comment, \"not\" a field\r\n" +
		"\r\n" +
		"uint8 SMALL=1 # one\n" +
		"int32\tNEGATIVE = -0x10\n" +
		"string TEXT=\"a # b\"# c\n" +
		"string BARE=it's a # b\n" +
		"string OPEN='tis # b\n" +
		"string ESCAPES=\"a\\n\\x41\\u00e9 C:\\dir\"\n" +
		"float32 RATIO=1e-3\n" +
		"bool ON=True\n" +
		"byte FULL=255\n" +
		"  Header header  # indented\n" +
		"Point[] points\n" +
		"other_msgs/Thing thing\n" +
		"other_msgs/msg/Thing[4] things\n" +
		"string<=10 name 'O\\'Neill'\n" +
		"wstring[<=3] names [\"a,\\t]\", b, 'c#\"']\n" +
		"uint16[2] pair [ 1, 0x2 ]\n" +
		"int64[] empty []\n" +
		"float64 nothing\n" +
		"string greeting hello world\n" +
		"time stamp\n"
	m, err := ParseMessage("my_msgs/msg/Mixed", text)
	require.NoError(t, err)
	require.Equal(t, text, m.Text)
	require.Equal(t, []Constant{
		{"SMALL", Type{Kind: Uint8}, uint64(1)},
		{"NEGATIVE", Type{Kind: Int32}, int64(-16)},
		{"TEXT", Type{Kind: String}, "a # b"},
		{"BARE", Type{Kind: String}, "it's a"},
		{"OPEN", Type{Kind: String}, "'tis"},
		{"ESCAPES", Type{Kind: String}, "a\nA\u00e9 C:\\dir"},
		{"RATIO", Type{Kind: Float32}, 1e-3},
		{"ON", Type{Kind: Bool}, true},
		{"FULL", Type{Kind: Byte}, uint64(255)},
	}, m.Constants)
	require.Equal(t, []Field{
		{"header", Type{Kind: Nested, Message: "std_msgs/msg/Header"}, nil},
		{"points", Type{Kind: Nested, Message: "my_msgs/msg/Point", Shape: Sequence}, nil},
		{"thing", Type{Kind: Nested, Message: "other_msgs/msg/Thing"}, nil},
		{"things", Type{Kind: Nested, Message: "other_msgs/msg/Thing", Shape: Array, Length: 4}, nil},
		{"name", Type{Kind: String, StringBound: 10}, "O'Neill"},
		{"names", Type{Kind: WString, Shape: Sequence, Length: 3}, []any{"a,\t]", "b", "c#\""}},
		{"pair", Type{Kind: Uint16, Shape: Array, Length: 2}, []any{uint64(1), uint64(2)}},
		{"empty", Type{Kind: Int64, Shape: Sequence}, []any{}},
		{"nothing", Type{Kind: Float64}, nil},
		{"greeting", Type{Kind: String}, "hello world"},
		{"stamp", Type{Kind: Nested, Message: "builtin_interfaces/msg/Time"}, nil},
	}, m.Fields)
}

func TestParseMessageErrors(t *testing.T) {
	for _, tt := range []struct{ name, line, want string }{
		{"no name", "int32", `"" is not a name for a field of type int32`},
		{"bad name", "int32 a-b", `"a-b" is not a name for a field of type int32`},
		{"name of digits", "int32 1a", `"1a" is not a name for a field of type int32`},
		{"no constant name", "int32 =1", `"" is not a name for a constant`},
		{"bad type", "a/b/c d", `"a/b/c" is not a type`},
		{"no bracket", "int32] a", `type "int32]" has no "["`},
		{"zero length", "int32[0] a", `type "int32[0]": length "0" is not a number from 1 to 2147483647`},
		{"no bound", "int32[<=] a", `type "int32[<=]": length "" is not a number from 1 to 2147483647`},
		{"huge length", "int32[2147483648] a", `type "int32[2147483648]": length "2147483648" is not a number from 1 ` +
			`to 2147483647`},
		{"bound of a number", "int32<=3 a", `type "int32<=3": only strings have a bound`},
		{"string bound", "string<=x a", `type "string<=x": bound "x" is not a number from 1 to 2147483647`},
		{"two fields", "bool twice", "a second field twice"},
		{"two constants", "bool TWICE=1", "a second constant TWICE"},
		{"constant list", "bool[2] A=[1,1]", "constant A: a constant cannot have type bool[2]"},
		{"constant message", "Point A=1", "constant A: a constant cannot have type Point"},
		{"no value", "int8 A=", `constant A: "" is not an integer of 8 bits`},
		{"too large", "int8 A=128", `constant A: "128" is not an integer of 8 bits`},
		{"negative", "uint8 A=-1", `constant A: "-1" is not an unsigned integer of 8 bits`},
		{"not a bool", "bool a yes", `default of field a: "yes" is neither true nor false`},
		{"not a float", "float32 a 1,5", `default of field a: "1,5" is not a floating-point number`},
		{"long string", "string<=2 a 'abc'", `default of field a: "abc" has 3 characters, more than 2`},
		{"message default", "Point a 1",
			"default of field a: my_msgs/msg/Point is a message and cannot have a default"},
		{"list default", "int8[] a 1", `default of field a: "1" is not a list like [1, 2]`},
		{"short list", "int8[3] a [1, 2]", "default of field a: the list has 2 values instead of 3"},
		{"long list", "int8[<=1] a [1, 2]", "default of field a: the list has 2 values, more than 1"},
		{"hole in list", "int8[] a [1,,2]", `default of field a: "" is not an integer of 8 bits`},
		{"itself", "Bad[] a", "my_msgs/msg/Bad contains itself"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ParseMessage("my_msgs/msg/Bad", "int8 twice\nbool TWICE=0\n"+tt.line+"\n")
			require.EqualError(t, err, "parse my_msgs/msg/Bad.msg:3: "+tt.want)
		})
	}
	for _, name := range []string{"", "9", "std_msgs/String", "std_msgs/msgs/String", "../msg/String",
		"a/msg/b/c"} {
		_, err := ParseMessage(name, "")
		require.ErrorContains(t, err, "is not a type name", name)
	}
}

// parseService parses the text of a service.
func parseService(name, text string) (*Service, error) {
	return parser{name: name, file: name + ".srv", header: stdHeader}.service(text)
}

func TestParseService(t *testing.T) {
	s, err := parseService("my_srvs/srv/Move", "float64 x\r\n--- \r\nbool OK=1\nbool done\n")
	require.NoError(t, err)
	require.Equal(t, "my_srvs/srv/Move_Request", s.Request.Name)
	require.Equal(t, "float64 x\r\n", s.Request.Text)
	require.Equal(t, []Field{{Name: "x", Type: Type{Kind: Float64}}}, s.Request.Fields)
	require.Equal(t, "my_srvs/srv/Move_Response", s.Response.Name)
	require.Equal(t, []Field{{Name: "done", Type: Type{Kind: Bool}}}, s.Response.Fields)
	require.Len(t, s.Response.Constants, 1)

	s, err = parseService("my_srvs/srv/Empty", "---")
	require.NoError(t, err)
	require.Empty(t, s.Request.Fields)
	require.Empty(t, s.Response.Fields)

	for text, want := range map[string]string{
		"bool x\n":              `parse my_srvs/srv/Bad.srv: the number of "---" lines is 0, not 1`,
		"---\nbool x\n---\n":    `parse my_srvs/srv/Bad.srv: line 3 has a "---" too many`,
		"bool x y\n---\n":       `parse my_srvs/srv/Bad.srv:1: default of field x: "y" is neither true nor false`,
		"bool x\n---\n\nbool\n": `parse my_srvs/srv/Bad.srv:4: "" is not a name for a field of type bool`,
	} {
		_, err := parseService("my_srvs/srv/Bad", text)
		require.EqualError(t, err, want)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("std_msgs/Header header\nfloat64[36] covariance\nuint8 UNKNOWN = 0 # none\n")
	f.Add("string<=5[<=2] a ['x', \"y\\x41\"]\nbool[2] b [true, 0]\nstring T='it\\'s'\n---\nwstring s \"\\u00e9\"\n")
	f.Add("Point p\n" + strings.Repeat("=", 80) + "\nMSG: fuzz_msgs/Point\nfloat64 x\n")
	f.Fuzz(func(t *testing.T, text string) {
		if m, err := ParseMessage("fuzz_msgs/msg/Fuzz", text); err == nil {
			require.Equal(t, text, m.Text)
			for _, field := range m.Fields {
				require.True(t, isName(field.Name))
				if list, ok := field.Default.([]any); ok && field.Type.Shape == Array {
					require.Len(t, list, field.Type.Length)
				}
			}
		}
		if s, err := parseService("fuzz_msgs/srv/Fuzz", text); err == nil {
			require.Contains(t, text, s.Request.Text)
			require.Contains(t, text, s.Response.Text)
		}
		for _, name := range []string{"fuzz_msgs/msg/Fuzz", "fuzz_msgs/srv/Fuzz_Event"} {
			l, err := ParseConcatenated(name, text)
			if err != nil {
				continue
			}
			again, err := l.Concatenated(name)
			require.NoError(t, err)
			l2, err := ParseConcatenated(name, again)
			require.NoError(t, err, "%q", again)
			hash, err := l.Hash(name)
			require.NoError(t, err)
			hash2, err := l2.Hash(name)
			require.NoError(t, err)
			require.Equal(t, hash, hash2)
		}
	})
}
