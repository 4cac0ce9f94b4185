package config

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

type twoTexts struct {
	Given   string `param:"given"`
	Missing string `param:"missing"`
	nested
	Camera camera `param:"camera"`
}

type nested struct {
	Low  string `param:"low"`
	Open string `param:"open"`
}

func (*twoTexts) OptionTexts() string {
	return `[twoTexts]
given
	A sentence.
lost
	Text of no option.
[nested]
low
	a small letter.
open
	No full stop
[camera]
width
	` + strings.Repeat("X", 116) + `.
debug
	` + strings.Repeat("Y", 115) + `.
[none]
gone
	Text of no struct.
`
}

func TestTextErrors(t *testing.T) {
	require.Empty(t, TextErrors(&options{}))
	require.Equal(t, []string{
		"[camera] width: \"" + strings.Repeat("X", 116) + ".\" is longer than a line of 120 columns",
		"[config.twoTexts] missing: the option has no text",
		`[nested] low: "a small letter." wants a capital letter and a full stop`,
		`[nested] open: "No full stop" wants a capital letter and a full stop`,
		"[none] gone: no option has this text",
		"[twoTexts] lost: no option has this text",
	}, TextErrors(&twoTexts{}))
}
