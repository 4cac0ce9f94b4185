package picture

import (
	"fmt"
	"strings"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"

	"tapedeck/msgs/printable"
)

// Font is one of those that pages have.
type Font struct {
	Size int // pixels of a line
	Bold bool
}

func (f Font) String() string {
	if f.Bold {
		return fmt.Sprintf("bold%d", f.Size)
	}
	return fmt.Sprintf("font%d", f.Size)
}

var (
	headFont  = Font{22, true}
	boldFont  = Font{13, true}
	plainFont = Font{13, false}
	smallFont = Font{11, false}
)

// fonts are the faces of Fonts. They are not for concurrent use.
type fonts struct {
	regular, bold *opentype.Font
	faces         map[Font]font.Face
}

func newFonts() (*fonts, error) {
	regular, err := opentype.Parse(goregular.TTF)
	if err != nil {
		return nil, err
	}
	bold, err := opentype.Parse(gobold.TTF)
	if err != nil {
		return nil, err
	}
	return &fonts{regular, bold, map[Font]font.Face{}}, nil
}

func (f *fonts) face(of Font) font.Face {
	if face := f.faces[of]; face != nil {
		return face
	}
	from := f.regular
	if of.Bold {
		from = f.bold
	}
	// A face of a font that was parsed is made without an error.
	face, _ := opentype.NewFace(from, &opentype.FaceOptions{Size: float64(of.Size), DPI: 72})
	f.faces[of] = face
	return face
}

// width returns that of a text in pixels.
func (f *fonts) width(of Font, s string) int { return font.MeasureString(f.face(of), s).Ceil() }

// fit returns s, shortened in its middle if it is wider than a number of pixels. What cannot be seen is a space then.
func (f *fonts) fit(of Font, s string, width int) string {
	const longest = 500 // letters; more are not looked at
	letters := []rune(strings.Map(func(r rune) rune {
		if printable.Hidden(r) {
			return ' '
		}
		return r
	}, s))
	if len(letters) > longest {
		letters = append(letters[:longest/2:longest/2], letters[len(letters)-longest/2:]...)
	} else if f.width(of, string(letters)) <= width {
		return string(letters)
	}
	for n := len(letters) - 1; n > 0; n-- {
		short := string(letters[:n/2]) + "…" + string(letters[len(letters)-(n-n/2):])
		if f.width(of, short) <= width {
			return short
		}
	}
	return ""
}
