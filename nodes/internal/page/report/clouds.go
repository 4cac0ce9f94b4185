package report

import (
	"encoding/binary"
	"math"

	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/codec/encoding/number"
	"tapedeck/codec/format/cloud"
	"tapedeck/msgs/geometry_msgs"
	"tapedeck/msgs/vision_msgs"
	"tapedeck/msgs/visualization_msgs"
)

const (
	mostClouds = 10   // clouds of a topic
	mostPoints = 4000 // points of a cloud
	mostBoxes  = 200  // boxes of a message
	reach      = 100  // points with larger coordinates are omitted; m
	unit       = 0.01 // Cloud.Scale; m
)

// clouds collects clouds of a topic, evenly over time.
type clouds struct {
	builder *builder
	next    int // first slot of the time without a cloud
	list    []Cloud
	read    func(payload []byte, cloud *Cloud) error
}

// newClouds returns a sink whose messages are read by read.
func (b *builder) newClouds(read func([]byte, *Cloud) error) sink {
	c := &clouds{builder: b, read: read}
	b.clouds = append(b.clouds, c)
	return c
}

// cloud returns a sink for points, nil for other types.
func (b *builder) cloud(c *codec.Channel, _ *cdr.Schema) sink {
	reader := cloud.NewReader(c.Type)
	if reader == nil {
		return nil
	}
	return b.newClouds(func(payload []byte, out *Cloud) error {
		n, err := reader.Read(payload)
		if err != nil {
			return err
		}
		out.Points, out.Frame = uint64(n), reader.Frame()
		every, i := max(1, (n+mostPoints-1)/mostPoints), 0
		low, high := math.Inf(1), math.Inf(-1)
		var shades []float64
		reader.Each(func(x, y, z, shade float64) {
			i++
			if i%every != 0 || !(math.Abs(x) < reach && math.Abs(y) < reach && math.Abs(z) < reach) {
				return
			}
			for _, v := range [3]float64{x, y, z} {
				out.XYZ = binary.LittleEndian.AppendUint16(out.XYZ, uint16(int16(math.Round(v/unit))))
			}
			shades = append(shades, shade)
			low, high = min(low, shade), max(high, shade)
		})
		if high > low { // not NaN
			for _, s := range shades {
				out.Shade = append(out.Shade, uint8(number.Int64(255*(s-low)/(high-low))))
			}
		}
		return nil
	})
}

// boxes returns a sink for boxes, nil for other types.
func (b *builder) boxes(c *codec.Channel, _ *cdr.Schema) sink {
	box := func(out *Cloud, p geometry_msgs.Pose, size geometry_msgs.Vector3) {
		yaw := math.Atan2(2*(p.Orientation.W*p.Orientation.Z+p.Orientation.X*p.Orientation.Y),
			1-2*(p.Orientation.Y*p.Orientation.Y+p.Orientation.Z*p.Orientation.Z))
		values := [7]int{6: int(number.Int64(1000 * yaw))}
		for i, v := range []float64{p.Position.X, p.Position.Y, p.Position.Z, size.X, size.Y, size.Z} {
			if !(math.Abs(v) < 1e8) { // coordinates of UTM are less
				return
			}
			values[i] = int(math.Round(v / unit))
		}
		out.Points++
		if len(out.Boxes) < mostBoxes {
			out.Boxes = append(out.Boxes, values)
		}
	}
	switch c.Type {
	case "visualization_msgs/msg/MarkerArray":
		var m visualization_msgs.MarkerArray
		return b.newClouds(func(payload []byte, out *Cloud) error {
			if err := cdr.Unmarshal(payload, &m); err != nil {
				return err
			}
			for i := range m.Markers {
				o := &m.Markers[i]
				out.Frame = o.Header.FrameId
				if o.Type == visualization_msgs.Marker_CUBE && o.Action == visualization_msgs.Marker_ADD {
					box(out, o.Pose, o.Scale)
				}
			}
			return nil
		})
	case "vision_msgs/msg/Detection3DArray":
		var m vision_msgs.Detection3DArray
		return b.newClouds(func(payload []byte, out *Cloud) error {
			if err := cdr.Unmarshal(payload, &m); err != nil {
				return err
			}
			out.Frame = m.Header.FrameId
			for i := range m.Detections {
				box(out, m.Detections[i].Bbox.Center, m.Detections[i].Bbox.Size)
			}
			return nil
		})
	}
	return nil
}

func (c *clouds) add(m *codec.Message, at float64) error {
	slot := min(int(c.builder.density.at(m.LogTime)*mostClouds), mostClouds-1)
	if slot < c.next {
		return nil
	}
	c.next = slot + 1
	cloud := Cloud{Topic: m.Channel.Topic, At: at, Scale: unit, since: c.builder.now}
	if err := c.read(m.Data, &cloud); err != nil {
		return err
	}
	if cloud.Points > 0 {
		c.list = append(c.list, cloud)
	}
	return nil
}
