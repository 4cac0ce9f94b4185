package apollo

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	"tapedeck/codec/encoding/cdr"
	"tapedeck/codec/text/plural"
	"tapedeck/msgs/sensor_msgs"
)

// firstVendorField is the number of the first field that describePoints adds to Apollo's points.
const firstVendorField = 16

// describePoints adds fields of the recording's clouds to the schema, if Apollo's points do not have them. All clouds
// get one description, because readers accept only one description of a type.
func (t *fromROS2) describePoints() {
	if t.clouds {
		return
	}
	t.clouds = true
	var point *descriptorpb.DescriptorProto
	for _, f := range t.schema.File {
		for _, m := range f.MessageType {
			if f.GetPackage() == "apollo.drivers" && m.GetName() == "PointXYZIT" {
				point = m
			}
		}
	}
	added := map[string]*descriptorpb.FieldDescriptorProto{}
	for _, c := range t.cdrChannels() {
		var m sensor_msgs.PointCloud2
		if c.Type != m.TypeName() || c.Metadata[MetadataDescriptor] != "" ||
			cdr.Unmarshal(t.firstPayload(c), &m) != nil {
			continue
		}
		for _, f := range m.Fields {
			name := pointFieldName(f.Name)
			own := slices.ContainsFunc(point.Field[:5],
				func(f *descriptorpb.FieldDescriptorProto) bool { return f.GetName() == name })
			if !supported(&f) || !protoreflect.Name(name).IsValid() || own {
				continue
			}
			kind := pointDatatypes[f.Datatype].kind
			if field := added[name]; field != nil {
				if field.GetType() != kind {
					field.Type = descriptorpb.FieldDescriptorProto_TYPE_DOUBLE.Enum()
				}
				continue
			}
			added[name] = &descriptorpb.FieldDescriptorProto{
				Name: &name, Number: proto.Int32(int32(firstVendorField + len(added))), Type: kind.Enum(),
				Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(),
			}
			point.Field = append(point.Field, added[name])
		}
	}
}

// pointDatatypes lists the size in bytes and the type in Protocol Buffers of each datatype of a PointField.
var pointDatatypes = [...]struct {
	size int
	kind descriptorpb.FieldDescriptorProto_Type
}{
	sensor_msgs.PointField_INT8:    {1, descriptorpb.FieldDescriptorProto_TYPE_INT32},
	sensor_msgs.PointField_UINT8:   {1, descriptorpb.FieldDescriptorProto_TYPE_UINT32},
	sensor_msgs.PointField_INT16:   {2, descriptorpb.FieldDescriptorProto_TYPE_INT32},
	sensor_msgs.PointField_UINT16:  {2, descriptorpb.FieldDescriptorProto_TYPE_UINT32},
	sensor_msgs.PointField_INT32:   {4, descriptorpb.FieldDescriptorProto_TYPE_INT32},
	sensor_msgs.PointField_UINT32:  {4, descriptorpb.FieldDescriptorProto_TYPE_UINT32},
	sensor_msgs.PointField_FLOAT32: {4, descriptorpb.FieldDescriptorProto_TYPE_FLOAT},
	sensor_msgs.PointField_FLOAT64: {8, descriptorpb.FieldDescriptorProto_TYPE_DOUBLE},
}

// supported reports whether Apollo can hold a field of points. The field must be one number.
func supported(f *sensor_msgs.PointField) bool {
	return f.Count <= 1 && f.Datatype > 0 && int(f.Datatype) < len(pointDatatypes)
}

// pointFieldName returns Apollo's name for a field of points. Drivers have several names for the time.
func pointFieldName(name string) string {
	switch name {
	case "t", "time", "time_stamp", "offset_time", "time_offset":
		return "timestamp"
	}
	return name
}

// column is a field of the points of a cloud that becomes a field in Apollo.
type column struct {
	*planField
	offset   int
	datatype uint8
	tag      []byte
}

// cloudTranslation translates the clouds of a channel.
type cloudTranslation struct {
	*outgoing
	cloud   sensor_msgs.PointCloud2
	point   *planField // field of points; nil if the recording's clouds have no points
	columns []column
	fields  []sensor_msgs.PointField // fields of the cloud for which layOut set columns
	lost    []string                 // descriptions of the fields without a column
}

// pointCloudOf returns a translation of clouds to the Apollo type with the plan p.
func pointCloudOf(r *outgoing, p *plan) translation {
	c, w := &cloudTranslation{outgoing: r}, new(fieldWriter)
	if f := p.find("point", 0); f != nil && f.message != nil {
		c.point = f
	}
	return func(out, payload []byte) ([]byte, error) {
		m := &c.cloud
		if err := cdr.Unmarshal(payload, m); err != nil {
			return out, err
		}
		if c.point == nil {
			return out, fmt.Errorf("%s of the recording has no points", pointCloudType)
		}
		if err := c.layOut(); err != nil {
			return out, err
		}
		w.out, w.plan, w.next = out, p, 0
		r.header(w, &m.Header, "lidar_timestamp")
		w.text("frame_id", m.Header.FrameId)
		w.bool("is_dense", m.IsDense)
		w.number("measurement_time", seconds(m.Header.Stamp.Nanoseconds()))
		w.integer("width", int64(m.Width))
		w.integer("height", int64(m.Height))
		return c.points(w.out)
	}
}

// layOut sets the columns for the fields of the cloud, if they have changed.
func (c *cloudTranslation) layOut() error {
	if c.fields != nil && slices.Equal(c.fields, c.cloud.Fields) {
		return nil
	}
	c.fields, c.columns, c.lost = append(c.fields[:0], c.cloud.Fields...), c.columns[:0], nil
	for _, f := range c.fields {
		to := c.point.message.find(pointFieldName(f.Name), 0)
		duplicate := slices.ContainsFunc(c.columns, func(o column) bool { return o.planField == to })
		if to == nil || to.width == 0 || !supported(&f) || duplicate ||
			to.protoName == "timestamp" && to.kind != protoreflect.Uint64Kind {
			if f.Name != "_" && f.Name != "" { // else the field is padding
				c.lost = append(c.lost, fmt.Sprintf("field %s of the points", f.Name))
			}
			continue
		}
		size := pointDatatypes[f.Datatype].size
		if uint64(f.Offset)+uint64(size) > uint64(c.cloud.PointStep) {
			return fmt.Errorf("field %s of %s at %d lies outside of the point, which has %d", f.Name,
				plural.Count(size, "byte"), f.Offset, c.cloud.PointStep)
		}
		tag := protowire.AppendVarint(nil, to.tag)
		c.columns = append(c.columns, column{to, int(f.Offset), f.Datatype, tag})
	}
	slices.SortStableFunc(c.columns, func(a, b column) int { return cmp.Compare(a.number, b.number) })
	return nil
}

// points appends the points of the cloud.
func (c *cloudTranslation) points(out []byte) ([]byte, error) {
	m := &c.cloud
	if m.Width == 0 || m.Height == 0 {
		return out, nil
	}
	row := max(uint64(m.RowStep), uint64(m.Width)*uint64(m.PointStep)) // some drivers leave RowStep 0
	if m.PointStep == 0 || row > uint64(len(m.Data)) ||
		uint64(m.Height-1) > (uint64(len(m.Data))-uint64(m.Width)*uint64(m.PointStep))/row {
		return out, fmt.Errorf("%s cannot hold %s of %s of %s", plural.Count(len(m.Data), "byte"),
			plural.Count(m.Height, "row"), plural.Count(m.Width, "point"), plural.Count(m.PointStep, "byte"))
	}
	for _, lost := range c.lost {
		c.lose(true, lost)
	}
	stamp := m.Header.Stamp.Nanoseconds()
	tag := protowire.AppendVarint(nil, c.point.tag)
	inexact := false
	var swapped [8]byte
	b := slices.Grow(out, int(m.Height)*int(m.Width)*(len(tag)+1+8*len(c.columns)))
	for y := range uint64(m.Height) {
		for x := range uint64(m.Width) {
			point := m.Data[y*row+x*uint64(m.PointStep):][:m.PointStep]
			b = append(append(b, tag...), 0)
			start := len(b)
			for i := range c.columns {
				f := &c.columns[i]
				b = append(b, f.tag...)
				number := point[f.offset:][:pointDatatypes[f.datatype].size]
				if m.IsBigendian {
					number = swapped[:copy(swapped[:], number)] // m.Data must not change, because fields may overlap
					slices.Reverse(number)
				}
				if f.kind == protoreflect.FloatKind && f.datatype == sensor_msgs.PointField_FLOAT32 {
					b = append(b, number...)
					continue
				}
				v := f.value(number)
				if f.protoName == "timestamp" {
					b = protowire.AppendVarint(b, f.time(v, stamp))
					continue
				}
				var exact bool
				b, exact = f.append(b, v)
				inexact = inexact || !exact
			}
			b = closeLength(b, start)
		}
	}
	c.lose(inexact, "fractions and signs of point fields that are unsigned integers in Apollo")
	return b, nil
}

var le = binary.LittleEndian

// value reads the column's number in a point.
func (f *column) value(b []byte) float64 {
	switch f.datatype {
	case sensor_msgs.PointField_INT8:
		return float64(int8(b[0]))
	case sensor_msgs.PointField_UINT8:
		return float64(b[0])
	case sensor_msgs.PointField_INT16:
		return float64(int16(le.Uint16(b)))
	case sensor_msgs.PointField_UINT16:
		return float64(le.Uint16(b))
	case sensor_msgs.PointField_INT32:
		return float64(int32(le.Uint32(b)))
	case sensor_msgs.PointField_UINT32:
		return float64(le.Uint32(b))
	case sensor_msgs.PointField_FLOAT32:
		return float64(math.Float32frombits(le.Uint32(b)))
	}
	return math.Float64frombits(le.Uint64(b))
}

// append appends a number as the value of the Apollo field. exact reports whether the number kept its value.
func (f *column) append(b []byte, v float64) (_ []byte, exact bool) {
	switch f.kind {
	case protoreflect.DoubleKind:
		return protowire.AppendFixed64(b, math.Float64bits(v)), true
	case protoreflect.FloatKind:
		single := float32(v)
		return protowire.AppendFixed32(b, math.Float32bits(single)), float64(single) == v || v != v
	}
	lowest, highest := float64(math.MinInt32), float64(math.MaxInt32)
	switch f.kind {
	case protoreflect.Uint32Kind, protoreflect.Uint64Kind:
		lowest, highest = 0, math.MaxUint32
	case protoreflect.BoolKind:
		lowest, highest = 0, 1
	}
	rounded := math.RoundToEven(v)
	if !(rounded >= lowest) { // also for NaN
		rounded = lowest
	}
	rounded = min(rounded, highest)
	return f.appendNumber(b, uint64(int64(rounded))), rounded == v
}

// time returns the time of a point, in ns since the Unix epoch. Integers count ns from the stamp of the cloud. Floats
// count s from the stamp if they are small, and s or ns since the epoch if they are large.
func (f *column) time(v float64, stamp int64) uint64 {
	switch {
	case v != v:
		return 0
	case f.datatype != sensor_msgs.PointField_FLOAT32 && f.datatype != sensor_msgs.PointField_FLOAT64:
		return uint64(max(0, stamp+int64(v)))
	case v >= 1e17 && v < 1e19:
		return uint64(v)
	case v >= 1e8 && v < 1e10:
		return uint64(int64(v))*1e9 + uint64(math.Round((v-math.Floor(v))*1e9))
	case math.Abs(v) < 1e8:
		return uint64(max(0, stamp+int64(math.Round(v*1e9))))
	}
	return 0
}
