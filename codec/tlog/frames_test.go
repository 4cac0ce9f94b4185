package tlog

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

const someTime = int64(1_764_000_000e9) // ns since the Unix epoch

// dialectOnce and formatsOnce are created once, as that is slow.
var (
	dialectOnce = sync.OnceValues(func() (*dialect.ReadWriter, error) {
		rw := &dialect.ReadWriter{Dialect: ardupilotmega.Dialect}
		return rw, rw.Initialize()
	})
	formatsOnce = Formats
)

func knownFormats(t testing.TB) map[uint32]MessageFormat {
	known, err := formatsOnce()
	require.NoError(t, err)
	return known
}

// encoder writes frames as an autopilot does.
type encoder struct {
	bytes.Buffer
	writer streamwriter.Writer
}

func newEncoder(t testing.TB, system uint8, version streamwriter.Version) *encoder {
	e := new(encoder)
	rw, err := dialectOnce()
	require.NoError(t, err)
	w := &frame.Writer{ByteWriter: e, DialectRW: rw}
	require.NoError(t, w.Initialize())
	e.writer = streamwriter.Writer{FrameWriter: w, Version: version, SystemID: system}
	require.NoError(t, e.writer.Initialize())
	return e
}

// encode returns one message as a frame.
func (e *encoder) encode(t testing.TB, m message.Message) []byte {
	e.Reset()
	require.NoError(t, e.writer.Write(m))
	return bytes.Clone(e.Bytes())
}

// record returns one message as a record of a log.
func (e *encoder) record(t testing.TB, stamp int64, m message.Message) []byte {
	return append(binary.BigEndian.AppendUint64(nil, uint64(stamp/1e3)), e.encode(t, m)...)
}

func attitude(ms uint32) *common.MessageAttitude {
	return &common.MessageAttitude{TimeBootMs: ms, Roll: 0.1, Pitch: 0.2, Yaw: 0.3, Rollspeed: 1, Pitchspeed: 2,
		Yawspeed: 3}
}

func heartbeat() *ardupilotmega.MessageHeartbeat {
	return &ardupilotmega.MessageHeartbeat{Type: ardupilotmega.MAV_TYPE_QUADROTOR,
		Autopilot: ardupilotmega.MAV_AUTOPILOT_PX4,
		BaseMode:  ardupilotmega.MAV_MODE_FLAG_SAFETY_ARMED, SystemStatus: ardupilotmega.MAV_STATE_ACTIVE,
		MavlinkVersion: 3}
}
