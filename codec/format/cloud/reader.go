package cloud

import (
	"math"
	"slices"

	"tapedeck/codec/encoding/cdr"
	"tapedeck/msgs/sensor_msgs"
)

// Reader reads the points in messages of one type.
type Reader struct {
	scans  bool
	cloud  sensor_msgs.PointCloud2
	scan   sensor_msgs.LaserScan
	points points
}

// NewReader returns a reader for a type such as sensor_msgs/msg/LaserScan, nil if the type has no points.
func NewReader(typeName string) *Reader {
	if typeName != typeCloud && typeName != typeScan {
		return nil
	}
	return &Reader{scans: typeName == typeScan}
}

// Read reads the points of a payload and returns their number. Each visits them.
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

// Each calls visit with the coordinates, in m, and the intensity of each point. A value that the points lack is NaN.
func (r *Reader) Each(visit func(x, y, z, intensity float64)) {
	var fields [4]*field // nil: the points lack the field
	for i, name := range []string{"x", "y", "z", "intensity"} {
		if k := slices.IndexFunc(r.points.fields, func(f field) bool { return f.name == name }); k >= 0 {
			fields[i] = &r.points.fields[k]
		}
	}
	r.points.each(func(point []byte) {
		v := [4]float64{math.NaN(), math.NaN(), math.NaN(), math.NaN()}
		for i, f := range fields {
			if f != nil {
				v[i] = r.points.number(point, f)
			}
		}
		visit(v[0], v[1], v[2], v[3])
	})
}
