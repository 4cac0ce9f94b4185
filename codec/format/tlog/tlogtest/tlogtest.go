// Package tlogtest makes frames of MAVLink for tests.
package tlogtest

import (
	"bytes"
	"encoding/binary"
	"sync"
	"testing"

	"github.com/bluenviron/gomavlib/v3/pkg/dialect"
	"github.com/bluenviron/gomavlib/v3/pkg/dialects/ardupilotmega"
	"github.com/bluenviron/gomavlib/v3/pkg/dialects/common"
	"github.com/bluenviron/gomavlib/v3/pkg/frame"
	"github.com/bluenviron/gomavlib/v3/pkg/message"
	"github.com/bluenviron/gomavlib/v3/pkg/streamwriter"
	"github.com/stretchr/testify/require"
)

// Dialect returns the dialect of the frames. Only the first call initializes the dialect, because this is slow.
var Dialect = sync.OnceValues(func() (*dialect.ReadWriter, error) {
	rw := &dialect.ReadWriter{Dialect: ardupilotmega.Dialect}
	return rw, rw.Initialize()
})

// Encoder writes frames as an autopilot does.
type Encoder struct {
	buffer bytes.Buffer
	writer streamwriter.Writer
}

// NewEncoder returns an encoder for the system with the given id.
func NewEncoder(t testing.TB, system uint8, version streamwriter.Version) *Encoder {
	e := new(Encoder)
	rw, err := Dialect()
	require.NoError(t, err)
	w := &frame.Writer{ByteWriter: &e.buffer, DialectRW: rw}
	require.NoError(t, w.Initialize())
	e.writer = streamwriter.Writer{FrameWriter: w, Version: version, SystemID: system}
	require.NoError(t, e.writer.Initialize())
	return e
}

// Encode returns a message as a frame.
func (e *Encoder) Encode(t testing.TB, m message.Message) []byte {
	e.buffer.Reset()
	require.NoError(t, e.writer.Write(m))
	return bytes.Clone(e.buffer.Bytes())
}

// Record returns a message as a record of a log. stamp is the time in ns since the Unix epoch.
func (e *Encoder) Record(t testing.TB, stamp int64, m message.Message) []byte {
	return append(binary.BigEndian.AppendUint64(nil, uint64(stamp/1e3)), e.Encode(t, m)...)
}

// Attitude returns a message with a time since boot, in ms.
func Attitude(ms uint32) *common.MessageAttitude {
	return &common.MessageAttitude{TimeBootMs: ms, Roll: 0.1, Pitch: 0.2, Yaw: 0.3, Rollspeed: 1, Pitchspeed: 2,
		Yawspeed: 3}
}

// Heartbeat returns a message without a time.
func Heartbeat() *ardupilotmega.MessageHeartbeat {
	return &ardupilotmega.MessageHeartbeat{Type: ardupilotmega.MAV_TYPE_QUADROTOR,
		Autopilot: ardupilotmega.MAV_AUTOPILOT_PX4,
		BaseMode:  ardupilotmega.MAV_MODE_FLAG_SAFETY_ARMED, SystemStatus: ardupilotmega.MAV_STATE_ACTIVE,
		MavlinkVersion: 3}
}
