package v4l2_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge/v4l2"
)

func TestParseSetting(t *testing.T) {
	s, err := v4l2.ParseSetting(" auto_exposure = Manual Mode ")
	require.NoError(t, err)
	require.Equal(t, v4l2.Setting{Control: "auto_exposure", Value: "Manual Mode"}, s)
	require.Equal(t, "auto_exposure=Manual Mode", s.String())
	for _, text := range []string{"", "gain", "gain=", "=3"} {
		_, err := v4l2.ParseSetting(text)
		require.ErrorContains(t, err, "want NAME=VALUE, such as exposure_time_absolute=157")
	}
}

// controls is how a driver lists one control of each type.
const controls = `
QUERY_EXT_CTRL id=0x80000000 = id=1 type=1 name="Gain" minimum=-4 maximum=12 step=4
QUERY_EXT_CTRL id=0x80000001 = id=2 type=2 name="Auto-Focus, Continuous!" maximum=1
QUERY_EXT_CTRL id=0x80000002 = id=3 type=3 name="Mode" maximum=2
QUERYMENU id=3 index=0 = name="Off"
QUERYMENU id=3 index=1 = EINVAL
QUERYMENU id=3 index=2 = name="50 Hz"
QUERY_EXT_CTRL id=0x80000003 = id=4 type=4 name="Do White Balance"
QUERY_EXT_CTRL id=0x80000004 = id=5 type=5 name="Pixel Rate" minimum=-9223372036854775807 maximum=9223372036854775807 step=2
QUERY_EXT_CTRL id=0x80000005 = id=7 type=7 name="Text"
QUERY_EXT_CTRL id=0x80000007 = id=8 type=8 name="Bits" maximum=0x80000005
QUERY_EXT_CTRL id=0x80000008 = id=9 type=9 name="Link Frequency" maximum=1
QUERYMENU id=9 index=0 = value=420000000
QUERYMENU id=9 index=1 = value=5000000000
QUERY_EXT_CTRL id=0x80000009 = id=10 type=1 name="Serial" flags=4
QUERY_EXT_CTRL id=0x8000000a = id=11 type=0x100 name="Array" flags=0x100
QUERY_EXT_CTRL id=0x8000000b = EINVAL
`

func TestSet(t *testing.T) {
	for _, test := range []struct{ control, value, recording, err string }{
		{"gain", "8", "S_CTRL id=1 value=8", ""},
		{"gain", "-4", "S_CTRL id=1 value=-4", ""},
		{"1", "0x4", "S_CTRL id=1 value=4", ""},
		{"gain", "16", "", "/dev/video0: control gain: 16 is out of range: from -4 to 12"},
		{"gain", "7", "", "/dev/video0: control gain: 7 is not one of its values: from -4 to 12 in steps of 4"},
		{"gain", "max", "", `/dev/video0: control gain: "max" is not a number`},
		{"auto_focus_continuous", "True", "S_CTRL id=2 value=1", ""},
		{"auto_focus_continuous", "false", "S_CTRL id=2 value=0", ""},
		{"auto_focus_continuous", "1", "S_CTRL id=2 value=1", ""},
		{"auto_focus_continuous", "2", "", "/dev/video0: control auto_focus_continuous: 2 is out of range: from 0 to 1"},
		{"mode", "50 hz", "S_CTRL id=3 value=2", ""},
		{"mode", "2", "S_CTRL id=3 value=2", ""},
		{"mode", "1", "", `/dev/video0: control mode: "1" is not in its menu: 0 (Off) and 2 (50 Hz)`},
		{"do_white_balance", "now", "S_CTRL id=4 value=1", ""},
		{"pixel_rate", "123456789013", "S_EXT_CTRLS which=0 count=1 controls.id=5 controls.size=0 controls.value64=123456789013", ""},
		{"pixel_rate", "2", "", "/dev/video0: control pixel_rate: 2 is not one of its values: " +
			"from -9223372036854775807 to 9223372036854775807 in steps of 2"},
		{"text", "a", "", "/dev/video0: control text is of a type, 7, that cannot be set here"},
		{"bits", "0x80000001", "S_CTRL id=8 value=-2147483647", ""},
		{"bits", "2", "", "/dev/video0: control bits: 0x2 has bits which are not in 0x80000005"},
		{"link_frequency", "5000000000", "S_CTRL id=9 value=1", ""},
		{"link_frequency", "1", "S_CTRL id=9 value=1", ""},
		{"serial", "1", "", "/dev/video0: control serial can only be read"},
		{"array", "1", "", "/dev/video0: no control array: the camera has gain, auto_focus_continuous, mode, do_white_balance, pixel_rate, " +
			"text, bits, link_frequency and serial"},
		{"gain", "0", "S_CTRL id=1 value=0 = EACCES", "/dev/video0: set control gain to 0: permission denied" +
			"; another control rules it, such as an automatic mode that is on"},
		{"gain", "0", "S_CTRL id=1 value=0 = EBUSY", "/dev/video0: set control gain to 0: device or resource busy" +
			"; it cannot be changed now, such as while another program captures"},
		{"gain", "0", "S_CTRL id=1 value=0 = EIO", "/dev/video0: set control gain to 0: input/output error"},
	} {
		err := opened(t, controls+test.recording).Set([]v4l2.Setting{{Control: test.control, Value: test.value}})
		if test.err == "" {
			require.NoError(t, err, "%s=%s", test.control, test.value)
		} else {
			require.EqualError(t, err, test.err)
		}
	}
	require.NoError(t, opened(t, "").Set(nil))

	// Nothing is set when one of them is wrong.
	err := opened(t, controls).Set([]v4l2.Setting{{Control: "gain", Value: "0"}, {Control: "mode", Value: "Auto"}})
	require.EqualError(t, err, `/dev/video0: control mode: "Auto" is not in its menu: 0 (Off) and 2 (50 Hz)`)
}
