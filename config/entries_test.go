package config

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

type lens struct {
	Width  int      `param:"width" short:"w" group:"Lens" min:"1"`
	Device string   `param:"device" flag:"-" group:"Lens"`
	Knobs  []string `param:"knobs" group:"Lens"`
}

type lenses struct {
	lens
	Lenses map[string]*lens `param:"lenses" group:"Lens"`
	Quiet  bool             `param:"quiet" group:"Other"`
}

func (*lenses) OptionTexts() string {
	return "[lenses]\nlenses\n\tOptions of the lens called NAME.\nquiet\n\tSay less.\n"
}

func (*lens) OptionTexts() string { return "[lens]\nwidth\n\tColumns.\n" }

func runLenses(t *testing.T, argv ...string) (*lenses, *Input, error) {
	t.Helper()
	o := &lenses{lens: lens{Width: 640}}
	var got *Input
	root := New("shop", "", "", o, func(_ context.Context, in *Input) error {
		got = in
		return nil
	})
	err := Execute(t.Context(), root, argv)
	return o, got, err
}

func TestEntries(t *testing.T) {
	file := write(t, `
shop:
  ros__parameters:
    quiet: true
    device: /dev/video9
    lenses:
      Left: {device: /dev/video0, knobs: [a=1, b=2]}
      right:
        width: 320
        colour: red
      third: {knobs: [c=3]}
`)
	o, in, err := runLenses(t, "--ros-args", "--params-file", file, "-p", "lenses.right.device:=/dev/video2", "--",
		"-w",
		"800")
	require.NoError(t, err)
	require.Equal(t, map[string]*lens{
		"Left":  {Width: 800, Device: "/dev/video0", Knobs: []string{"a=1", "b=2"}},
		"right": {Width: 320, Device: "/dev/video2"},
		"third": {Width: 800, Knobs: []string{"c=3"}},
	}, o.Lenses)
	require.True(t, o.Quiet)
	require.Equal(t, "/dev/video0", in.Values()["lenses.Left.device"])
	require.Equal(t, int64(800), in.Values()["lenses.Left.width"])
	require.Equal(t, []string{"parameter lenses.right.colour from " + file + " line 10 is not one that shop knows"},
		in.Warnings)
	var names []string
	for _, p := range Parameters(o) {
		names = append(names, p.Name)
		if p.Name != "quiet" {
			require.Equal(t, "Lens", p.Group)
		}
	}
	require.Equal(t, []string{"width", "device", "knobs", "lenses.Left.width", "lenses.Left.device",
		"lenses.Left.knobs",
		"lenses.right.width", "lenses.right.device", "lenses.right.knobs",
		"lenses.third.width", "lenses.third.device", "lenses.third.knobs", "quiet"}, names)

	o, _, err = runLenses(t)
	require.NoError(t, err)
	require.Empty(t, o.Lenses)
}

func TestEntryErrors(t *testing.T) {
	file := write(t, "shop: {ros__parameters: {lenses: {left: {width: 0}}}}")
	_, _, err := runLenses(t, "--ros-args", "--params-file", file)
	require.ErrorIs(t, err, ErrUsage)
	require.EqualError(t, err, "parameter lenses.left.width from "+file+" line 1: 0 is not allowed, want at least 1")
	require.Panics(t, func() {
		Parameters(&struct {
			Lenses map[string]*lens `param:"lenses"`
		}{})
	}, "nothing that entries begin as")
}

func TestReadFileForNode(t *testing.T) {
	file := write(t, `
shop: {ros__parameters: {quiet: true, more: 1}}
/robot:
  shop: {ros__parameters: {lenses: {left: {width: 7}}}}
`)
	var o lenses
	require.NoError(t, ReadFile(file, "/robot/shop", &o))
	require.Equal(t, map[string]*lens{"left": {Width: 7}}, o.Lenses)
	require.False(t, o.Quiet)
	require.NoError(t, ReadFile(file, "/shop", &o))
	require.True(t, o.Quiet)
	require.ErrorContains(t, ReadFile(file+"x", "/shop", &o), "open parameter file")
}
