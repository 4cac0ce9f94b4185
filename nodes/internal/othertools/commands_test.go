package othertools

import (
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"tapedeck/config"
)

func TestFirstWord(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"filter", "drive.record.00000", "split_1.mcap", "trip.bag"} {
		require.NoError(t, os.WriteFile(name, nil, 0o600))
	}
	cmd := &cobra.Command{Use: "converter IN... OUT"}
	cmd.AddCommand(&cobra.Command{Use: "info", Run: func(*cobra.Command, []string) {}})
	for word, want := range map[string]string{
		"filter": "", "drive": "", "split": "", "./cat": "", "a.mcap": "", "-": "", "@list": "", "d*": "", "": "",
		"s3://a/b": "",
		"CAT":      `"CAT" is neither a command nor a recording; use: converter echo FILE TOPIC`,
		"merge":    `"merge" is neither a command nor a recording; leave it out: converter IN... OUT`,
		"stop":     `; use: recorder stop or player stop, for a node that is running`,
		"inof":     `; did you mean converter info?`,
		"fliter":   `; did you mean filter; use: converter IN OUT --topics`,
		"trip":     `; did you mean trip.bag?`,
		"nothing":  `"nothing" is neither a command nor a recording`,
		"a\x1b[2J": `"\"a\\x1b[2J\"" is neither`,
	} {
		err := Command(cmd, []string{word, "x"}, "recording")
		if want == "" {
			require.NoError(t, err, word)
			continue
		}
		require.ErrorIs(t, err, config.ErrUsage)
		require.ErrorContains(t, err, want)
	}
	require.NoError(t, Command(cmd, nil, "recording"))
}

// Each answer is an existing command of an executable, or of the other program.
func TestAnswers(t *testing.T) {
	for word, answer := range Commands {
		require.Equal(t, strings.ToLower(word), word)
		require.Regexp(t, `^(converter|converter_node|recorder|player|rosbag|--version|a file system)\b`, answer+" ")
	}
}

func TestTopics(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("drive.bag", nil, 0o600))
	cmd := &cobra.Command{Use: "recorder [TOPIC...]"}
	require.NoError(t, Topics(cmd, []string{"/a", "robot/odom"}))
	for word, want := range map[string]string{
		"drive":     `"drive" is neither a command nor a topic, whose name begins with /; did you mean /drive?`,
		"drive.bag": `; a file is played by: player drive.bag`,
		"a.mcap":    `; a recording is named by: --output a.mcap`,
		"filter":    `, or /filter for the topic`,
	} {
		err := Topics(cmd, []string{word})
		require.ErrorIs(t, err, config.ErrUsage)
		require.ErrorContains(t, err, want)
	}
}
