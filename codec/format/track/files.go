package track

import (
	"bufio"
	"encoding/json"
	"encoding/xml"
	"errors"
	"os"
	"strconv"
	"strings"
	"time"

	"tapedeck/codec"
	"tapedeck/codec/internal/stamped"
)

// output is a file being written. It keeps the first error.
type output struct{ *bufio.Writer }

// text writes texts.
func (o *output) text(texts ...string) {
	for _, text := range texts {
		_, _ = o.WriteString(text)
	}
}

// write writes a file of tracks.
func write(path string, tracks []*track, encode encode) error {
	file, err := os.Create(path)
	if err != nil {
		return &codec.MissingError{Path: path, Err: codec.Pathless(err)}
	}
	o := &output{bufio.NewWriter(file)}
	err = errors.Join(encode(o, tracks), o.Flush(), file.Close())
	if err != nil {
		return &codec.MissingError{Path: path, Err: codec.Pathless(err)}
	}
	return nil
}

// decimal returns a number without an exponent, and 0 without a sign.
func decimal(v float64) string { return strconv.FormatFloat(v+0, 'f', -1, 64) }

// clock returns a time as XML and GeoJSON have it.
func clock(ns int64) string { return time.Unix(0, ns).UTC().Format(time.RFC3339Nano) }

// escaped returns a text for XML.
func escaped(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a Builder does not fail
	return b.String()
}

// writeTUM writes the one track of a file.
func writeTUM(o *output, tracks []*track) error {
	o.text("# timestamp tx ty tz qx qy qz qw\n")
	return tracks[0].each(func(p *point) {
		o.text(stamped.Seconds(p.Time))
		for _, v := range append(p.At[:], p.Turn[:]...) {
			o.text(" ", decimal(v))
		}
		o.text("\n")
	})
}

// writeGPX writes GPX 1.1: a track each, in segments without missing positions.
func writeGPX(o *output, tracks []*track) error {
	o.text(xml.Header, `<gpx version="1.1" creator="tapedeck" xmlns="http://www.topografix.com/GPX/1/1">`, "\n")
	for _, t := range tracks {
		o.text("<trk><name>", escaped(t.name), "</name><desc>elevations are above the WGS 84 ellipsoid</desc>",
			"<trkseg>\n")
		err := t.each(func(p *point) {
			if p.Broken {
				o.text("</trkseg><trkseg>\n")
			}
			longitude := p.At[1]
			if longitude == 180 { // which GPX does not have
				longitude = -180
			}
			o.text(`<trkpt lat="`, decimal(p.At[0]), `" lon="`, decimal(longitude), `"><ele>`, decimal(p.At[2]),
				"</ele><time>", clock(p.Time), "</time></trkpt>\n")
		})
		if err != nil {
			return err
		}
		o.text("</trkseg></trk>\n")
	}
	o.text("</gpx>\n")
	return nil
}

// writeKML writes KML 2.2 with the tracks of Google's extension.
func writeKML(o *output, tracks []*track) error {
	o.text(xml.Header, `<kml xmlns="http://www.opengis.net/kml/2.2" xmlns:gx="http://www.google.com/kml/ext/2.2">`,
		"\n<Document>\n")
	for _, t := range tracks {
		o.text("<Placemark><name>", escaped(t.name), "</name><gx:Track>\n<altitudeMode>absolute</altitudeMode>\n")
		err := errors.Join(
			t.each(func(p *point) { o.text("<when>", clock(p.Time), "</when>\n") }),
			t.each(func(p *point) {
				o.text("<gx:coord>", decimal(p.At[1]), " ", decimal(p.At[0]), " ", decimal(p.At[2]), "</gx:coord>\n")
			}))
		if err != nil {
			return err
		}
		o.text("</gx:Track></Placemark>\n")
	}
	o.text("</Document>\n</kml>\n")
	return nil
}

// writeGeoJSON writes a feature of RFC 7946 for each track: one line, several if it crosses the meridian of ±180°,
// or one point. Times are in coordTimes, arranged as the coordinates.
func writeGeoJSON(o *output, tracks []*track) error {
	o.text(`{"type":"FeatureCollection","features":[`)
	for i, t := range tracks {
		if i > 0 {
			o.text(",")
		}
		count := 0
		if err := t.lines(func(_ *point, first bool) {
			if first {
				count++
			}
		}); err != nil {
			return err
		}
		kind, open, end := "LineString", "[", "]"
		switch {
		case t.count == 1:
			kind, open, end = "Point", "", ""
		case count > 1:
			kind, open, end = "MultiLineString", "[[", "]]"
		}
		list := func(value func(p *point)) error {
			o.text(open)
			some := false
			err := t.lines(func(p *point, first bool) {
				switch {
				case some && first:
					o.text("],[")
				case some:
					o.text(",")
				}
				some = true
				value(p)
			})
			o.text(end)
			return err
		}
		name, err := json.Marshal(t.name)
		o.text("\n", `{"type":"Feature","properties":{"name":`, string(name), `,"coordTimes":`)
		err = errors.Join(err, list(func(p *point) { o.text(`"`, clock(p.Time), `"`) }))
		o.text(`},"geometry":{"type":"`, kind, `","coordinates":`)
		err = errors.Join(err, list(func(p *point) {
			o.text("[", decimal(p.At[1]), ",", decimal(p.At[0]), ",", decimal(p.At[2]), "]")
		}))
		if err != nil {
			return err
		}
		o.text("}}")
	}
	o.text("\n]}\n")
	return nil
}
