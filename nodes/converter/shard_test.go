package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/config"
)

func TestParseShard(t *testing.T) {
	slurm := func(id, count, first, last, step string) map[string]string {
		return map[string]string{"SLURM_ARRAY_TASK_ID": id, "SLURM_ARRAY_TASK_COUNT": count,
			"SLURM_ARRAY_TASK_MIN": first, "SLURM_ARRAY_TASK_MAX": last, "SLURM_ARRAY_TASK_STEP": step}
	}
	batch := map[string]string{"AWS_BATCH_JOB_ARRAY_INDEX": "2", "AWS_BATCH_JOB_ARRAY_SIZE": "5"}
	pod := map[string]string{"JOB_COMPLETION_INDEX": "3"}
	for _, c := range []struct {
		text  string
		env   map[string]string
		want  shard
		error string
	}{
		{"", pod, shard{0, 1}, ""},
		{"7/8", nil, shard{7, 8}, ""},
		{"8/8", nil, shard{}, "of 8 shards there are 0 to 7, not 8"},
		{"-1/8", nil, shard{}, "not -1"},
		{"1", nil, shard{}, "want I/N"},
		{"1/0", nil, shard{}, "want I/N"},
		{"a/2", nil, shard{}, "want I/N"},
		{"auto", nil, shard{}, "this is no task of an array"},
		{"auto", slurm("0", "4", "0", "3", "1"), shard{0, 4}, ""},
		{"auto", slurm("8", "8", "1", "8", "1"), shard{7, 8}, ""},
		{"auto", slurm("5", "3", "1", "5", "2"), shard{2, 3}, ""},
		{"auto", slurm("1", "3", "0", "9", "1"), shard{}, "has gaps"},
		{"auto/8", slurm("3", "1", "3", "3", "1"), shard{3, 8}, ""},
		{"auto/8", slurm("8", "8", "1", "8", "1"), shard{}, "not 8"},
		{"auto", map[string]string{"SLURM_ARRAY_TASK_ID": "x"}, shard{}, `SLURM_ARRAY_TASK_ID="x" is not a number`},
		{"auto", batch, shard{2, 5}, ""},
		{"auto", pod, shard{}, "give the completions of the Job: --shard auto/N"},
		{"auto/4", pod, shard{3, 4}, ""},
	} {
		got, err := parseShard(c.text, func(name string) string { return c.env[name] })
		if c.error != "" {
			require.ErrorIs(t, err, config.ErrUsage, c.text)
			require.ErrorContains(t, err, c.error, c.text)
			continue
		}
		require.NoError(t, err, c.text)
		require.Equal(t, c.want, got, c.text)
	}
}
