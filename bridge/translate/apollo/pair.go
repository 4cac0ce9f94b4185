package apollo

import (
	"math"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/msgs"
	"tapedeck/msgs/geometry_msgs"
	"tapedeck/msgs/sensor_msgs"
	"tapedeck/msgs/std_msgs"
)

// pair is an Apollo type and the ROS 2 type that its messages become.
type pair struct {
	apollo, ros string   // full names of the types
	suffix      string   // suffix of the ROS 2 topic
	also        []target // further ROS 2 messages that are made from an Apollo message
	lossy       bool     // fields without a counterpart in ROS 2 are lost, because there is no generated message
	// fits reports whether the messages of a ROS 2 channel become the Apollo type; nil means always.
	fits   func(t *fromROS2, c *codec.Channel) bool
	oneWay bool // messages are translated to ROS 2 only

	targets []target // all ROS 2 messages that are made from an Apollo message; the generated message is last
	// toROS2 translates a message of Apollo. Fields that it does not read are lost, unless losses is nil.
	toROS2 func(r *parser, p *plan, original *codec.Message, losses *fieldLoss,
		emit func(target int, m msgs.Message)) error
	fromROS2 func(*outgoing, *plan) translation
}

// target is a ROS 2 message that is made from an Apollo message.
type target struct {
	topic    string // absolute topic, or a suffix of Apollo's topic
	typeName string // a ROS 2 type, or generated
}

const (
	// generated as a typeName means the type that is generated from the Apollo type.
	generated = ""
	// whole is the suffix of a generated message's topic if another message is on Apollo's topic.
	whole = "_whole"
)

// unmapped is the pair of all Apollo types without a counterpart in ROS 2.
var unmapped = &pair{targets: []target{{"", generated}}}

// Full names of types that are used outside of the table.
const (
	imuType          = "apollo.drivers.gnss.Imu"
	correctedIMUType = "apollo.localization.CorrectedImu"
	pointCloudType   = "apollo.drivers.PointCloud"
)

// pairs lists all pairs. For a ROS 2 type, the first pair that fits applies. Apollo types that are written must be in
// the folder proto, with the fields that are written.
var pairs = []*pair{
	newPair(correctedIMU, pair{apollo: correctedIMUType, fits: isCorrectedIMU, lossy: true}),
	newPair(imu, pair{apollo: imuType, lossy: true}),
	newPair(gps, pair{apollo: "apollo.localization.Gps", fits: isGPS}),
	newPair(localization, pair{
		apollo: "apollo.localization.LocalizationEstimate", also: []target{{"/tf", "tf2_msgs/msg/TFMessage"}},
	}),
	newPair(bestPose, pair{apollo: "apollo.drivers.gnss.GnssBestPose"}),
	newPair(gnss, pair{
		apollo: "apollo.drivers.gnss.Gnss", also: []target{{"_velocity",
			"geometry_msgs/msg/TwistWithCovarianceStamped"}},
		oneWay: true, // GnssBestPose has more fields
	}),
	{
		apollo: pointCloudType, ros: "sensor_msgs/msg/PointCloud2", lossy: true,
		targets: []target{{"", "sensor_msgs/msg/PointCloud2"}}, toROS2: pointCloud, fromROS2: pointCloudOf,
	},
	newPair(image, pair{apollo: "apollo.drivers.Image", lossy: true}),
	newPair(compressedImage, pair{apollo: "apollo.drivers.CompressedImage", lossy: true}),
	newPair(transforms, pair{apollo: "apollo.transform.TransformStampeds", lossy: true}),
	newPair(chassis, pair{apollo: "apollo.canbus.Chassis", suffix: "_twist", fits: isChassis}),
	newPair(trajectory, pair{apollo: "apollo.planning.ADCTrajectory"}),
	newPair(obstacles, pair{
		apollo: "apollo.perception.PerceptionObstacles",
		also:   []target{{"_markers", "visualization_msgs/msg/MarkerArray"}},
	}),
	newPair(radar, pair{apollo: "apollo.drivers.ContiRadar"}),
	newPair(control, pair{apollo: "apollo.control.ControlCommand"}),
}

// pairOf returns the pair of an Apollo type, or nil if there is none.
func pairOf(apollo string) *pair {
	i := slices.IndexFunc(pairs, func(p *pair) bool { return p.apollo == apollo })
	if i < 0 {
		return nil
	}
	return pairs[i]
}

// pairBetween returns the pair from a ROS 2 type to an Apollo type, or nil if there is none.
func pairBetween(ros, apollo string) *pair {
	if p := pairOf(apollo); p != nil && p.ros == ros && !p.oneWay {
		return p
	}
	return nil
}

// pairFor returns the pair for a ROS 2 channel, or nil if there is none.
func (t *fromROS2) pairFor(c *codec.Channel) *pair {
	i := slices.IndexFunc(pairs, func(p *pair) bool {
		return p.ros == c.Type && !p.oneWay && (p.fits == nil || p.fits(t, c))
	})
	if i < 0 {
		return nil
	}
	return pairs[i]
}

// newPair completes a pair. fields exchanges the fields of its messages in both directions.
func newPair[T any, P interface {
	*T
	msgs.Message
}](fields func(x exchange, m P), p pair) *pair {
	p.ros = P(new(T)).TypeName()
	p.targets = append([]target{{p.suffix, p.ros}}, p.also...)
	switch {
	case p.lossy:
	case p.suffix == "":
		p.targets = append(p.targets, target{whole, generated})
	default:
		p.targets = append(p.targets, target{"", generated})
	}
	p.toROS2 = func(r *parser, plan *plan, original *codec.Message, losses *fieldLoss,
		emit func(int, msgs.Message)) error {
		m := P(new(T))
		var also []msgs.Message
		fields(exchange{toROS2: true, in: r.begin(plan, original.Data, original.LogTime, losses), also: &also}, m)
		if r.damage != nil {
			return r.damage
		}
		r.close(0)
		emit(0, m)
		for i, further := range also {
			emit(1+i, further)
		}
		return nil
	}
	p.fromROS2 = func(r *outgoing, plan *plan) translation {
		m, w := P(new(T)), new(fieldWriter)
		return func(out, payload []byte) ([]byte, error) {
			if err := cdr.Unmarshal(payload, m); err != nil {
				return out, err
			}
			w.out, w.plan, w.next = out, plan, 0
			fields(exchange{out: w, outgoing: r}, m)
			return w.out, nil
		}
	}
	return &p
}

// isCorrectedIMU reports whether a channel has orientations, by its topic or its first message.
func isCorrectedIMU(t *fromROS2, c *codec.Channel) bool {
	if strings.Contains(c.Topic, "corrected") {
		return true
	}
	var m sensor_msgs.Imu
	return cdr.Unmarshal(t.first(c), &m) == nil && hasOrientation(&m)
}

func isGPS(_ *fromROS2, c *codec.Channel) bool {
	return strings.Contains(c.Topic, "gnss") || strings.Contains(c.Topic, "gps")
}

func isChassis(_ *fromROS2, c *codec.Channel) bool {
	return strings.HasSuffix(c.Topic, "_twist") && len(c.Topic) > len("/_twist")
}

// exchange copies fields between an Apollo message and a ROS 2 message, in either direction. It finds fields of Apollo
// by name. Fields that the descriptor does not have read as zero and are not written. Unknown numbers, NaN in Apollo,
// read as zero.
type exchange struct {
	toROS2 bool
	in     message         // with toROS2: Apollo's message
	also   *[]msgs.Message // with toROS2: the messages of pair.also are appended to it
	out    *fieldWriter    // without toROS2: writes Apollo's message
	*outgoing
}

// message exchanges the fields of a message in the message.
func (x exchange) message(name string, fields func(x exchange)) {
	if x.toROS2 {
		x.in = x.in.sub(name)
		fields(x)
		return
	}
	x.out.message(name, func() { fields(x) })
}

// elements exchanges the elements of a repeated message. fields exchanges the fields of element i.
func elements[T any](x exchange, name string, all *[]T, fields func(x exchange, i int)) {
	if !x.toROS2 {
		for i := range *all {
			x.message(name, func(x exchange) { fields(x, i) })
		}
		return
	}
	list, count := x.in.occurrences(name, protoreflect.MessageKind)
	*all = make([]T, count)
	if count == 0 {
		return
	}
	top, opened, losses := len(x.in.stack), len(x.in.opened), x.in.losses.field(list.field)
	for i := 0; list.next(); i++ {
		_, _, _, content := list.read()
		x.in = x.in.message(list.field.message, content, losses)
		fields(x, i)
		x.in.close(opened)
		x.in.stack = x.in.stack[:top] // for the next element
	}
}

// exchangeField exchanges a field with the functions read and write.
func exchangeField[T any](
	x exchange, name string, v *T, read func(message, string) T, write func(*fieldWriter, string, T),
) {
	if x.toROS2 {
		*v = read(x.in, name)
	} else {
		write(x.out, name, *v)
	}
}

func (x exchange) number(name string, v *float64) {
	exchangeField(x, name, v, message.known, (*fieldWriter).number)
}

func (x exchange) bool(name string, v *bool) {
	exchangeField(x, name, v, message.bool, (*fieldWriter).bool)
}

func (x exchange) text(name string, v *string) {
	exchangeField(x, name, v, message.text, (*fieldWriter).text)
}

func (x exchange) bytes(name string, v *[]byte) {
	exchangeField(x, name, v, message.bytes, (*fieldWriter).bytes)
}

// vector exchanges a Point3D or PointENU.
func (x exchange) vector(name string, v *geometry_msgs.Vector3) {
	exchangeField(x, name, v, message.vector, (*fieldWriter).vector)
}

func (x exchange) orientation(name string, q *geometry_msgs.Quaternion) {
	exchangeField(x, name, q, message.orientation, (*fieldWriter).orientation)
}

// scaled exchanges a number that is unit times as large in Apollo.
func (x exchange) scaled(name string, v *float32, unit float64) {
	if x.toROS2 {
		*v = float32(x.in.known(name) / unit)
	} else {
		x.out.number(name, unit*float64(*v))
	}
}

// variance exchanges a variance, which is a standard deviation in Apollo.
func (x exchange) variance(name string, v *float32) {
	if x.toROS2 {
		deviation := x.in.known(name)
		*v = float32(deviation * deviation)
	} else {
		x.out.number(name, math.Sqrt(float64(*v)))
	}
}

func (x exchange) uint32(name string, v *uint32) {
	if x.toROS2 {
		*v = uint32(x.in.uint(name))
	} else {
		x.out.integer(name, int64(*v))
	}
}

// vehicleVector exchanges a vector in the frame of the vehicle.
func (x exchange) vehicleVector(name string, v *geometry_msgs.Vector3) {
	if x.toROS2 {
		*v = toFLU(x.in.vector(name))
	} else {
		x.out.vector(name, toRFU(*v))
	}
}

// yaw exchanges an orientation. Apollo keeps only its yaw.
func (x exchange) yaw(name string, q *geometry_msgs.Quaternion) {
	if x.toROS2 {
		*q = about(2, x.in.known(name))
	} else {
		x.out.number(name, yaw(*q))
	}
}

// deviation exchanges a 3 by 3 block of a covariance in the frame with the orientation q. Apollo has standard
// deviations along the axes of the world.
func (x exchange) deviation(name string, covariance *[36]float64, block int, q geometry_msgs.Quaternion) {
	if x.toROS2 {
		addCovariance(covariance, block, x.in.vector(name), q)
		return
	}
	deviation, more := deviations(covariance, block, q)
	x.out.vector(name, deviation)
	x.lose(more, "covariances between axes")
}

// header exchanges the header. frame is the default of the frame. sensor is the field that keeps the stamp in ns, or
// ""; reading tries all such fields.
func (x exchange) header(h *std_msgs.Header, frame string, sensor string) {
	if x.toROS2 {
		*h = x.in.header(frame)
		return
	}
	x.outgoing.header(x.out, h, sensor)
}

// header writes a header. sensor is the field that keeps the stamp in ns, or "".
func (r *outgoing) header(w *fieldWriter, h *std_msgs.Header, sensor string) {
	w.message("header", func() {
		ns := h.Stamp.Nanoseconds()
		w.number("timestamp_sec", seconds(ns))
		w.integer("sequence_num", int64(r.sequence))
		if sensor != "" {
			w.integer(sensor, ns)
		}
		w.text("frame_id", h.FrameId)
	})
}

// measured writes the stamp as measurement_time, in s since the Unix epoch. Reading ignores measurement_time and uses
// the header.
func (x exchange) measured(h *std_msgs.Header) {
	if !x.toROS2 {
		x.out.number("measurement_time", seconds(h.Stamp.Nanoseconds()))
	}
}

// frameID writes the frame_id that some messages also have outside of their header. Reading is done by header.
func (x exchange) frameID(h *std_msgs.Header) {
	if !x.toROS2 {
		x.out.text("frame_id", h.FrameId)
	}
}
