package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"tapedeck/codec"
)

// The Kubernetes Job of the guide gives each pod another shard, and pods take all shards.
func TestKubernetesJob(t *testing.T) {
	text, err := os.ReadFile("../../docs/guide/fleet.md")
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(text), "```yaml\n")
	require.True(t, found)
	manifest, _, found := strings.Cut(rest, "```")
	require.True(t, found)
	var job struct {
		APIVersion string `yaml:"apiVersion"`
		Kind       string
		Spec       struct {
			CompletionMode string `yaml:"completionMode"`
			Completions    int
			Template       struct {
				Spec struct {
					RestartPolicy string `yaml:"restartPolicy"`
					Containers    []struct {
						Args         []string
						VolumeMounts []struct{ Name, MountPath string } `yaml:"volumeMounts"`
					}
					Volumes []struct{ Name string }
				}
			}
		}
	}
	require.NoError(t, yaml.Unmarshal([]byte(manifest), &job))
	require.Equal(t, []string{"batch/v1", "Job", "Indexed", "Never"}, []string{job.APIVersion, job.Kind,
		job.Spec.CompletionMode, job.Spec.Template.Spec.RestartPolicy})
	pod := job.Spec.Template.Spec
	require.Equal(t, pod.Volumes[0].Name, pod.Containers[0].VolumeMounts[0].Name)

	folder := t.TempDir()
	logs, out := filepath.Join(folder, "logs"), filepath.Join(folder, "new")
	require.NoError(t, os.Mkdir(logs, 0o777))
	for i := range 20 {
		_, stderr, err := run(t, writeLines(t, "a.lines", []codec.Message{at(imu, 1e9, "a")}),
			filepath.Join(logs, fmt.Sprintf("%d.mcap", i)))
		require.NoError(t, err, stderr)
	}
	args := strings.NewReplacer("/data/logs", logs, "/data/new", out)
	converted := map[string]int{}
	for index := range job.Spec.Completions {
		t.Setenv("JOB_COMPLETION_INDEX", strconv.Itoa(index))
		var replaced []string
		for _, arg := range pod.Containers[0].Args {
			replaced = append(replaced, args.Replace(arg))
		}
		stdout, stderr, err := run(t, replaced...)
		require.NoError(t, err, stderr)
		for text := range strings.Lines(stdout) {
			var line eachLine
			require.NoError(t, json.Unmarshal([]byte(text), &line))
			require.Equal(t, "converted", line.Status)
			converted[line.Output]++
		}
	}
	require.Len(t, converted, 20)
	for _, n := range converted {
		require.Equal(t, 1, n)
	}
}
