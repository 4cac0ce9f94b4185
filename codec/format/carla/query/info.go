package query

import (
	"io"

	"tapedeck/codec/format/carla"
)

// Info writes the text of show_recorder_file_info: all packets of a log if all, else only its events.
func Info(w io.Writer, r *carla.Reader, all bool, o Options) error {
	if o.JSON {
		return infoJSON(w, r, all)
	}
	p := infoPrinter{printer: newPrinter(w, o), all: all, ue5: r.Profile().DoubleVectors}
	p.header(r.Header())
	var last carla.Packet
	err := forEachPacket(r, func(k carla.Packet, b carla.Body) {
		last = k
		p.packet(b)
	})
	if err != nil {
		return err
	}
	if p.all && last.ID == carla.IDFrameEnd {
		p.detail(&carla.FrameEnd{}) // CARLA prints the last packet of a log twice
	}
	p.footer(p.frame)
	return p.Flush()
}

// infoPrinter writes the text of Info.
type infoPrinter struct {
	*printer
	all   bool             // print all packets, not only events
	ue5   bool             // the log is from UE5
	frame carla.FrameStart // current frame
	begun bool             // the first line of the frame is written
}

// begin writes the first line of the frame, once, if n, the number of events to be written, is not 0.
func (p *infoPrinter) begin(n int) {
	if n > 0 && !p.begun {
		p.print("Frame ", p.frame.Frame, " at ", p.frame.Elapsed, " seconds\n")
		p.begun = true
	}
}

// packet writes the text of a packet: of events and, if p.all, of all other kinds.
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
			p.print(" Create ", r.Actor, ": ", escape(r.BlueprintID), " (", int(r.Type), ") at ", r.Location, "\n")
			for _, a := range r.Attributes {
				p.print("  ", escape(a.ID), " = ", escape(a.Value), "\n")
			}
		}
	case *carla.EventDelList:
		p.begin(len(*l))
		for _, id := range *l {
			p.print(" Destroy ", uint32(id), "\n")
		}
	case *carla.EventParentList:
		p.begin(len(*l))
		for _, r := range *l {
			p.print(" Parenting ", r.Actor, " with ", r.Parent, " (parent)\n")
		}
	case *carla.CollisionList:
		p.begin(len(*l))
		for _, r := range *l {
			p.print(" Collision id ", r.Number, " between ", r.Actor1, heroMark(r.Hero1),
				" with ", r.Actor2, heroMark(r.Hero2), "\n")
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

// heroMark returns the text that follows the id of a hero in a collision.
func heroMark(hero bool) string {
	if hero {
		return " (hero) "
	}
	return ""
}

func (p *infoPrinter) weather(l carla.WeatherList) {
	p.print(" Weathers: ", len(l), "\n")
	for _, r := range l {
		p.print("  Cloudiness: ", r.Cloudiness, " Precipitation: ", r.Precipitation, " PrecipitationDeposits: ",
			r.PrecipitationDeposits, " WindIntensity: ", r.WindIntensity, " SunAzimuthAngle: ", r.SunAzimuthAngle,
			" SunAltitudeAngle: ", r.SunAltitudeAngle, " FogDensity: ", r.FogDensity, " FogDistance: ", r.FogDistance,
			" FogFalloff: ", r.FogFalloff, " Wetness: ", r.Wetness, " ScatteringIntensity: ", r.ScatteringIntensity,
			" MieScatteringScale: ", r.MieScatteringScale, " RayleighScatteringScale: ", r.RayleighScatteringScale,
			" DustStorm: ", r.DustStorm, "\n")
	}
}
