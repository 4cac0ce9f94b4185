package v4l2_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"tapedeck/bridge/device/v4l2"
	"tapedeck/bridge/device/v4l2/internal/kernel"
	"tapedeck/bridge/device/v4l2/v4l2test"
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

// controlled opens a camera with a control of each type. It appends each setting to set if err is 0.
func controlled(t *testing.T, set *[]string, err unix.Errno) *v4l2.CaptureDevice {
	note := func(id uint32, value int64) error {
		if err != 0 {
			return err
		}
		*set = append(*set, fmt.Sprintf("%d=%d", id, value))
		return nil
	}
	c, opened := openWith(&v4l2test.Camera{
		Formats: []v4l2test.Format{{FourCC: v4l2.GREY, Width: 8, Height: 4}},
		Controls: []v4l2.Control{
			{ID: 1, Type: 1, Label: "Gain", Min: -4, Max: 12, Step: 4},
			{ID: 2, Type: 2, Label: "Auto-Focus, Continuous!", Max: 1},
			{ID: 3, Type: 3, Label: "Mode", Max: 2,
				Menu: []v4l2.MenuItem{{Index: 0, Text: "Off"}, {Index: 2, Text: "50 Hz"}}},
			{ID: 4, Type: 4, Label: "Do White Balance"},
			{ID: 5, Type: 5, Label: "Pixel Rate", Min: -math.MaxInt64, Max: math.MaxInt64, Step: 2},
			{ID: 7, Type: 7, Label: "Text"},
			{ID: 8, Type: 8, Label: "Bits", Max: 0x80000005},
			{ID: 9, Type: 9, Label: "Link Frequency", Max: 1, Menu: []v4l2.MenuItem{{Index: 0}, {Index: 1}}},
			{ID: 10, Type: 1, Label: "Serial", ReadOnly: true},
			{ID: 11, Type: 0x100, Label: "Array"},
		},
	}, answers{
		kernel.VIDIOC_QUERY_EXT_CTRL: modify(func(q *kernel.QueryExtCtrl) {
			if q.ID == 11 {
				q.Flags |= 0x100
			}
		}),
		kernel.VIDIOC_QUERYMENU: modify(func(m *kernel.QueryMenu) {
			if m.ID == 9 {
				binary.NativeEndian.PutUint64(m.Name[:], []uint64{420000000, 5000000000}[m.Index])
			}
		}),
		kernel.VIDIOC_S_CTRL: func(argument unsafe.Pointer, _ func() error) error {
			control := (*kernel.Control)(argument)
			return note(control.ID, int64(control.Value))
		},
		kernel.VIDIOC_S_EXT_CTRLS: func(argument unsafe.Pointer, _ func() error) error {
			control := (*kernel.ExtControls)(argument).Controls
			return note(control.ID, int64(binary.NativeEndian.Uint64(control.Value[:])))
		},
	})
	require.NoError(t, opened)
	return c
}

func TestSet(t *testing.T) {
	for _, test := range []struct{ control, value, set, err string }{
		{"gain", "8", "1=8", ""},
		{"gain", "-4", "1=-4", ""},
		{"1", "0x4", "1=4", ""},
		{"gain", "16", "", "/dev/video0: control gain: 16 is out of range: from -4 to 12"},
		{"gain", "7", "", "/dev/video0: control gain: 7 is not one of its values: from -4 to 12 in steps of 4"},
		{"gain", "max", "", `/dev/video0: control gain: "max" is not a number`},
		{"auto_focus_continuous", "True", "2=1", ""},
		{"auto_focus_continuous", "false", "2=0", ""},
		{"auto_focus_continuous", "1", "2=1", ""},
		{"auto_focus_continuous", "2", "", "/dev/video0: control auto_focus_continuous: 2 is out of range: from 0 to " +
			"1"},
		{"mode", "50 hz", "3=2", ""},
		{"mode", "2", "3=2", ""},
		{"mode", "1", "", `/dev/video0: control mode: "1" is not in its menu: 0 (Off) and 2 (50 Hz)`},
		{"do_white_balance", "now", "4=1", ""},
		{"pixel_rate", "123456789013", "5=123456789013", ""},
		{"pixel_rate", "2", "", "/dev/video0: control pixel_rate: 2 is not one of its values: " +
			"from -9223372036854775807 to 9223372036854775807 in steps of 2"},
		{"text", "a", "", "/dev/video0: control text: values of type 7 are not supported"},
		{"bits", "0x80000001", "8=-2147483647", ""},
		{"bits", "2", "", "/dev/video0: control bits: 0x2 has bits outside 0x80000005"},
		{"link_frequency", "5000000000", "9=1", ""},
		{"link_frequency", "1", "9=1", ""},
		{"serial", "1", "", "/dev/video0: control serial is read-only"},
		{"array", "1", "", "/dev/video0: no control array: the camera has gain, auto_focus_continuous, mode, " +
			"do_white_balance, pixel_rate, text, bits, link_frequency and serial"},
		{"gain", "0", "EACCES", "/dev/video0: set control gain to 0: permission denied" +
			"; another control overrides it, such as an automatic mode"},
		{"gain", "0", "EBUSY", "/dev/video0: set control gain to 0: device or resource busy" +
			"; it cannot be changed now, for example while another program captures"},
		{"gain", "0", "EIO", "/dev/video0: set control gain to 0: input/output error"},
	} {
		var set []string
		fails := map[string]unix.Errno{"EACCES": unix.EACCES, "EBUSY": unix.EBUSY, "EIO": unix.EIO}[test.set]
		err := controlled(t, &set, fails).Set([]v4l2.Setting{{Control: test.control, Value: test.value}})
		if test.err == "" {
			require.NoError(t, err, "%s=%s", test.control, test.value)
			require.Equal(t, []string{test.set}, set)
		} else {
			require.Empty(t, set)
			require.EqualError(t, err, test.err)
		}
	}
	var set []string
	require.NoError(t, controlled(t, &set, 0).Set(nil))

	// Nothing is set when one of them is wrong.
	err := controlled(t, &set, 0).Set([]v4l2.Setting{{Control: "gain", Value: "0"}, {Control: "mode", Value: "Auto"}})
	require.EqualError(t, err, `/dev/video0: control mode: "Auto" is not in its menu: 0 (Off) and 2 (50 Hz)`)
	require.Empty(t, set)
}
