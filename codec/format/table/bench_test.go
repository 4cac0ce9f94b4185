package table

import (
	"io"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/msgs/sensor_msgs"
)

// BenchmarkWrite writes messages of an IMU with random values.
func BenchmarkWrite(b *testing.B) {
	c := &codec.Channel{Topic: "/imu", Type: "sensor_msgs/msg/Imu", Encoding: codec.EncodingCDR}
	r := rand.New(rand.NewPCG(1, 2))
	var payloads [][]byte
	for range 1000 {
		var m sensor_msgs.Imu
		m.Header.FrameId = "imu_link"
		for _, v := range []*float64{&m.Orientation.X, &m.Orientation.Y, &m.Orientation.Z, &m.Orientation.W,
			&m.AngularVelocity.X, &m.AngularVelocity.Y, &m.AngularVelocity.Z,
			&m.LinearAcceleration.X, &m.LinearAcceleration.Y, &m.LinearAcceleration.Z} {
			*v = r.NormFloat64()
		}
		m.OrientationCovariance[0] = 1e-6
		data, err := cdr.Marshal(&m)
		require.NoError(b, err)
		payloads = append(payloads, data)
	}
	for _, f := range []codec.Format{Parquet, CSV, JSONL} {
		b.Run(f.Name, func(b *testing.B) {
			var w codec.Writer
			var err error
			if f.Stream == nil {
				w, err = f.Create(filepath.Join(b.TempDir(), "imu."+f.Name), codec.CreateOptions{})
			} else {
				w, err = f.Stream(io.Discard, codec.CreateOptions{})
			}
			require.NoError(b, err)
			b.SetBytes(int64(len(payloads[0])))
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if err := w.Write(&codec.Message{Channel: c, LogTime: int64(i), Data: payloads[i%1000]}); err != nil {
					b.Fatal(err)
				}
			}
			require.NoError(b, w.Close())
		})
	}
}
