package apollo

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/reflect/protoreflect"
)

func TestBitsOf(t *testing.T) {
	for _, c := range []struct {
		kind protoreflect.Kind
		v    float64
		want int64
	}{
		{protoreflect.Int32Kind, -1.9, -1},
		{protoreflect.Int32Kind, 1e300, math.MaxInt32},
		{protoreflect.EnumKind, math.Inf(-1), math.MinInt32},
		{protoreflect.Sfixed32Kind, math.NaN(), 0},
		{protoreflect.Uint32Kind, -1, 0},
		{protoreflect.Fixed32Kind, 1e10, math.MaxUint32},
		{protoreflect.Int64Kind, -1e300, math.MinInt64},
		{protoreflect.Uint64Kind, -1, 0},
		{protoreflect.Uint64Kind, 1e300, math.MaxInt64},
		{protoreflect.DoubleKind, 1, int64(math.Float64bits(1))},
	} {
		require.Equal(t, uint64(c.want), (&planField{kind: c.kind}).bitsOf(c.v), "%v of %v", c.kind, c.v)
	}
}
