package session

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/test/samples"
)

// TestMetadata reads texts of metadata.json. Invalid members must be reported and all others read. Errors must be short
// even if members are long.
func TestMetadata(t *testing.T) {
	for _, c := range []struct {
		name, text string
		id, task   string
		start, end int64
		devices    map[string]string
		wrong      []string // expected errors
	}{
		{
			name: "as documented",
			text: `{"session_id": "a", "start_time": 1634567890.123, "end_time": 1634568890.4560001, "task": "fold", ` +
				`"devices": {"cameras": {"camera_0": {"fps": 30}}, "robots": {"arm_0": {"joints": 6}}}}`,
			id: "a", task: "fold", start: 1634567890123000000, end: 1634568890456000100,
			devices: map[string]string{"camera_0": `{"fps": 30}`, "arm_0": `{"joints": 6}`},
		},
		{
			name: "as written by EasyTeleop", text: "\ufeff" +
				`{"devices": {"camera_0": {"fps": 30}, "arm_0": {}}, "end_time": 1795249335.139884}`,
			end: 1795249335139884000, devices: map[string]string{"camera_0": `{"fps": 30}`, "arm_0": `{}`},
		},
		{name: "dates and texts", text: `{"start_time": "2026-01-14T12:00:00.5Z", "end_time": "12.25"}`,
			start: 1768392000500000000, end: 12250000000},
		{name: "members are null", text: `{"session_id": null, "devices": null}`},
		{name: "no JSON", text: `{"a": `, wrong: []string{"not a JSON object: unexpected end of JSON input"}},
		{name: "no object", text: `[1]`, wrong: []string{"not a JSON object: json: cannot unmarshal array into Go " +
			"value of type map[string]json.RawMessage"}},
		{
			name: "some members are invalid", text: `{"session_id": 7, "start_time": 1e9, "devices": {"camera_0": 5, ` +
				`"arm_0": {"joints": 6}}}`, devices: map[string]string{"arm_0": `{"joints": 6}`},
			wrong: []string{
				"session_id: json: cannot unmarshal number into Go value of type string",
				`start_time: time "1e9" is not a number of seconds since 1970, such as 1764000000.033`,
				`device "camera_0" is described by "5", want an object`,
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var wrong []string
			m := readMetadata(strings.NewReader(c.text), func(err error) { wrong = append(wrong, err.Error()) })
			require.Equal(t, c.wrong, wrong)
			require.Equal(t, []any{c.id, c.task, c.start, c.end}, []any{m.id, m.task, m.start, m.end})
			require.Len(t, m.devices, len(c.devices))
			for name, want := range c.devices {
				require.Equal(t, want, string(m.devices[name]))
			}
		})
	}
	for _, text := range []string{
		`{"devices": {"LONG": 5}}`, `{"devices": {"a": "LONG"}}`, `{"start_time": "LONG"}`, `{"end_time": LONG}`,
		`{"session_id": LONG}`, `{"events": [LONG]}`, `{"devices": {"robots": {"LONG": 1}}}`,
		`{"devices": {"cameras": LONG}}`,
		`LONG`, `{"LONG"`,
	} {
		long := strings.Repeat("1", 100_000)
		readMetadata(strings.NewReader(strings.ReplaceAll(text, "LONG", long)), func(err error) {
			require.Less(t, len(err.Error()), 200, text)
		})
	}
	var wrong []string
	readMetadata(strings.NewReader(strings.Repeat(" ", maxMetadata)+"{}"),
		func(err error) { wrong = append(wrong, err.Error()) })
	require.Equal(t, []string{"the file has more than 16777216 bytes"}, wrong)
}

// TestArmInfo parses descriptions of arms. For an invalid one, parseArm must return the defaults.
func TestArmInfo(t *testing.T) {
	for text, want := range map[string]armInfo{
		"": {JointUnit: "deg"}, `{"joint_unit": "rad", "gripper_range": [0, 1000]}`: {"rad", [2]float64{0, 1000}},
		`{"joint_unit": "degrees"}`: {JointUnit: "deg"}, `{"joint_unit": "unknown"}`: {JointUnit: "unknown"},
	} {
		var device json.RawMessage
		if text != "" {
			device = json.RawMessage(text)
		}
		got, err := parseArm(device, unitOfEasyTeleop)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	got, err := parseArm(json.RawMessage(`{"joint_unit": "turns", "gripper_range": [0, 1]}`), unitOfEasyTeleop)
	require.EqualError(t, err, `joint_unit "turns": want "deg", "rad" or "unknown"`)
	require.Equal(t, armInfo{JointUnit: "deg"}, got)
}

// FuzzMetadata reads any text as metadata.json. Without errors, the text must be JSON; descriptions always must be
// JSON.
func FuzzMetadata(f *testing.F) {
	f.Add([]byte(`{"session_id": "a", "start_time": 1634567890.123, "devices": {"cameras": {"camera_0": {}}, ` +
		`"robots": {"arm_0": {"joint_unit": "rad"}}}, "events": [{"kind": "drop"}]}`))
	for _, data := range samples.Seeds(f, "session/easyteleop_reference/temp/20261121_082214/metadata.json") {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		n := 0
		m := readMetadata(strings.NewReader(string(data)), func(err error) { n++ })
		if n == 0 {
			require.True(t, json.Valid(m.raw))
		}
		for _, info := range m.devices {
			require.True(t, json.Valid(info))
			_, _ = parseArm(info, unitOfEasyTeleop)
		}
	})
}
