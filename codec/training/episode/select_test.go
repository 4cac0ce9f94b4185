package episode

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/training/align"
)

func TestSelection(t *testing.T) {
	recordings := [][]*Episode{{{Name: "0"}, {Name: "1"}, {Name: "2"}}, {{Name: "3"}, {Name: "4"}}}
	for _, c := range []struct {
		only, without, discarded string
		keep                     bool
		want, text, err          string
	}{
		{want: "01234"},
		{discarded: "13", want: "024",
			text: "episodes 1,3 of 0-4 (discarded while recording: 1,3; --episodes 1,3 takes them)"},
		{discarded: "13", without: "0,1", want: "24",
			text: "episodes 0-1,3 of 0-4 (discarded while recording: 3; --episodes 3 takes them)"},
		{discarded: "13", only: "0-1", want: "01", text: "episodes 2-4 of 0-4"},
		{discarded: "13", keep: true, want: "01!23!4"},
		{discarded: "01234", err: "no episode is left, as all were discarded while they were recorded; --episodes 0-4 " +
			"of a conversion takes them"},
		{discarded: "0134", without: "2", err: "all episodes are left out; discarded while recording: 0-1,3-4; " +
			"--episodes 0-1,3-4 takes them"},
		{only: "0,2-3", want: "023", text: "episodes 1,4 of 0-4"},
		{without: "0-1, 3", want: "24", text: "episodes 0-1,3 of 0-4"},
		{only: "0-3", without: "1", want: "023", text: "episodes 1,4 of 0-4"},
		{only: "4-5", err: "there is no episode 5; there are 0-4"},
		{without: "7", err: "there is no episode 7; there are 0-4"},
		{without: "0-4", err: "all episodes are left out"},
	} {
		s := Selection{KeepDiscarded: c.keep}
		var err error
		if c.only != "" {
			s.Only, err = ParseNumbers(c.only)
			require.NoError(t, err)
		}
		if c.without != "" {
			s.OmitEpisodes, err = ParseNumbers(c.without)
			require.NoError(t, err)
		}
		got := ""
		for _, all := range recordings {
			for _, e := range all {
				e.Discarded = strings.Contains(c.discarded, e.Name)
			}
			for _, e := range s.Select(all) {
				got += e.Name
				if e.Discarded {
					got += "!"
				}
			}
		}
		if c.err != "" {
			require.EqualError(t, s.Check(), c.err)
			continue
		}
		require.NoError(t, s.Check())
		require.Equal(t, c.want, got)
		require.Equal(t, c.text, s.String())
	}
	for _, text := range []string{"", "a", "1-", "-1", "3-2", "1,,2"} {
		_, err := ParseNumbers(text)
		require.ErrorContains(t, err, "are no numbers of episodes: want a list such as 0,2-5", text)
	}
	require.ErrorContains(t, (&Selection{Only: Numbers{{0, 0}}}).Check(), "no input has episodes")
}

// Joints whose unit the recording does not say have no unit.
func TestUnknownUnits(t *testing.T) {
	ones := func(int) float64 { return 1 }
	arm := &Arm{Name: "arm_0", Streams: Streams{Joint: newVector("arm_0/joint", 30, ones, "a", "b"),
		Velocity: newVector("arm_0/velocity", 30, ones, "a", "b")}}
	e := &Episode{Name: "e", Cameras: []*Camera{newCamera("camera_0", 10)}, Arms: []*Arm{arm}}
	units := func() (list []string) {
		rows, err := Align(e, align.Options{})
		require.NoError(t, err)
		for _, vector := range []func() (*align.Vector, error){rows.QPos, rows.QVel, rows.Action} {
			r, err := vector()
			require.NoError(t, err)
			list = append(list, r.Columns[0].Unit)
		}
		return list
	}
	require.Equal(t, []string{"", "", ""}, units())
	require.Equal(t, UnitUnknown, Summarize(e).Streams[0].Unit)
	r := NewReader(nil, "x", t.TempDir(), &memorySource{episodes: []*Episode{e}})
	info, err := r.Info()
	require.NoError(t, err)
	require.Len(t, info.Events, 1)
	require.Equal(t, codec.EventNote, info.Events[0].Kind)
	require.Contains(t, info.Events[0].Text, "arm_0/joint, arm_0/velocity is unknown: numbers are read unchanged")
	require.True(t, info.Complete)

	(&Selection{JointUnit: "deg"}).Select([]*Episode{e})
	require.Equal(t, []string{"rad", "rad/s", "rad"}, units())
	require.Equal(t, "deg/s", Summarize(e).Streams[1].Unit)
	info, err = NewReader(nil, "x", t.TempDir(), &memorySource{episodes: []*Episode{e}}).Info()
	require.NoError(t, err)
	require.Empty(t, info.Events)
}
