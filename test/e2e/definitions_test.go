package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDefinitions records types with complete, wrong, partial and missing definitions. It checks that all messages are
// recorded, with one warning for each type without a definition.
func TestDefinitions(t *testing.T) {
	t.Parallel()
	g := isolate(t)
	for name, text := range map[string]string{
		"Good":    "float64 x\nInner inner\n",
		"Inner":   "string text\n",
		"Bad":     "float64 x\n\nfloat64 9y\n",
		"Partial": "nowhere_msgs/Missing inner\n",
	} {
		path := g.path("share/test_msgs/msg/" + name + ".msg")
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	recorder := g.start("recorder", "-o", "types", "--all", "-x", "rosout|parameter_events", "--definition-paths",
		"share")
	node := g.open("publisher")
	topics := map[string]string{
		"/good": "Good", "/bad": "Bad", "/bad_too": "Bad", "/partial": "Partial", "/unknown": "Unknown",
		"/unknown_too": "Unknown",
	}
	for topic, typeName := range topics {
		p := g.advertise(node, topic, "test_msgs/msg/"+typeName, keepAll())
		require.NoError(t, p.Publish(numbered(3)))
		require.NoError(t, p.Flush(t.Context()))
	}
	out := recorder.Interrupt()
	path := g.path("types.record.00000")
	all := messages(t, path)
	for topic, typeName := range topics {
		require.Equal(t, [][]byte{numbered(3)}, all[topic], "a message of %s differs", topic)
		c := channel(t, path, topic)
		require.Equal(t, "test_msgs/msg/"+typeName, c.Type)
		require.Equal(t, typeName == "Good", len(c.Schema.Data) > 0)
	}
	require.Contains(t, string(channel(t, path, "/good").Schema.Data), "MSG: test_msgs/Inner\nstring text")

	warnings := map[string]string{}
	for line := range strings.Lines(out) {
		if _, text, ok := strings.Cut(line, "recorded without the definition"); ok {
			for _, typeName := range []string{"Bad", "Partial", "Unknown"} {
				if strings.Contains(text, typeName) {
					require.Empty(t, warnings[typeName], "the type has several warnings")
					warnings[typeName] = text
				}
			}
		}
	}
	require.Len(t, warnings, 3, out)
	require.Contains(t, warnings["Bad"], "test_msgs/msg/Bad.msg:3")
	require.Contains(t, warnings["Bad"], "9y")
	require.NotContains(t, warnings["Bad"], "--definition-paths")
	require.Contains(t, warnings["Partial"], "nowhere_msgs/msg/Missing")
	require.Contains(t, warnings["Unknown"], "--definition-paths")

	require.Contains(t, g.run(2, "recorder", "--all", "--definition-paths", "nowhere"), "nowhere")
}
