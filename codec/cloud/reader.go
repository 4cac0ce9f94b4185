package cloud

import (
	"encoding/binary"
	"math"

	"tapedeck/codec/cdr"
	"tapedeck/msgs/sensor_msgs"
)

// Reader reads the points of messages of one type.
type Reader struct {
	scans  bool
	cloud  sensor_msgs.PointCloud2
	scan   sensor_msgs.LaserScan
	points points
}

// NewReader returns nil if the type, such as sensor_msgs/msg/LaserScan, has no points.
func NewReader(typeName string) *Reader {
	if typeName != typeCloud && typeName != typeScan {
		return nil
	}
	return &Reader{scans: typeName == typeScan}
}

// Read returns the number of points in a payload. Each visits them until the next Read.
func (r *Reader) Read(payload []byte) (int, error) {
	if r.scans {
		if err := cdr.Unmarshal(payload, &r.scan); err != nil {
			return 0, err
		}
		r.points.setScan(&r.scan)
	} else {
		if err := cdr.Unmarshal(payload, &r.cloud); err != nil {
			return 0, err
		}
		if err := r.points.setCloud(&r.cloud); err != nil {
			return 0, err
		}
	}
	return r.points.width * r.points.height, nil
}

// Frame returns the frame of the coordinates.
func (r *Reader) Frame() string {
	if r.scans {
		return r.scan.Header.FrameId
	}
	return r.cloud.Header.FrameId
}

// Each calls visit with the coordinates of each point in m, NaN where it has none, and its intensity, NaN likewise.
func (r *Reader) Each(visit func(x, y, z, intensity float64)) {
	var get [4]func(point []byte) float64
	for i, name := range []string{"x", "y", "z", "intensity"} {
		get[i] = func([]byte) float64 { return math.NaN() }
		for f := range r.points.fields {
			if r.points.fields[f].name == name {
				get[i] = r.number(&r.points.fields[f])
			}
		}
	}
	r.points.each(func(point []byte) { visit(get[0](point), get[1](point), get[2](point), get[3](point)) })
}

// number returns what reads the first number of a field.
func (r *Reader) number(f *field) func(point []byte) float64 {
	var order binary.ByteOrder = binary.LittleEndian
	if r.points.big {
		order = binary.BigEndian
	}
	at := f.offset
	switch {
	case f.pcd == 'F' && f.size == 4:
		return func(p []byte) float64 { return float64(math.Float32frombits(order.Uint32(p[at:]))) }
	case f.pcd == 'F':
		return func(p []byte) float64 { return math.Float64frombits(order.Uint64(p[at:])) }
	case f.size == 1:
		return func(p []byte) float64 { return float64(p[at]) }
	case f.size == 2:
		return func(p []byte) float64 { return float64(order.Uint16(p[at:])) }
	case f.size == 4:
		return func(p []byte) float64 { return float64(order.Uint32(p[at:])) }
	}
	return func(p []byte) float64 { return float64(order.Uint64(p[at:])) }
}
