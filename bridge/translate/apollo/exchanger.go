package apollo

import (
	"math"

	"google.golang.org/protobuf/reflect/protoreflect"

	"tapedeck/msgs"
	"tapedeck/msgs/geometry_msgs"
	"tapedeck/msgs/std_msgs"
)

// exchanger copies fields between an Apollo message and a ROS 2 message, in either direction. Each of its methods
// exchanges one field: with toROS2 it sets the ROS 2 value, else it writes the Apollo field.
//
// It finds fields of Apollo by name. Fields that the descriptor does not have read as zero and are not written. Unknown
// numbers, NaN in Apollo, read as zero.
type exchanger struct {
	toROS2    bool            // the direction
	in        message         // with toROS2: Apollo's message
	extra     *[]msgs.Message // with toROS2: messages for pair.extraTargets, in the order of the targets
	out       *fieldWriter    // without toROS2: writes Apollo's message
	*outgoing                 // without toROS2: counts losses
}

// message exchanges a field that is a message. exchangeFields exchanges the fields of that message.
func (x exchanger) message(name string, exchangeFields func(x exchanger)) {
	if x.toROS2 {
		x.in = x.in.sub(name)
		exchangeFields(x)
		return
	}
	x.out.message(name, func() { exchangeFields(x) })
}

// elements exchanges a repeated message field. exchangeFields exchanges the fields of element i.
func elements[T any](x exchanger, name string, list *[]T, exchangeFields func(x exchanger, i int)) {
	if !x.toROS2 {
		for i := range *list {
			x.message(name, func(x exchanger) { exchangeFields(x, i) })
		}
		return
	}
	occurrences, count := x.in.occurrences(name, protoreflect.MessageKind)
	*list = make([]T, count)
	if count == 0 {
		return
	}
	top, opened, losses := len(x.in.stack), len(x.in.opened), x.in.losses.field(occurrences.field)
	for i := 0; occurrences.next(); i++ {
		_, _, _, content := occurrences.read()
		x.in = x.in.message(occurrences.field.message, content, losses)
		exchangeFields(x, i)
		x.in.close(opened)
		x.in.stack = x.in.stack[:top] // for the next element
	}
}

// exchangeField exchanges a field with the functions read and write.
func exchangeField[T any](
	x exchanger, name string, v *T, read func(message, string) T, write func(*fieldWriter, string, T),
) {
	if x.toROS2 {
		*v = read(x.in, name)
	} else {
		write(x.out, name, *v)
	}
}

func (x exchanger) number(name string, v *float64) {
	exchangeField(x, name, v, message.numberOrZero, (*fieldWriter).number)
}

func (x exchanger) bool(name string, v *bool) {
	exchangeField(x, name, v, message.bool, (*fieldWriter).bool)
}

func (x exchanger) text(name string, v *string) {
	exchangeField(x, name, v, message.text, (*fieldWriter).text)
}

func (x exchanger) bytes(name string, v *[]byte) {
	exchangeField(x, name, v, message.bytes, (*fieldWriter).bytes)
}

// vector exchanges a Point3D or PointENU.
func (x exchanger) vector(name string, v *geometry_msgs.Vector3) {
	exchangeField(x, name, v, message.vector, (*fieldWriter).vector)
}

func (x exchanger) orientation(name string, q *geometry_msgs.Quaternion) {
	exchangeField(x, name, q, message.orientation, (*fieldWriter).orientation)
}

// scaled exchanges a number that is unit times as large in Apollo.
func (x exchanger) scaled(name string, v *float32, unit float64) {
	if x.toROS2 {
		*v = float32(x.in.numberOrZero(name) / unit)
	} else {
		x.out.number(name, unit*float64(*v))
	}
}

// variance exchanges a variance, which is a standard deviation in Apollo.
func (x exchanger) variance(name string, v *float32) {
	if x.toROS2 {
		deviation := x.in.numberOrZero(name)
		*v = float32(deviation * deviation)
	} else {
		x.out.number(name, math.Sqrt(float64(*v)))
	}
}

func (x exchanger) uint32(name string, v *uint32) {
	if x.toROS2 {
		*v = uint32(x.in.uint(name))
	} else {
		x.out.integer(name, int64(*v))
	}
}

// vehicleVector exchanges a vector in the frame of the vehicle.
func (x exchanger) vehicleVector(name string, v *geometry_msgs.Vector3) {
	if x.toROS2 {
		*v = toFLU(x.in.vector(name))
	} else {
		x.out.vector(name, toRFU(*v))
	}
}

// yaw exchanges an orientation. Apollo keeps only its yaw.
func (x exchanger) yaw(name string, q *geometry_msgs.Quaternion) {
	if x.toROS2 {
		*q = rotationAbout(2, x.in.numberOrZero(name))
	} else {
		x.out.number(name, yaw(*q))
	}
}

// deviation exchanges a 3 by 3 block of a covariance in the frame with the orientation q. Apollo has standard
// deviations along the axes of the world.
func (x exchanger) deviation(name string, covariance *[36]float64, block int, q geometry_msgs.Quaternion) {
	if x.toROS2 {
		addCovariance(covariance, block, x.in.vector(name), q)
		return
	}
	deviation, correlated := deviations(covariance, block, q)
	x.out.vector(name, deviation)
	x.lose(correlated, "covariances between axes")
}

// header exchanges the header. defaultFrame is the frame of messages that name none. stampField is the Apollo field
// that also keeps the stamp, in ns; "" for none. Reading tries all such fields.
func (x exchanger) header(h *std_msgs.Header, defaultFrame string, stampField string) {
	if x.toROS2 {
		*h = x.in.header(defaultFrame)
		return
	}
	x.outgoing.header(x.out, h, stampField)
}

// header writes a header. stampField is the Apollo field that also keeps the stamp, in ns; "" for none.
func (r *outgoing) header(w *fieldWriter, h *std_msgs.Header, stampField string) {
	w.message("header", func() {
		ns := h.Stamp.Nanoseconds()
		w.number("timestamp_sec", seconds(ns))
		w.integer("sequence_num", int64(r.sequence))
		if stampField != "" {
			w.integer(stampField, ns)
		}
		w.text("frame_id", h.FrameId)
	})
}

// measurementTime writes the stamp as measurement_time, in s since the Unix epoch. Reading ignores measurement_time and
// uses the header.
func (x exchanger) measurementTime(h *std_msgs.Header) {
	if !x.toROS2 {
		x.out.number("measurement_time", seconds(h.Stamp.Nanoseconds()))
	}
}

// frameID writes the frame_id that some messages also have outside of the header. Reading is done by the method header.
func (x exchanger) frameID(h *std_msgs.Header) {
	if !x.toROS2 {
		x.out.text("frame_id", h.FrameId)
	}
}
