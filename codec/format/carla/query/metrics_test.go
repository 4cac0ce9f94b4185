package query

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec/format/carla"
)

// metricsRules are the lines that the parser of scenario_runner's metrics
// (https://github.com/carla-simulator/scenario_runner, srunner/metrics/tools/metrics_parser.py) expects in a frame:
// sections in this order, each with a title, which may be empty, and rows. The parser ignores the rest of a frame
// after the first unexpected line. In rows # is a number, $ a vector of finite numbers, and % a vector
// that may have NaN and infinity.
var metricsRules = [][]string{
	{``, ` Create #: \S+ \(#\) at $`, `  [^ ]+ = .*`},
	{``, ` Destroy #`},
	{``, ` Collision id # between # with #`},
	{``, ` Parenting # with # \(parent\)`},
	{` Positions: #`, `  Id: # Location: $ Rotation $`},
	{` State traffic lights: #`, `  Id: # state: [0-4] frozen: [01] elapsedTime: #`},
	{` Vehicle animations: #`, `  Id: # Steering: # Throttle: # Brake # Handbrake: [01] Gear: #`},
	{` Walker animations: #`, `  Id: # speed: #`},
	{` Vehicle light animations: #`, `  Id: # (None|((Position|LowBeam|HighBeam|Brake|RightBlinker|LeftBlinker|` +
		`Reverse|Fog|Interior|Special1|Special2) ?)+)`},
	{` Scene light changes: #`, `  Id: # enabled: \w+ intensity: # RGB_color: $`},
	{` Dynamic actors: #`, `  Id: # linear_velocity: $ angular_velocity: $`},
	{` Actor bounding boxes: #`, `  Id: # origin: % extension: %`},
	{` Actor trigger volumes: #`, `  Id: # origin: % extension: %`},
	{` Current platform time: #`},
	{` Physics Control events: #`, `  Id: #`, `   (center_of_mass = $|(torque|steering)_curve = .*|use_gear_auto_box ` +
		`= (true|false)|forward_gears:|wheels:|\w+ = #)`,
		`    gear #: ratio # down_ratio # up_ratio #`,
		`    wheel #: tire_friction # damping_rate # max_steer_angle # radius # max_brake_torque # ` +
			`max_handbrake_torque # position $`},
	{` Traffic Light time events: #`, `  Id: # green_time: # yellow_time: # red_time: #`},
}

// metricsPattern makes a regular expression of a rule.
func metricsPattern(rule string) *regexp.Regexp {
	const number, any = `-?[0-9][0-9.e+-]*`, `(-?nan|-?inf|-?[0-9][0-9.e+-]*)`
	three := func(n string) string { return `\(` + n + `, ` + n + `, ` + n + `\)` }
	return regexp.MustCompile(`^` + strings.NewReplacer(`#`, number, `$`, three(number), `%`,
		three(any)).Replace(rule) + `\z`)
}

// firstLineAgainstRules returns the first line of a text that does not follow metricsRules, or "".
func firstLineAgainstRules(text string) string {
	sections := make([][]*regexp.Regexp, len(metricsRules))
	for i, rules := range metricsRules {
		for _, rule := range rules {
			sections[i] = append(sections[i], metricsPattern(rule))
		}
	}
	frames := strings.Split(text, "Frame")
	if !metricsPattern(`Version: #\nMap: .*\nDate: .*\n\n`).MatchString(frames[0]) {
		return frames[0]
	}
	if end := frames[len(frames)-1]; !metricsPattern(`s: #\nDuration: # seconds\n`).MatchString(end) {
		return end
	}
	start := metricsPattern(` # at # seconds`)
	for _, frame := range frames[1 : len(frames)-1] {
		first, lines, _ := strings.Cut(strings.TrimRight(frame, "\n"), "\n")
		if !start.MatchString(first) {
			return "Frame" + first
		}
		section := 0
		for line := range strings.Lines(lines) {
			line = strings.TrimSuffix(line, "\n")
			matches := func(p *regexp.Regexp) bool { return p.MatchString(line) }
			if slices.ContainsFunc(sections[section][1:], matches) {
				continue
			}
			for section++; section < len(sections); section++ {
				titled := metricsRules[section][0] != ""
				if titled && matches(sections[section][0]) || !titled &&
					slices.ContainsFunc(sections[section][1:], matches) {
					break
				}
			}
			if section == len(sections) {
				return line
			}
		}
	}
	return ""
}

// TestMetricsRules checks that scenario_runner can read the texts of style V0913. The tests in test/peers/carla run
// scenario_runner's parser itself.
func TestMetricsRules(t *testing.T) {
	for _, name := range []string{"scenario_runner_DistanceToLaneCenter.log", "sr2020_DistanceToLaneCenter.log"} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && strings.HasPrefix(name, "scenario") {
				t.Skip("the log is long")
			}
			require.Empty(t, firstLineAgainstRules(infoText(t, openSample(t, name), true, V0913)))
		})
	}
	all := logOfAllPackets(t)
	text := infoText(t, all, true, V0913)
	require.Equal(t, ` Collision id 3 between 7 (hero)  with 4294967295`, firstLineAgainstRules(text),
		"the parser must reject (hero)")
	text = strings.ReplaceAll(text, " (hero) ", "")
	require.Equal(t, ` Collision id 3 between 7 with 4294967295`, firstLineAgainstRules(text),
		"the parser must reject a collision after a parenting")
	text = strings.Replace(text, " Parenting 9 with 7 (parent)\n", "", 1)
	text = strings.Replace(text, "steering_curve =\n", "steering_curve = (0, 1)\n", 1)
	require.Empty(t, firstLineAgainstRules(text))
	text = strings.ReplaceAll(infoText(t, all, true, Newest), " (hero) ", "")
	text = strings.Replace(text, " Parenting 9 with 7 (parent)\n", "", 1)
	require.Equal(t, ` Vehicle door animations: 2`, firstLineAgainstRules(text))
	require.Empty(t, firstLineAgainstRules(infoText(t, buildLog(t, carla.UE5, []carla.Body{
		&carla.EventAddList{}, &carla.VehicleDoorList{}, &carla.PositionList{{Actor: 1}}, &carla.WeatherList{{}},
		&carla.ChaosPhysicsList{{Wheels: make([]carla.ChaosWheel, 4)}}, &carla.WalkerBonesList{},
	}), true, V0913)))
}
