// Package convert tests conversions of every format into every other format on real recordings, with converter diff and
// with programs of other projects.
package convert

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/test/internal/process"
)

// bin is the folder of the converter.
var bin string

func TestMain(m *testing.M) { os.Exit(process.Main(m, &bin, "converter")) }

// run runs the converter, requires the exit code and returns the printed text.
func run(t *testing.T, code int, args ...string) string {
	t.Helper()
	process.LookAtSources()
	cmd := exec.Command(filepath.Join(bin, "converter"), args...)
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	err := cmd.Run()
	var exit *exec.ExitError
	require.True(t, err == nil || errors.As(err, &exit), err)
	require.Equal(t, code, cmd.ProcessState.ExitCode(), "converter %v\n%s", args, output.String())
	return output.String()
}

// counts returns the number of messages of each topic in a recording.
func counts(t *testing.T, path string) map[string]int {
	t.Helper()
	var info struct {
		Topics []struct {
			Name         string
			MessageCount int `json:"message_count"`
		}
	}
	require.NoError(t, json.Unmarshal([]byte(run(t, 0, "info", "--json", path)), &info))
	topics := map[string]int{}
	for _, topic := range info.Topics {
		if topic.MessageCount > 0 {
			topics[topic.Name] += topic.MessageCount
		}
	}
	return topics
}
