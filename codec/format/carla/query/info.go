package query

import (
	"io"

	"tapedeck/codec/format/carla"
)

// Info writes the text of show_recorder_file_info: all of a log, or only its events.
func Info(w io.Writer, r *carla.Reader, all bool, o Options) error {
	if o.JSON {
		return infoJSON(w, r, all)
	}
	p := infoPrinter{printer: newPrinter(w, o), all: all, ue5: r.Profile().Wide}
	p.head(r.Header())
	var last carla.Packet
	err := each(r, func(k carla.Packet, b carla.Body) {
		last = k
		p.packet(b)
	})
	if err != nil {
		return err
	}
	if p.all && last.ID == carla.IDFrameEnd {
		p.detail(&carla.FrameEnd{}) // at the end, CARLA reads the last packet again
	}
	p.tail(p.frame)
	return p.Flush()
}

// infoPrinter writes the text of Info.
type infoPrinter struct {
	*printer
	all   bool
	ue5   bool // the log is of UE5
	frame carla.FrameStart
	begun bool // whether the line of the frame is written
}

// begin writes the line of the frame in front of its first event.
func (p *infoPrinter) begin(n int) {
	if n > 0 && !p.begun {
		p.line("Frame ", p.frame.Frame, " at ", p.frame.Elapsed, " seconds\n")
		p.begun = true
	}
}

// packet writes the events in a packet.
func (p *infoPrinter) packet(b carla.Body) {
	switch l := b.(type) {
	case *carla.FrameStart:
		p.frame, p.begun = *l, false
		if p.all {
			p.begin(1)
		}
	case *carla.EventAddList:
		p.begin(len(*l))
		for _, r := range *l {
			p.line(" Create ", r.Actor, ": ", text(r.BlueprintID), " (", int(r.Type), ") at ", r.Location, "\n")
			for _, a := range r.Attributes {
				p.line("  ", text(a.ID), " = ", text(a.Value), "\n")
			}
		}
	case *carla.EventDelList:
		p.begin(len(*l))
		for _, id := range *l {
			p.line(" Destroy ", uint32(id), "\n")
		}
	case *carla.EventParentList:
		p.begin(len(*l))
		for _, r := range *l {
			p.line(" Parenting ", r.Actor, " with ", r.Parent, " (parent)\n")
		}
	case *carla.CollisionList:
		p.begin(len(*l))
		for _, r := range *l {
			p.line(" Collision id ", r.Number, " between ", r.Actor1, hero(r.Hero1), " with ", r.Actor2, hero(r.Hero2),
				"\n")
		}
	case *carla.WeatherList:
		if p.Style == Newest {
			p.begin(len(*l))
			p.weather(*l)
		}
	default:
		if p.all {
			p.detail(b)
		}
	}
}

func hero(is bool) string {
	if is {
		return " (hero) "
	}
	return ""
}

func (p *infoPrinter) weather(l carla.WeatherList) {
	p.line(" Weathers: ", len(l), "\n")
	for _, r := range l {
		p.line("  Cloudiness: ", r.Cloudiness, " Precipitation: ", r.Precipitation, " PrecipitationDeposits: ",
			r.PrecipitationDeposits, " WindIntensity: ", r.WindIntensity, " SunAzimuthAngle: ", r.SunAzimuthAngle,
			" SunAltitudeAngle: ", r.SunAltitudeAngle, " FogDensity: ", r.FogDensity, " FogDistance: ", r.FogDistance,
			" FogFalloff: ", r.FogFalloff, " Wetness: ", r.Wetness, " ScatteringIntensity: ", r.ScatteringIntensity,
			" MieScatteringScale: ", r.MieScatteringScale, " RayleighScatteringScale: ", r.RayleighScatteringScale,
			" DustStorm: ", r.DustStorm, "\n")
	}
}
