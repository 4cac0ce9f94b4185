package apollo

import (
	"math"
	"math/rand/v2"
	"reflect"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec/encoding/cdr"
	"tapedeck/msgs"
	"tapedeck/msgs/builtin_interfaces"
	"tapedeck/msgs/carla_msgs"
	"tapedeck/msgs/geometry_msgs"
	"tapedeck/msgs/nav_msgs"
	"tapedeck/msgs/radar_msgs"
	"tapedeck/msgs/sensor_msgs"
	"tapedeck/msgs/std_msgs"
	"tapedeck/msgs/tf2_msgs"
	"tapedeck/msgs/vision_msgs"
)

// generator makes random messages and fields of messages.
type generator struct{ *rand.Rand }

func (d generator) header() std_msgs.Header {
	return std_msgs.Header{
		Stamp:   builtin_interfaces.Time{Sec: 1 + d.Int32N(math.MaxInt32-1), Nanosec: d.Uint32N(1e9)},
		FrameId: []string{"a", "front", "velodyne128"}[d.IntN(3)],
	}
}

func (d generator) vector() geometry_msgs.Vector3 {
	return geometry_msgs.Vector3{X: 1e3 * d.NormFloat64(), Y: d.NormFloat64(), Z: 1e-3 * d.NormFloat64()}
}

func (d generator) turn() geometry_msgs.Quaternion {
	q := geometry_msgs.Quaternion{X: d.NormFloat64(), Y: d.NormFloat64(), Z: d.NormFloat64(), W: d.NormFloat64()}
	n := math.Sqrt(q.X*q.X + q.Y*q.Y + q.Z*q.Z + q.W*q.W)
	return geometry_msgs.Quaternion{X: q.X / n, Y: q.Y / n, Z: q.Z / n, W: q.W / n}
}

func (d generator) bytes() []byte {
	b := make([]byte, d.IntN(100))
	for i := range b {
		b[i] = byte(d.Uint32())
	}
	return b
}

// odometry returns a message. If certain is true, its covariances are variances along the axes of the world, which
// Apollo keeps.
func (d generator) odometry(certain bool) *nav_msgs.Odometry {
	m := &nav_msgs.Odometry{Header: d.header(), ChildFrameId: vehicleFrame}
	m.Pose.Pose = geometry_msgs.Pose{Position: geometry_msgs.Point(d.vector()), Orientation: d.turn()}
	m.Twist.Twist = geometry_msgs.Twist{Linear: d.vector(), Angular: d.vector()}
	if certain {
		addCovariance(&m.Pose.Covariance, linearBlock, d.vector(), identity)
		addCovariance(&m.Pose.Covariance, angularBlock, d.vector(), identity)
		addCovariance(&m.Twist.Covariance, linearBlock, d.vector(), m.Pose.Pose.Orientation)
		addCovariance(&m.Twist.Covariance, angularBlock, d.vector(), m.Pose.Pose.Orientation)
	}
	return m
}

func (d generator) cloud(points int) *sensor_msgs.PointCloud2 {
	m := &sensor_msgs.PointCloud2{Header: d.header(), Height: 1, Width: uint32(points), PointStep: 32,
		RowStep: 32 * uint32(points), IsDense: true}
	for i, name := range []string{"x", "y", "z", "intensity", "timestamp", "ring"} {
		f := sensor_msgs.PointField{Name: name, Offset: uint32(4 * i), Datatype: sensor_msgs.PointField_FLOAT32,
			Count: 1}
		switch name {
		case "timestamp":
			f.Datatype = sensor_msgs.PointField_FLOAT64
		case "ring":
			f.Offset, f.Datatype = 24, sensor_msgs.PointField_UINT32
		}
		m.Fields = append(m.Fields, f)
	}
	stamp := seconds(m.Header.Stamp.Nanoseconds()) + 1e8
	for i := range points {
		b := make([]byte, 32)
		for j := range 3 {
			v := float32(d.NormFloat64())
			if (i+j)%5 == 0 {
				v = float32(math.NaN())
			}
			le.PutUint32(b[4*j:], math.Float32bits(v))
		}
		le.PutUint32(b[12:], math.Float32bits(float32(d.IntN(256))))
		le.PutUint64(b[16:], math.Float64bits(stamp+d.Float64()/10))
		le.PutUint32(b[24:], d.Uint32N(128))
		m.Data = append(m.Data, b...)
	}
	return m
}

// TestThereAndBack translates messages of each pair to Apollo and back. The values stay equal, except that floats are
// rounded, and stamps to a facingNorth of a microsecond.
func TestThereAndBack(t *testing.T) {
	d := generator{rand.New(rand.NewPCG(3, 4))}
	for name, test := range map[string]struct {
		topic string
		make  func() msgs.Message
	}{
		"imu": {"/imu", func() msgs.Message {
			return &sensor_msgs.Imu{Header: d.header(), Orientation: identity, OrientationCovariance: [9]float64{-1},
				AngularVelocity: d.vector(), LinearAcceleration: d.vector()}
		}},
		"imu that is corrected": {"/imu", func() msgs.Message {
			return &sensor_msgs.Imu{Header: d.header(), Orientation: d.turn(), AngularVelocity: d.vector(),
				LinearAcceleration: d.vector()}
		}},
		"imu that looks up": {"/imu", func() msgs.Message {
			q := rotationAbout(2, d.NormFloat64()).Times(rotationAbout(1, -math.Pi/2))
			return &sensor_msgs.Imu{Header: d.header(), Orientation: q, AngularVelocity: d.vector(),
				LinearAcceleration: d.vector()}
		}},
		"odometry":                  {"/pose", func() msgs.Message { return d.odometry(false) }},
		"odometry with covariances": {"/pose", func() msgs.Message { return d.odometry(true) }},
		"gps":                       {"/gps/odometry", func() msgs.Message { return d.odometry(false) }},
		"fix": {"/fix", func() msgs.Message {
			m := &sensor_msgs.NavSatFix{Header: d.header(), Latitude: 90 * d.Float64(), Longitude: -180 * d.Float64(),
				Altitude: d.NormFloat64()}
			m.Status = sensor_msgs.NavSatStatus{Status: int8(d.IntN(4) - 1), Service: 1}
			if d.IntN(2) == 0 {
				v := d.vector()
				m.PositionCovariance = [9]float64{0: v.X * v.X, 4: v.Y * v.Y, 8: v.Z * v.Z}
				m.PositionCovarianceType = sensor_msgs.NavSatFix_COVARIANCE_TYPE_DIAGONAL_KNOWN
			}
			return m
		}},
		"cloud": {"/points", func() msgs.Message { return d.cloud(1 + d.IntN(50)) }},
		"image": {"/camera", func() msgs.Message {
			return &sensor_msgs.Image{Header: d.header(), Height: d.Uint32(), Width: d.Uint32(),
				Encoding: "yuv422_yuy2",
				Step:     d.Uint32(), Data: d.bytes()}
		}},
		"compressed image": {"/camera", func() msgs.Message {
			return &sensor_msgs.CompressedImage{Header: d.header(), Format: "jpeg", Data: d.bytes()}
		}},
		"transforms": {"/tf", func() msgs.Message {
			m := &tf2_msgs.TFMessage{}
			for range d.IntN(4) {
				m.Transforms = append(m.Transforms, geometry_msgs.TransformStamped{
					Header: d.header(), ChildFrameId: "b", Transform: geometry_msgs.Transform{Translation: d.vector(),
						Rotation: d.turn()},
				})
			}
			return m
		}},
		"path": {"/path", func() msgs.Message {
			m := &nav_msgs.Path{Header: d.header()}
			for range d.IntN(4) {
				h := m.Header
				h.Stamp = builtin_interfaces.TimeAt(h.Stamp.Nanoseconds()/2 + d.Int64N(1e15))
				m.Poses = append(m.Poses, geometry_msgs.PoseStamped{Header: h,
					Pose: geometry_msgs.Pose{Position: geometry_msgs.Point(d.vector()),
						Orientation: rotationAbout(2, d.NormFloat64())}})
			}
			return m
		}},
		"chassis": {"/chassis_twist", func() msgs.Message {
			return &geometry_msgs.TwistStamped{Header: d.header(),
				Twist: geometry_msgs.Twist{Linear: geometry_msgs.Vector3{X: d.NormFloat64()}}}
		}},
		"obstacles": {"/obstacles", func() msgs.Message {
			m := &vision_msgs.Detection3DArray{Header: d.header()}
			for range d.IntN(4) {
				o := vision_msgs.Detection3D{Header: m.Header, Id: strconv.Itoa(d.IntN(100))}
				o.Bbox.Center = geometry_msgs.Pose{Position: geometry_msgs.Point(d.vector()),
					Orientation: rotationAbout(2, d.NormFloat64())}
				o.Bbox.Size = geometry_msgs.Vector3{X: d.Float64(), Y: d.Float64(), Z: d.Float64()}
				score := d.Float64()
				for _, class := range []string{"VEHICLE", "ST_VAN"} {
					h := vision_msgs.ObjectHypothesisWithPose{Hypothesis: vision_msgs.ObjectHypothesis{ClassId: class,
						Score: score}}
					h.Pose.Pose = o.Bbox.Center
					h.Pose.Covariance[8] = 2
					o.Results = append(o.Results, h)
				}
				m.Detections = append(m.Detections, o)
			}
			return m
		}},
		"radar": {"/radar", func() msgs.Message {
			m := &radar_msgs.RadarTracks{Header: d.header()}
			for range d.IntN(4) {
				o := radar_msgs.RadarTrack{Classification: radarClasses[d.IntN(8)]}
				o.Uuid.Uuid[15] = uint8(d.Uint32())
				for _, v := range []*geometry_msgs.Vector3{(*geometry_msgs.Vector3)(&o.Position), &o.Velocity,
					&o.Acceleration,
					&o.Size} {
					*v = geometry_msgs.Vector3{X: d.NormFloat64(), Y: d.NormFloat64()}
				}
				for _, c := range []*[6]float32{&o.PositionCovariance, &o.VelocityCovariance,
					&o.AccelerationCovariance} {
					*c = [6]float32{0: d.Float32(), 3: d.Float32()}
				}
				m.Tracks = append(m.Tracks, o)
			}
			return m
		}},
		"control": {"/control", func() msgs.Message {
			m := &carla_msgs.CarlaEgoVehicleControl{Header: d.header(), Throttle: d.Float32(), Brake: d.Float32(),
				Steer: 2*d.Float32() - 1, HandBrake: d.IntN(2) == 0}
			m.Gear = d.Int32N(3) - 1
			m.Reverse = m.Gear < 0
			return m
		}},
	} {
		t.Run(name, func(t *testing.T) {
			r := singleMessage(t, test.topic, test.make())
			b := newRoundTrip(t, r, r.Messages[0].Channel)
			for range 100 {
				want := test.make()
				payload, err := cdr.Marshal(want)
				require.NoError(t, err)
				out, err := b.back(b.toProtobuf(t, payload))
				require.NoError(t, err)
				require.Len(t, out, 1)
				require.Equal(t, b.original, out[0].Channel)
				got := reflect.New(reflect.TypeOf(want).Elem()).Interface().(msgs.Message)
				require.NoError(t, cdr.Unmarshal(out[0].Data, got))
				requireNear(t, "", reflect.ValueOf(want).Elem(), reflect.ValueOf(got).Elem())
			}
			require.Empty(t, b.losses())
		})
	}
}

// requireNear compares values with the precision that Apollo keeps.
func requireNear(t *testing.T, path string, want, got reflect.Value) {
	t.Helper()
	switch v := want.Interface().(type) {
	case builtin_interfaces.Time:
		require.InDelta(t, v.Nanoseconds(), got.Interface().(builtin_interfaces.Time).Nanoseconds(), 600, path)
		return
	case geometry_msgs.Quaternion: // q and -q are equal rotations
		w := got.Interface().(geometry_msgs.Quaternion)
		require.InDelta(t, 1, math.Abs(v.X*w.X+v.Y*w.Y+v.Z*w.Z+v.W*w.W), 1e-6, path)
		return
	case sensor_msgs.PointCloud2:
		w := got.Interface().(sensor_msgs.PointCloud2)
		requireNear(t, path+".header", reflect.ValueOf(v.Header), reflect.ValueOf(w.Header))
		requireNearClouds(t, v, w)
		return
	}
	switch want.Kind() {
	case reflect.Struct:
		for i := range want.NumField() {
			requireNear(t, path+"."+want.Type().Field(i).Name, want.Field(i), got.Field(i))
		}
	case reflect.Slice, reflect.Array:
		require.Equal(t, want.Len(), got.Len(), path)
		for i := range want.Len() {
			requireNear(t, path, want.Index(i), got.Index(i))
		}
	case reflect.Float32, reflect.Float64:
		require.InDelta(t, want.Float(), got.Float(), 1e-6*max(1, math.Abs(want.Float())), path)
	default:
		require.Equal(t, want.Interface(), got.Interface(), path)
	}
}

// requireNearClouds compares clouds field by field. The offsets of fields may differ.
func requireNearClouds(t *testing.T, want, got sensor_msgs.PointCloud2) {
	t.Helper()
	require.Equal(t, []any{want.Width, want.Height, want.IsDense}, []any{got.Width, got.Height, got.IsDense})
	require.Len(t, got.Fields, len(want.Fields))
	for _, f := range want.Fields {
		for _, g := range got.Fields {
			if f.Name != g.Name {
				continue
			}
			for i := range want.Width {
				value := func(m sensor_msgs.PointCloud2, f sensor_msgs.PointField) float64 {
					c := column{datatype: f.Datatype}
					return c.value(m.Data[i*m.PointStep+f.Offset:])
				}
				a, b := value(want, f), value(got, g)
				if a == a || b == b {
					require.InDelta(t, a, b, 1e-6, f.Name)
				}
			}
		}
	}
}
