package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"tapedeck/codec"
	"tapedeck/test/internal/process"
)

// TestAction runs the commands of action.yml on a recording that keeps its contract, and on one that breaks it.
func TestAction(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(process.Root(), "action.yml"))
	require.NoError(t, err)
	var action struct {
		Inputs map[string]struct{ Default string }
		Runs   struct {
			Steps []struct {
				Run string
				Env map[string]string
			}
		}
	}
	require.NoError(t, yaml.Unmarshal(text, &action))
	dir := t.TempDir()
	write := func(name, topic string) {
		w, err := formats.Create(filepath.Join(dir, name), codec.CreateOptions{})
		require.NoError(t, err)
		channel := &codec.Channel{Topic: topic, Type: "std_msgs/msg/UInt32", Encoding: codec.EncodingCDR}
		for i := range 100 {
			require.NoError(t, w.Write(&codec.Message{Channel: channel, LogTime: 1e18 + int64(i)*1e7,
				Data: []byte{0, 1, 0, 0, byte(i), 0, 0, 0}}))
		}
		require.NoError(t, w.Close())
	}
	write("good.mcap", "/n")
	write("other.mcap", "/other")
	// run runs the steps with inputs, and returns the output of the step that fails, or of the last one.
	run := func(inputs map[string]string) (string, error) {
		var out []byte
		for _, step := range action.Runs.Steps {
			if step.Run == "" {
				continue
			}
			cmd := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", step.Run)
			cmd.Dir, cmd.Env = dir, append(os.Environ(), "RUNNER_TEMP="+dir)
			for name, value := range step.Env {
				value = strings.ReplaceAll(value, "${{ github.action_path }}", process.Root())
				for input, given := range action.Inputs {
					if text, ok := inputs[input]; ok {
						given.Default = text
					}
					value = strings.ReplaceAll(value, "${{ inputs."+input+" }}", given.Default)
				}
				require.NotContains(t, value, "${{", name)
				cmd.Env = append(cmd.Env, name+"="+value)
			}
			var err error
			out, err = cmd.CombinedOutput()
			if err != nil {
				return string(out), err
			}
		}
		return string(out), nil
	}
	said, err := run(map[string]string{"recording": "good.mcap"})
	require.NoError(t, err, said)
	require.FileExists(t, filepath.Join(dir, "report.html"))
	learn := exec.Command(filepath.Join(dir, "converter"), "expect", "good.mcap", "contract.yaml")
	learn.Dir = dir
	require.NoError(t, learn.Run())
	said, err = run(map[string]string{"recording": "good.mcap", "expect": "contract.yaml", "page": "good.html"})
	require.NoError(t, err, said)
	said, err = run(map[string]string{"recording": "other.mcap", "expect": "contract.yaml", "page": "other.html"})
	require.Error(t, err)
	require.Contains(t, said, "/n")
	require.FileExists(t, filepath.Join(dir, "other.html"))
}
