package recorder

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/config"
	"tapedeck/nodes/recorder/internal/queue"
)

func TestSnapshotTopicLimits(t *testing.T) {
	o := snapshotOptions{SnapshotTopicLimits: []string{"/camera/image=5s,100MB", "imu = 1m30s", "/map=0s, 1KiB",
		"/camera/*=2s", "/*/raw=1s"}}
	list, err := o.topicLimits(func(topic string) (string, error) {
		if topic[0] != '/' {
			topic = "/robot/" + topic
		}
		return topic, nil
	})
	require.NoError(t, err)
	others := queue.Limits{Age: time.Minute}
	for topic, want := range map[string]queue.Limits{
		"/camera/image": {Age: 5 * time.Second, Bytes: 100_000_000}, "/robot/imu": {Age: 90 * time.Second},
		"/map": {Bytes: 1024}, "/camera/image2": {Age: 2 * time.Second}, "/camera/left/raw": {Age: 2 * time.Second},
		"/lidar/raw": {Age: time.Second},
		"/imu":       others, "/robot/map": others, "/my/camera/image": others,
	} {
		require.Equal(t, want, limitsOf(list, topic, others), topic)
	}
}

func TestCacheOfRosbag2(t *testing.T) {
	for _, c := range []struct {
		argv             string
		duration         time.Duration
		queue, snapshots config.Size
		wait             time.Duration
	}{
		{"", 30 * time.Second, 256 << 20, 256 << 20, 0},
		{"--snapshot-mode --max-cache-size 100000000 --max-cache-duration 10", 10 * time.Second, 1e8, 1e8, 0},
		{"--snapshot-mode --max-cache-size 100000000 --snapshot-size 5MB", 30 * time.Second, 1e8, 5e6, 0},
		{"--snapshot --max-cache-size 100000000 --max-cache-duration 0", 0, 1e8, 256 << 20, 0},
		{"--max-cache-duration 5", 5 * time.Second, 256 << 20, 256 << 20, 5 * time.Second},
	} {
		o := defaultOptions()
		cmd := config.New("recorder", "", "", &o, func(context.Context, *config.Input) error {
			o.cacheForSnapshots()
			require.Equal(t, c.wait, o.maxWait())
			return nil
		})
		require.NoError(t, config.Execute(t.Context(), cmd, strings.Fields(c.argv)))
		require.Equal(t, []any{c.duration, c.queue, c.snapshots},
			[]any{o.SnapshotDuration, o.QueueSize, o.SnapshotSize},
			c.argv)
	}
}

func TestSnapshotOptionsAreChecked(t *testing.T) {
	for want, o := range map[string]snapshotOptions{
		`snapshot_topic_limits: "/imu" is not allowed, want TOPIC=DURATION`: {SnapshotTopicLimits: []string{"/imu"}},
		`snapshot_topic_limits: "/imu=5" is not allowed`:                    {SnapshotTopicLimits: []string{"/imu=5"}},
		`snapshot_topic_limits: "/imu=-5s" is not allowed`:                  {SnapshotTopicLimits: []string{"/imu=-5s"}},
		`snapshot_topic_limits: "/imu=5s,big" is not allowed, want a size`:  {SnapshotTopicLimits: []string{"/imu=5s,big"}},
		`snapshot_topic_limits: "/imu=5s,0" is not allowed`:                 {SnapshotTopicLimits: []string{"/imu=5s,0"}},
		`snapshot_topic_limits: /imu is there twice`: {SnapshotTopicLimits: []string{"/imu=5s",
			"/imu=6s"}},
		`snapshot_condition: condition "/imu x"`: {Snapshot: true,
			SnapshotCondition: []string{"/imu x"}},
	} {
		o.Snapshot = true
		require.ErrorContains(t, o.check(), want)
	}
	const idle = ": nothing is kept for snapshots; add --snapshot or --snapshot-mode"
	const limits = ": snapshot_mode writes only snapshots, to which this does not apply; use --snapshot to record as " +
		"well"
	const unsent = ": nothing is uploaded; add --upload URL"
	for argv, want := range map[string]string{
		"": "",
		"--max-cache-duration 5 --max-bag-size 1MB":                      "",
		"--snapshot --snapshot-after 1 --snapshot-folder x --limit 3":    "",
		"--snapshot-mode --max-duration 5 --start-paused --no-discovery": "",
		"--snapshot-condition /imu~*":                                    "--snapshot-condition" + idle,
		"--snapshot-after 5 --snapshot-size 1MiB":                        "--snapshot-after, --snapshot-size" + idle,
		"--snapshot-mode -b 100000000 --split":                           "--max-bag-size, --split" + limits,
		"--snapshot-mode --max-splits 3 -l 4":                            "--max-splits, --limit" + limits,
		"--snapshot-mode --low-space-action pause --priority /imu=2":     "--low-space-action, --priority" + limits,
		"--snapshot-mode --throttle /imu=1/2":                            "--throttle" + limits,
		"--snapshot --throttle /imu=1/2":                                 "",
		"--snapshot --snapshot-cooldown 5":                               "--snapshot-cooldown: it is for conditions",
		"--snapshot --snapshot-cooldown 5 --snapshot-condition /imu~*":   "",
		"--upload-rate 1MB --upload-timeout 5":                           "--upload-timeout, --upload-rate" + unsent,
		"--delete-after-upload":                                          "--delete-after-upload" + unsent,
		"--low-space-action delete-uploaded":                             "--low-space-action" + unsent,
	} {
		o := defaultOptions()
		cmd := config.New("recorder", "", "", &o, func(context.Context, *config.Input) error {
			return o.check([]string{"/imu"})
		})
		var args []string
		for _, arg := range strings.Fields(argv) {
			args = append(args, strings.ReplaceAll(arg, "~", " "))
		}
		err := config.Execute(t.Context(), cmd, args)
		if want == "" {
			require.NoError(t, err, argv)
		} else {
			require.ErrorIs(t, err, config.ErrUsage, argv)
			require.ErrorContains(t, err, want)
		}
	}
	o := snapshotOptions{SnapshotMode: true, SnapshotCondition: []string{"/imu *", "/imu x > 1"}}
	require.NoError(t, o.check())
	_, err := o.conditions(func(string) (string, error) { return "", errors.New("no name") })
	require.ErrorContains(t, err, "no name")
	o.SnapshotTopicLimits = []string{"/imu=5s"}
	_, err = o.topicLimits(func(string) (string, error) { return "", errors.New("no name") })
	require.ErrorContains(t, err, "no name")
}
