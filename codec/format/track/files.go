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

// textFile is a file being written. Flush returns the first error.
type textFile struct{ *bufio.Writer }

// text writes texts.
func (f *textFile) text(texts ...string) {
	for _, text := range texts {
		_, _ = f.WriteString(text)
	}
}

// write writes a file of tracks.
func write(path string, tracks []*track, encode encode) error {
	file, err := os.Create(path)
	if err != nil {
		return &codec.MissingError{Path: path, Err: codec.Pathless(err)}
	}
	f := &textFile{bufio.NewWriter(file)}
	err = errors.Join(encode(f, tracks), f.Flush(), file.Close())
	if err != nil {
		return &codec.MissingError{Path: path, Err: codec.Pathless(err)}
	}
	return nil
}

// decimal returns a number without an exponent. -0 becomes 0.
func decimal(v float64) string { return strconv.FormatFloat(v+0, 'f', -1, 64) }

// clock returns a time for XML and GeoJSON, as RFC 3339.
func clock(ns int64) string { return time.Unix(0, ns).UTC().Format(time.RFC3339Nano) }

// escaped returns a text escaped for XML.
func escaped(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a Builder does not fail
	return b.String()
}

// writeTUM writes the first track, because a TUM file holds one.
func writeTUM(f *textFile, tracks []*track) error {
	f.text("# timestamp tx ty tz qx qy qz qw\n")
	return tracks[0].each(func(p *point) {
		f.text(stamped.Seconds(p.Time))
		for _, v := range append(p.At[:], p.Turn[:]...) {
			f.text(" ", decimal(v))
		}
		f.text("\n")
	})
}

// writeGPX writes GPX 1.1. A track is cut into segments where positions are missing.
func writeGPX(f *textFile, tracks []*track) error {
	f.text(xml.Header, `<gpx version="1.1" creator="tapedeck" xmlns="http://www.topografix.com/GPX/1/1">`, "\n")
	for _, t := range tracks {
		f.text("<trk><name>", escaped(t.name), "</name><desc>elevations are above the WGS 84 ellipsoid</desc>",
			"<trkseg>\n")
		err := t.each(func(p *point) {
			if p.Broken {
				f.text("</trkseg><trkseg>\n")
			}
			longitude := p.At[1]
			if longitude == 180 { // GPX allows only less than 180
				longitude = -180
			}
			f.text(`<trkpt lat="`, decimal(p.At[0]), `" lon="`, decimal(longitude), `"><ele>`, decimal(p.At[2]),
				"</ele><time>", clock(p.Time), "</time></trkpt>\n")
		})
		if err != nil {
			return err
		}
		f.text("</trkseg></trk>\n")
	}
	f.text("</gpx>\n")
	return nil
}

// writeKML writes KML 2.2 with Google's extension gx:Track.
func writeKML(f *textFile, tracks []*track) error {
	f.text(xml.Header, `<kml xmlns="http://www.opengis.net/kml/2.2" xmlns:gx="http://www.google.com/kml/ext/2.2">`,
		"\n<Document>\n")
	for _, t := range tracks {
		f.text("<Placemark><name>", escaped(t.name), "</name><gx:Track>\n<altitudeMode>absolute</altitudeMode>\n")
		err := errors.Join(
			t.each(func(p *point) { f.text("<when>", clock(p.Time), "</when>\n") }),
			t.each(func(p *point) {
				f.text("<gx:coord>", decimal(p.At[1]), " ", decimal(p.At[0]), " ", decimal(p.At[2]), "</gx:coord>\n")
			}))
		if err != nil {
			return err
		}
		f.text("</gx:Track></Placemark>\n")
	}
	f.text("</Document>\n</kml>\n")
	return nil
}

// writeGeoJSON writes a feature of RFC 7946 for each track: a line, several lines if the track crosses the meridian of
// ±180°, or a point. The property coordTimes holds the times, arranged like the coordinates.
func writeGeoJSON(f *textFile, tracks []*track) error {
	f.text(`{"type":"FeatureCollection","features":[`)
	for i, t := range tracks {
		if i > 0 {
			f.text(",")
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
			f.text(open)
			some := false
			err := t.lines(func(p *point, first bool) {
				switch {
				case some && first:
					f.text("],[")
				case some:
					f.text(",")
				}
				some = true
				value(p)
			})
			f.text(end)
			return err
		}
		name, err := json.Marshal(t.name)
		f.text("\n", `{"type":"Feature","properties":{"name":`, string(name), `,"coordTimes":`)
		err = errors.Join(err, list(func(p *point) { f.text(`"`, clock(p.Time), `"`) }))
		f.text(`},"geometry":{"type":"`, kind, `","coordinates":`)
		err = errors.Join(err, list(func(p *point) {
			f.text("[", decimal(p.At[1]), ",", decimal(p.At[0]), ",", decimal(p.At[2]), "]")
		}))
		if err != nil {
			return err
		}
		f.text("}}")
	}
	f.text("\n]}\n")
	return nil
}
