package picture

import "image/color"

func rgb(hex uint32) color.NRGBA {
	return color.NRGBA{uint8(hex >> 16), uint8(hex >> 8), uint8(hex), 255}
}

func faded(c color.NRGBA, alpha uint8) color.NRGBA {
	c.A = alpha
	return c
}

var (
	ink    = rgb(0x1f2933)
	grey   = rgb(0x6b7785)
	pale   = rgb(0xd5dae0)
	empty  = rgb(0xf1f3f5)
	stripe = rgb(0xfafbfc)
)

// Colours of Okabe and Ito, which people see apart however they see colours.
var (
	orange     = rgb(0xe69f00)
	skyBlue    = rgb(0x56b4e9)
	green      = rgb(0x009e73)
	blue       = rgb(0x0072b2)
	vermillion = rgb(0xd55e00)
	purple     = rgb(0xcc79a7)
	black      = rgb(0x000000)
)

// curves are the colours of columns, in order.
var curves = []color.NRGBA{blue, vermillion, green, purple, orange, skyBlue, ink, rgb(0x8c6d31), rgb(0x7b4fa3),
	rgb(0x999999)}

// palette has the colours of Heat, from few to many: viridis, without its yellow, which nobody sees on white.
var palette = func() (p [256]color.NRGBA) {
	stops := []color.NRGBA{rgb(0x8fd744), rgb(0x35b779), rgb(0x21908d), rgb(0x31688e), rgb(0x443a83), rgb(0x440154)}
	for i := 1; i < len(p); i++ {
		at := float64(i-1) / float64(len(p)-2) * float64(len(stops)-1)
		n := min(int(at), len(stops)-2)
		mix := func(a, b uint8) uint8 { return uint8(float64(a) + (float64(b)-float64(a))*(at-float64(n)) + 0.5) }
		a, b := stops[n], stops[n+1]
		p[i] = color.NRGBA{mix(a.R, b.R), mix(a.G, b.G), mix(a.B, b.B), 255}
	}
	return p
}()
