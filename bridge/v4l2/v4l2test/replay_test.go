package v4l2test_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge/v4l2"
	"tapedeck/bridge/v4l2/v4l2test"
)

// TestReplayNotices: a Replay tells what was called otherwise than recorded, or not at all.
func TestReplayNotices(t *testing.T) {
	const opened = "open /dev/video0\nQUERYCAP = capabilities=0x04000001\n"
	for _, test := range []struct{ name, recording, want string }{
		{"another call", opened + "G_FMT", "line 3: G_FMT [] was recorded, but ENUM_FMT [] is called"},
		{"another argument", opened + "ENUM_FMT index=1", "line 3: ENUM_FMT: index=1 was recorded, but is 0"},
		{"end", opened, "ENUM_FMT [] is called after the end of the recording"},
		{"not called", opened + "ENUM_FMT = EINVAL\n\n# more\nclose", "line 6 and what follows was not called: close []"},
		{"field", opened + "ENUM_FMT index=0 = colour=1", "line 3: ENUM_FMT: there is no field colour"},
		{"error", opened + "ENUM_FMT index=0 = EINVALID", "line 3: ENUM_FMT: there is no field EINVALID"},
		{"number", opened + "ENUM_FMT index=0 = flags=many1", `line 3: ENUM_FMT: strconv.ParseUint: parsing "many1": invalid syntax`},
		{"text", opened + "ENUM_FMT index=0 = description=" + string(make([]byte, 33)), "line 3: ENUM_FMT: a [32]uint8 cannot be description=" +
			string(make([]byte, 33))},
		{"data", opened + "ENUM_FMT index=0 = data=00", "line 3: ENUM_FMT: there is no buffer for 1 bytes of data"},
		{"none", opened + "ENUM_FMT = EINVAL", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			r, err := v4l2test.NewReplay(test.recording)
			require.NoError(t, err)
			c, err := v4l2.Open(r, "/dev/video0")
			require.NoError(t, err)
			_, err = c.Formats()
			if test.want == "" {
				require.NoError(t, err)
				require.NoError(t, r.Finish())
				return
			}
			require.EqualError(t, r.Finish(), test.want)
		})
	}
	_, err := v4l2test.NewReplay("\nnode /dev/video0 colour=red")
	require.EqualError(t, err, "line 2: there is no field colour")
}
