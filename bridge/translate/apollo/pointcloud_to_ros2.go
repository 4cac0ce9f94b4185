package apollo

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"tapedeck/codec"
	"tapedeck/msgs"
	"tapedeck/msgs/sensor_msgs"
)

// pointField is a field of a point of a cloud, in Protocol Buffers and in PointCloud2.
type pointField struct {
	kind     protoreflect.Kind
	offset   int
	datatype uint8
	unit     float64 // factor from the number in Protocol Buffers to the number in PointCloud2
}

// pointLayout is the layout of the points of a cloud in PointCloud2.
type pointLayout struct {
	byNumber byNumber[pointField]
	fields   []sensor_msgs.PointField
	blank    []byte // a point with no field set
}

// layoutOf returns the layout of most clouds of ROS: x, y, z and intensity as float32, then the other fields. Times in
// ns become float64 in s, because PointCloud2 has no 64-bit integers.
func layoutOf(d protoreflect.MessageDescriptor) *pointLayout {
	l := new(pointLayout)
	for _, name := range []protoreflect.Name{"x", "y", "z", "intensity"} {
		if f := d.Fields().ByName(name); f != nil {
			l.add(f, sensor_msgs.PointField_FLOAT32, 4)
		}
	}
	for i := range d.Fields().Len() {
		f := d.Fields().Get(i)
		if l.byNumber.get(f.Number()) != nil || f.IsList() {
			continue
		}
		switch f.Kind() {
		case protoreflect.Uint64Kind, protoreflect.Int64Kind, protoreflect.DoubleKind:
			l.add(f, sensor_msgs.PointField_FLOAT64, 8)
		case protoreflect.FloatKind:
			l.add(f, sensor_msgs.PointField_FLOAT32, 4)
		case protoreflect.Uint32Kind, protoreflect.BoolKind:
			l.add(f, sensor_msgs.PointField_UINT32, 4)
		case protoreflect.Int32Kind, protoreflect.EnumKind:
			l.add(f, sensor_msgs.PointField_INT32, 4)
		}
	}
	return l
}

// add adds a field at the next offset that is a multiple of size.
func (l *pointLayout) add(f protoreflect.FieldDescriptor, datatype uint8, size int) {
	for len(l.blank)%size != 0 {
		l.blank = append(l.blank, 0)
	}
	p := &pointField{kind: f.Kind(), offset: len(l.blank), datatype: datatype, unit: 1}
	if (f.Kind() == protoreflect.Uint64Kind || f.Kind() == protoreflect.Int64Kind) &&
		strings.Contains(string(f.Name()), "time") {
		p.unit = 1e-9
	}
	l.blank = append(l.blank, make([]byte, size)...)
	if f.Kind() == protoreflect.FloatKind || f.Kind() == protoreflect.DoubleKind {
		p.put(l.blank, f.Default().Float())
	}
	l.byNumber.set(f.Number(), p)
	l.fields = append(l.fields, sensor_msgs.PointField{Name: string(f.Name()), Offset: uint32(p.offset),
		Datatype: datatype, Count: 1})
}

// cloudBuffer is the memory in which pointCloud builds a cloud.
type cloudBuffer struct {
	rest   []byte // the encoded message without the points
	points []byte
}

var cloudBuffers = sync.Pool{New: func() any { return new(cloudBuffer) }}

// pointCloud translates a cloud without decoding a message for each point.
func pointCloud(r *parser, p *plan, original *codec.Message, losses *fieldLoss, emit func(int, msgs.Message)) error {
	points := p.find("point", 0)
	if points == nil || points.kind != protoreflect.MessageKind || !points.list {
		return fmt.Errorf("%s has no points", p.descriptor.FullName())
	}
	l := layoutOf(points.descriptor.Message())
	losses.open(p)
	losses.fields[points.index].open(points.message)
	buffer := cloudBuffers.Get().(*cloudBuffer)
	defer cloudBuffers.Put(buffer)
	rest, cloud := buffer.rest[:0], buffer.points[:0]
	lose := func(number protowire.Number, bits uint64, content []byte) {
		if f := points.message.byNumber.get(number); f == nil {
			r.lost.add(losses.undescribed())
		} else if bits != 0 || len(content) > 0 {
			r.lost.add(losses.fields[points.index].fields[f.index].counter())
		}
	}
	for b := original.Data; len(b) > 0; {
		number, kind, n := consumeTag(b)
		if n < 0 {
			return fmt.Errorf("at byte %d: %w", len(original.Data)-len(b), parseError(n))
		}
		size := protowire.ConsumeFieldValue(number, kind, b[n:])
		if size < 0 {
			return fmt.Errorf("at byte %d: %w", len(original.Data)-len(b), parseError(size))
		}
		if number == points.number && kind == protowire.BytesType {
			point, _ := protowire.ConsumeBytes(b[n:])
			var err error
			cloud, err = l.append(cloud, point, lose)
			if err != nil {
				return fmt.Errorf("a point at byte %d: %w", len(original.Data)-len(b), err)
			}
		} else {
			rest = append(rest, b[:n+size]...)
		}
		b = b[n+size:]
	}
	buffer.rest, buffer.points = rest, cloud
	m := r.begin(p, rest, original.LogTime, losses)
	out := &sensor_msgs.PointCloud2{
		Header: m.header(""), Width: uint32(m.uint("width")), Height: uint32(m.uint("height")),
		Fields: l.fields, PointStep: uint32(len(l.blank)), Data: cloud, IsDense: m.bool("is_dense"),
	}
	count := len(cloud) / max(1, len(l.blank))
	if uint64(out.Width)*uint64(out.Height) != uint64(count) {
		out.Width, out.Height = uint32(count), 1
	}
	out.RowStep = out.Width * out.PointStep
	if r.damage != nil {
		return r.damage
	}
	r.close(0)
	emit(0, out)
	return nil
}

// append appends an encoded point to a cloud. It calls lose for values that the layout does not have.
func (l *pointLayout) append(
	cloud, point []byte, lose func(number protowire.Number, bits uint64, content []byte),
) ([]byte, error) {
	at := len(cloud)
	cloud = append(cloud, l.blank...)
	for len(point) > 0 {
		number, kind, n := consumeTag(point)
		if n < 0 {
			return nil, parseError(n)
		}
		bits, content, size := consume(number, kind, point[n:])
		if size < 0 {
			return nil, parseError(size)
		}
		if f := l.byNumber.get(number); f != nil {
			if kind != numberKinds[f.kind].wire {
				return nil, fmt.Errorf("a value of wire type %d in a field of kind %v", kind, f.kind)
			}
			f.convert(cloud[at:], bits)
		} else {
			lose(number, bits, content)
		}
		point = point[n+size:]
	}
	return cloud, nil
}

// convert puts an encoded value into a point.
func (f *pointField) convert(point []byte, bits uint64) {
	switch f.kind {
	case protoreflect.FloatKind:
		binary.LittleEndian.PutUint32(point[f.offset:], uint32(bits))
	case protoreflect.DoubleKind:
		f.put(point, math.Float64frombits(bits))
	case protoreflect.Uint64Kind:
		f.put(point, float64(bits)*f.unit)
	case protoreflect.Int64Kind:
		f.put(point, float64(int64(bits))*f.unit)
	case protoreflect.Uint32Kind, protoreflect.BoolKind:
		f.put(point, float64(uint32(bits)))
	case protoreflect.Int32Kind, protoreflect.EnumKind:
		f.put(point, float64(int32(bits)))
	}
}

// put writes a value with the datatype of the field.
func (f *pointField) put(point []byte, v float64) {
	switch to := point[f.offset:]; f.datatype {
	case sensor_msgs.PointField_FLOAT32:
		binary.LittleEndian.PutUint32(to, math.Float32bits(float32(v)))
	case sensor_msgs.PointField_FLOAT64:
		binary.LittleEndian.PutUint64(to, math.Float64bits(v))
	case sensor_msgs.PointField_UINT32:
		binary.LittleEndian.PutUint32(to, uint32(v))
	case sensor_msgs.PointField_INT32:
		binary.LittleEndian.PutUint32(to, uint32(int32(v)))
	}
}
