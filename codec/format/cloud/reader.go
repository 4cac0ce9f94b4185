package cloud

import (
	"math"
	"slices"

	"tapedeck/codec/encoding/cdr"
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
	var of [4]*field // nil: none
	for i, name := range []string{"x", "y", "z", "intensity"} {
		if k := slices.IndexFunc(r.points.fields, func(f field) bool { return f.name == name }); k >= 0 {
			of[i] = &r.points.fields[k]
		}
	}
	r.points.each(func(point []byte) {
		v := [4]float64{math.NaN(), math.NaN(), math.NaN(), math.NaN()}
		for i, f := range of {
			if f != nil {
				v[i] = r.points.number(point, f)
			}
		}
		visit(v[0], v[1], v[2], v[3])
	})
}
