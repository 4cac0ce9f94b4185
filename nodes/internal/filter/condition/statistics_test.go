package condition

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec/encoding/cdr"
	"tapedeck/msgs"
)

// TestPossible compares statistics of random messages with the messages. Possible must be true if a message meets the
// condition, and false if statistics can rule that out.
func TestPossible(t *testing.T) {
	lib := msgs.Library()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	values := []float64{0, math.Copysign(0, -1), 0.1, float64(float32(0.1)), -0.1, 1, -1, 3e38, 1e300, math.Inf(1),
		math.Inf(-1), math.NaN(), 16777217}
	constants := []string{"0", "0.1", "-0.1", "1", "-1", "1e300", "inf", "-inf", "16777217", "3e38"}
	ruledOut := 0
	for range 20000 {
		kind, wide := "std_msgs/msg/Float64", true
		if random.IntN(2) == 0 {
			kind, wide = "std_msgs/msg/Float32", false
		}
		schema, err := cdr.NewSchema(lib, kind)
		require.NoError(t, err)
		operand := []string{"data", "abs(data)"}[random.IntN(2)]
		op := []string{">", ">=", "<", "<=", "==", "!="}[random.IntN(6)]
		c, err := Parse("/n " + operand + " " + op + " " + constants[random.IntN(len(constants))])
		require.NoError(t, err)
		d, err := NewDetector(c, schema)
		require.NoError(t, err)
		n, err := schema.Path("data")
		require.NoError(t, err)
		var s Statistics
		met, some := false, ""
		for range 1 + random.IntN(4) {
			v := values[random.IntN(len(values))]
			payload := binary.LittleEndian.AppendUint32([]byte{0, 1, 0, 0}, math.Float32bits(float32(v)))
			if wide {
				payload = binary.LittleEndian.AppendUint64([]byte{0, 1, 0, 0}, math.Float64bits(v))
			}
			read, _, err := n.Number(payload)
			require.NoError(t, err)
			s.Add(read)
			if d.Met(payload) {
				met, some = true, d.Values(payload)
			}
		}
		possible := c.Possible(func(string) *Statistics { return &s })
		require.True(t, possible || !met, "%s: %s, %+v", c.Text, some, s)
		if !possible {
			ruledOut++
		}
	}
	require.Greater(t, ruledOut, 1000)
}

func TestPossibleIfUnknown(t *testing.T) {
	s := &Statistics{Count: 3, Min: 1, Max: 2}
	of := func(field string) *Statistics {
		if field == "x" {
			return s
		}
		return nil
	}
	for text, want := range map[string]bool{
		"/t *": true, "/t x > 1.5": true, "/t x > 2": false, "/t y > 2": true, "/t y > 2 and x < 1": false,
		"/t len(x) > 100": true, `/t x == "text"`: true, "/t x == true": true, "/t x == false": false,
		"/t x == nan": true, "/t abs(x) < 1": false,
	} {
		c, err := Parse(text)
		require.NoError(t, err)
		require.Equal(t, want, c.Possible(of), text)
	}
	s = &Statistics{}
	c, err := Parse("/t x != 0")
	require.NoError(t, err)
	require.False(t, c.Possible(of), "no message has the field")
	require.Equal(t, []string{"x"}, c.Fields())
}
