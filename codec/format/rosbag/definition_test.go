package rosbag

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
)

// TestMD5 compares results of MD5 with the sums in bags of ROS.
func TestMD5(t *testing.T) {
	seen := map[string]bool{}
	for _, name := range []string{"cruise_example.bag", "py_none.bag"} {
		r, err := codec.Formats{Format}.Open(samplePath(t, name))
		require.NoError(t, err)
		defer r.Close()
		info, err := r.Info()
		require.NoError(t, err)
		for _, topic := range info.Topics {
			c := topic.Channel
			all, err := ParseDefinitions(c.Type, string(c.Schema.Data))
			require.NoError(t, err)
			require.Equal(t, c.Metadata["md5sum"], MD5(all, c.Type), c.Type)
			seen[c.Type] = true
		}
	}
	require.Len(t, seen, 8)
}

func TestParseDefinitions(t *testing.T) {
	text := "# about\r\nHeader header # of it\nuint8  A = 1 # one\nstring S= a # b \nPoint[] points\nother/Thing[3] " +
		"things\n\tfloat64[36]\tm\n" +
		strings.Repeat("=", 80) + "\nMSG: std_msgs/Header\nuint32 seq\ntime stamp\nstring frame_id\n" +
		strings.Repeat("=", 80) + "\nMSG: my/Point\nfloat32 x\n" +
		strings.Repeat("=", 80) + "\nMSG: other/Thing\nbyte NEGATIVE=-1\n"
	all, err := ParseDefinitions("my/Type", text)
	require.NoError(t, err)
	require.Len(t, all, 4)
	require.Equal(t, []Line{
		{Comment: "# about"},
		{Type: "std_msgs/Header", Name: "header", Comment: "# of it"},
		{Type: "uint8", Name: "A", Value: "1", Const: true, Comment: "# one"},
		{Type: "string", Name: "S", Value: "a # b", Const: true},
		{Type: "my/Point", Shape: "[]", Length: -1, Name: "points"},
		{Type: "other/Thing", Shape: "[3]", Length: 3, Name: "things"},
		{Type: "float64", Shape: "[36]", Length: 36, Name: "m"},
	}, all["my/Type"].Lines)
	require.Equal(t, "2176decaecbce78abc3b96ef049fabed", MD5(all, "std_msgs/Header"))
}

func TestParseDefinitionsErrors(t *testing.T) {
	for text, want := range map[string]string{
		"Other o":              "my/Other: the definition is missing",
		"Type t":               "my/Type contains itself",
		"uint8":                "line 1",
		"\nuint8[x] a":         `line 2 of the definition of my/Type: "uint8[x]" is not a type`,
		"uint8[-1] a":          "is not a type",
		"a/b/c d":              "is not a type",
		"time T=1":             "is not a constant",
		"uint8 a b":            "neither a field nor a constant",
		"==========\nMSG: a":   `no "MSG: package/Type"`,
		"==========\nuint8 a ": `no "MSG: package/Type"`,
	} {
		_, err := ParseDefinitions("my/Type", text)
		require.ErrorContains(t, err, want, text)
	}
	_, err := ParseDefinitions("Type", "")
	require.ErrorContains(t, err, `"Type" is not the name of a type`)
}
