package field

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec/encoding/cdr"
)

func TestNumbers(t *testing.T) {
	message := func(fields ...cdr.Field) *cdr.Struct { return &cdr.Struct{Fields: fields} }
	m := message(cdr.Field{Name: "header", Value: message(cdr.Field{Name: "seq", Value: uint32(1)})},
		cdr.Field{Name: "on", Value: true}, cdr.Field{Name: "name", Value: "x"},
		cdr.Field{Name: "twist", Value: message(cdr.Field{Name: "x", Value: 1.5},
			cdr.Field{Name: "n", Value: int8(-1)})},
		cdr.Field{Name: "wheels", Value: make([]float32, 20)}, cdr.Field{Name: "ids", Value: []uint16{1}})
	var paths []string
	Numbers(m, func(path string) { paths = append(paths, path) })
	require.Equal(t, []string{"on", "twist.x", "twist.n", "wheels[0]", "wheels[1]"}, paths[:5])
	require.Len(t, paths, 3+16)
}

func TestDefaultSignal(t *testing.T) {
	for _, c := range []struct {
		typeName, path, unit string
		isDefault            bool
	}{
		{"sensor_msgs/msg/Imu", "linear_acceleration.x", "m/s²", true},
		{"sensor_msgs/msg/Imu", "orientation.x", "", false},
		{"sensor_msgs/msg/JointState", "position[3]", "", true},
		{"sensor_msgs/msg/JointState", "positions", "", false},
		{"std_msgs/msg/Float64", "data", "", true},
		{"std_msgs/msg/String", "data", "", false},
	} {
		unit, isDefault := DefaultSignal(c.typeName, c.path)
		require.Equal(t, c.isDefault, isDefault, c)
		require.Equal(t, c.unit, unit, c)
	}
}
