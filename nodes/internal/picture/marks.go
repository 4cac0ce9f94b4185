package picture

import (
	"image/color"

	"tapedeck/codec"
)

// mark is how events of a kind are drawn.
type mark struct {
	kind, text string
	color      color.NRGBA
	draw       func(d *Drawing, b Box, c color.NRGBA) // in the row of a topic, or in that of the recording
	whole      bool                                   // it goes through all rows, where it is about all topics
}

// marks are those that there are, in the order of the legend. What is worse is drawn later.
var marks = []mark{
	{codec.EventPause, "paused", grey, drawHatch, true},
	{codec.EventGap, "gap: silent for long", orange, drawGap, false},
	{codec.EventThrottle, "thinned out on purpose", skyBlue, drawFoot, false},
	{codec.EventSplit, "next file", blue, drawLine, true},
	{codec.EventSnapshot, "snapshot", purple, drawTriangle, true},
	{codec.EventLost, "lost in transport", purple, drawFoot, false},
	{codec.EventDrop, "dropped", vermillion, drawFoot, false},
	{codec.EventDisk, "disk full or failing", vermillion, drawFrame, true},
	{codec.EventDamage, "damaged", black, drawCross, true},
	{codec.EventUnfinished, "not finished", black, drawTriangle, false},
}

func markOf(kind string) *mark {
	for i := range marks {
		if marks[i].kind == kind {
			return &marks[i]
		}
	}
	return nil
}

func drawHatch(d *Drawing, b Box, c color.NRGBA) {
	d.add(Rect{b, faded(c, 28)}, Hatch{b, faded(c, 90)})
}

// drawGap empties the box, so that what is beside does not show in it.
func drawGap(d *Drawing, b Box, c color.NRGBA) {
	d.add(Rect{b, rgb(0xfff4d6)}, Frame{b, c})
}

func drawFoot(d *Drawing, b Box, c color.NRGBA) {
	d.add(Rect{Box{b.X, b.Y + b.H - 5, b.W, 5}, c})
}

func drawLine(d *Drawing, b Box, c color.NRGBA) {
	d.add(Rect{Box{b.X + b.W/2, b.Y, 1, b.H}, c})
}

func drawFrame(d *Drawing, b Box, c color.NRGBA) { d.add(Rect{b, faded(c, 60)}, Frame{b, c}) }

func drawTriangle(d *Drawing, b Box, c color.NRGBA) {
	x, y := float32(b.X)+float32(b.W)/2, float32(b.Y)
	d.add(Path{Points: []Point{{x - 5, y}, {x + 5, y}, {x, y + 9}}, Color: c, Filled: true})
}

func drawCross(d *Drawing, b Box, c color.NRGBA) {
	x, y := float32(b.X)+float32(b.W)/2, float32(b.Y)+float32(b.H)/2
	d.add(Path{Points: []Point{{x - 4, y - 4}, {x + 4, y + 4}}, Width: 2, Color: c},
		Path{Points: []Point{{x - 4, y + 4}, {x + 4, y - 4}}, Width: 2, Color: c})
}
