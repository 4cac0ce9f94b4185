package main

import (
	"fmt"
	"strconv"
	"strings"

	"tapedeck/config"
)

// shard is one of count shares of the recordings. Another process converts each share.
type shard struct{ index, count int }

// takes reports whether the shard has the i-th recording. All shards must have the same order of recordings.
func (s shard) takes(i int) bool { return i%s.count == s.index }

// parseShard parses the value of --shard: "" for all recordings, I/N, auto or auto/N. auto takes the index from the
// environment of a job array. env is os.Getenv.
func parseShard(text string, env func(string) string) (s shard, err error) {
	if text == "" {
		return shard{0, 1}, nil
	}
	index, count, counted := strings.Cut(text, "/")
	if counted {
		s.count, err = strconv.Atoi(count)
		if err != nil || s.count < 1 {
			return s, config.Usagef("--shard %s: want I/N, auto or auto/N, as in 0/8", text)
		}
	}
	if index == "auto" {
		s, err = shardOf(s.count, env)
		if err != nil {
			return s, config.Usagef("--shard %s: %w", text, err)
		}
	} else {
		s.index, err = strconv.Atoi(index)
		if err != nil || !counted {
			return s, config.Usagef("--shard %s: want I/N, auto or auto/N, as in 0/8", text)
		}
	}
	if s.index < 0 || s.index >= s.count {
		return s, config.Usagef("--shard %s: of %d shards there are 0 to %d, not %d", text, s.count, s.count-1, s.index)
	}
	return s, nil
}

// shardOf returns the shard of this task of a job array. count is the number of tasks; 0: the environment has it.
func shardOf(count int, env func(string) string) (shard, error) {
	numbers := map[string]int{}
	for _, name := range []string{"SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT", "SLURM_ARRAY_TASK_MIN",
		"SLURM_ARRAY_TASK_MAX", "SLURM_ARRAY_TASK_STEP", "AWS_BATCH_JOB_ARRAY_INDEX", "AWS_BATCH_JOB_ARRAY_SIZE",
		"JOB_COMPLETION_INDEX"} {
		if text := env(name); text != "" {
			n, err := strconv.Atoi(text)
			if err != nil {
				return shard{}, fmt.Errorf("%s=%q is not a number", name, text)
			}
			numbers[name] = n
		}
	}
	if id, ok := numbers["SLURM_ARRAY_TASK_ID"]; ok {
		if count > 0 {
			return shard{id, count}, nil
		}
		first, last := numbers["SLURM_ARRAY_TASK_MIN"], numbers["SLURM_ARRAY_TASK_MAX"]
		step, count := max(numbers["SLURM_ARRAY_TASK_STEP"], 1), numbers["SLURM_ARRAY_TASK_COUNT"]
		if count < 1 || (last-first)/step+1 != count || (id-first)%step != 0 {
			return shard{}, fmt.Errorf("the array of %d tasks from %d to %d has gaps; submit all with --array=0-N, or "+
				"give the number of shards: --shard auto/N", count, first, last)
		}
		return shard{(id - first) / step, count}, nil
	}
	if index, ok := numbers["AWS_BATCH_JOB_ARRAY_INDEX"]; ok {
		if count == 0 {
			count = numbers["AWS_BATCH_JOB_ARRAY_SIZE"]
		}
		if count == 0 {
			return shard{}, fmt.Errorf("AWS_BATCH_JOB_ARRAY_SIZE is not set; give the array's size: --shard auto/N")
		}
		return shard{index, count}, nil
	}
	if index, ok := numbers["JOB_COMPLETION_INDEX"]; ok {
		if count == 0 {
			return shard{}, fmt.Errorf("JOB_COMPLETION_INDEX comes without the number of pods; give the completions " +
				"of the Job: --shard auto/N")
		}
		return shard{index, count}, nil
	}
	return shard{}, fmt.Errorf("this is no task of an array: none of SLURM_ARRAY_TASK_ID, AWS_BATCH_JOB_ARRAY_INDEX " +
		"and JOB_COMPLETION_INDEX is set; give --shard I/N")
}
