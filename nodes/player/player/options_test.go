package player

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"tapedeck/codec/store"
	"tapedeck/config"
	"tapedeck/config/configtest"
)

func TestEveryOptionIsDocumented(t *testing.T) {
	o := defaultOptions()
	require.NoError(t, configtest.CheckFile("../../../config/player.yaml", &o))
	require.NoError(t, configtest.CheckTable("../../../docs/reference/options.md", "player", &o))
	require.NoError(t, configtest.CheckFlags("../../../docs/reference/comparison.md", "Play", &o, true))
}

// Recordings are named without a flag or after -i. Rules for names are accepted as in rosbag play.
func TestRecordingsAreNamed(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("x:=y", nil, 0o600))
	for line, want := range map[string]string{
		"a.bag /a:=/b -i b.bag sqlite3 c:=d": "a.bag b.bag; /a:=/b c:=d", "x:=y": "x:=y; ", "-i a.bag": "a.bag; ",
	} {
		o := defaultOptions()
		in, err := config.Parse(t.Context(), config.New("player", "", "", &o, nil), strings.Fields(line))
		require.NoError(t, err)
		paths, rules := inputPaths(in, &o)
		require.Equal(t, want, strings.Join(paths, " ")+"; "+strings.Join(rules, " "), line)
	}
}

func TestPlan(t *testing.T) {
	start, end := int64(1000), int64(2000)
	for name, test := range map[string]struct {
		set   func(*options)
		check func(*testing.T, settings)
	}{
		"once": {func(*options) {}, func(t *testing.T, p settings) {
			require.Equal(t, []any{uint64(1), end, false}, []any{p.rounds, p.end, p.clocked()})
		}},
		"for ever": {func(o *options) { o.Loop = true }, func(t *testing.T, p settings) {
			require.Equal(t, []any{uint64(0), end}, []any{p.rounds, p.end})
		}},
		"three times": {func(o *options) { o.LoopCount = 3 },
			func(t *testing.T, p settings) { require.Equal(t, uint64(3), p.rounds) }},
		"a loop of 3": {func(o *options) { o.Loop, o.LoopCount = true, 3 },
			func(t *testing.T, p settings) { require.Equal(t, uint64(3), p.rounds) }},
		"immediate": {func(o *options) { o.Immediate, o.Rate = true, 3 },
			func(t *testing.T, p settings) { require.InDelta(t, immediate, p.rate, 0) }},
		"clock": {func(o *options) { o.Clock = 40 },
			func(t *testing.T, p settings) { require.Equal(t, int64(25*time.Millisecond), p.clockPeriod) }},
		"decades": {func(o *options) { o.Clock, o.LockStep = 1e-300, math.MaxInt64 },
			func(t *testing.T, p settings) {
				require.Equal(t, []int64{longest, longest}, []int64{p.clockPeriod, p.step})
			}},
		"clock topics": {func(o *options) { o.ClockTopics = []string{"a", "/b"} }, func(t *testing.T, p settings) {
			require.Equal(t, []bool{true, true, false, true},
				[]bool{p.clockWith("/a"), p.clockWith("/b"), p.clockWith("/c"), p.clocked()})
		}},
		"clock with all": {func(o *options) { o.ClockTopicsAll = true },
			func(t *testing.T, p settings) { require.True(t, p.clockWith("/c")) }},
		"pause topics": {func(o *options) { o.PauseTopics = []string{"a"} },
			func(t *testing.T, p settings) { require.Equal(t, []string{"a"}, p.pauseTopics) }},
	} {
		t.Run(name, func(t *testing.T) {
			o := defaultOptions()
			test.set(&o)
			test.check(t, o.settings(start, end))
		})
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for want, set := range map[string]func(*options){
		"":                            func(*options) {},
		"lock_step_topic":             func(o *options) { o.LockStepTopic = "/a" },
		"restart_clock":               func(o *options) { o.RestartClock, o.LoopCount = true, 1 },
		"service_requests_source:":    func(o *options) { o.RequestsSource = fromClients },
		"--begin \"noon\" is no time": func(o *options) { o.Begin = "noon" },
		"--end \"25:99\" is no time":  func(o *options) { o.End = "25:99" },
		"prefix: topic name \"/a b/":  func(o *options) { o.Prefix = "/a b" },
		"prefix: topic name \"//":     func(o *options) { o.Prefix = "/" },
	} {
		o := defaultOptions()
		set(&o)
		err := play(t.Context(), &config.Input{Args: []string{filepath.Join(t.TempDir(), "none")}}, &o, System{})
		if want == "" {
			require.NotErrorIs(t, err, config.ErrUsage)
			continue
		}
		require.ErrorIs(t, err, config.ErrUsage, want)
		require.ErrorContains(t, err, want)
	}
	o := defaultOptions()
	o.RestartClock, o.LoopCount, o.RequestsSource, o.SendActions = true, 2, fromClients, true
	require.NoError(t, o.check())
}

func TestOffsets(t *testing.T) {
	o := options{InputOffset: []string{"a=b.mcap=1.5s", "c=-2", "d=-0.25"}}
	offsets, err := o.offsets([]string{"a=b.mcap", "c", "d"})
	require.NoError(t, err)
	require.Equal(t, map[string]int64{"a=b.mcap": 15e8, "c": -2e9, "d": -25e7}, offsets)
	for _, text := range []string{"a", "a=", "a=soon", "other=1s"} {
		_, err := (&options{InputOffset: []string{text}}).offsets([]string{"a"})
		require.ErrorIs(t, err, config.ErrUsage, text)
	}
}

func TestEveryOptionHasText(t *testing.T) {
	require.Empty(t, config.TextErrors(&options{}, &seekOptions{}))
}

func TestHelp(t *testing.T) {
	configtest.Help(t, func() *cobra.Command { return NewCommand(System{Files: store.New()}) })
}
