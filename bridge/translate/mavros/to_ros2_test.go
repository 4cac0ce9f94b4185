package mavros

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/bluenviron/gomavlib/v3/pkg/dialect"
	"github.com/bluenviron/gomavlib/v3/pkg/dialects/ardupilotmega"
	"github.com/bluenviron/gomavlib/v3/pkg/dialects/common"
	"github.com/bluenviron/gomavlib/v3/pkg/frame"
	"github.com/bluenviron/gomavlib/v3/pkg/message"
	"github.com/bluenviron/gomavlib/v3/pkg/streamwriter"
	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/bridge/device/mavlink"
	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/codec/format/tlog"
	"tapedeck/test/samples/generate"
)

// translateLog returns the messages of a log by topic, and the channels.
func translateLog(t *testing.T, path string, o ReadOptions) (map[string][][]byte, *bridge.Translated, *codec.Info) {
	log, err := tlog.Format.Open(path)
	require.NoError(t, err)
	r, skipped, err := bridge.Translate(log, codec.EncodingCDR, nil,
		map[string]func(codec.Reader) (bridge.Translator, error){tlog.Encoding: o.ToROS2})
	require.NoError(t, err)
	require.Empty(t, skipped)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	it, err := r.Read(codec.Query{Damaged: func(error) {}})
	require.NoError(t, err)
	defer it.Close()
	messages := map[string][][]byte{}
	for {
		m, err := it.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		messages[m.Channel.Topic] = append(messages[m.Channel.Topic], bytes.Clone(m.Data))
	}
	info, err := r.Info()
	require.NoError(t, err)
	for _, topic := range info.Topics {
		require.EqualValues(t, len(messages[topic.Channel.Topic]), topic.MessageCount, topic.Channel.Topic)
	}
	return messages, r, info
}

// copyBeginning returns a copy of the beginning of a log, cut within a record.
func copyBeginning(t *testing.T, path string) string {
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	path = filepath.Join(t.TempDir(), filepath.Base(path))
	require.NoError(t, os.WriteFile(path, data[:min(len(data), 250_000)], 0o666))
	return path
}

// TestLogAsLink checks that a log gives the messages that a link gives when it receives the frames of the log.
func TestLogAsLink(t *testing.T) {
	for _, name := range []string{"synthetic_px4_v2.tlog", "dronekit_flight.tlog"} {
		t.Run(name, func(t *testing.T) {
			path := generate.Path(t, "mavlink/"+name)
			if testing.Short() {
				path = copyBeginning(t, path)
			}
			link, err := mavlink.Open(path, mavlink.Options{})
			require.NoError(t, err)
			a := &testPublisher{t: t, sent: map[Topic][][]byte{}}
			o := DefaultOptions()
			v := NewVehicle(&o, a, nil, func() mavlink.VehicleClock { return link.Vehicles()[0].Clock })
			require.NoError(t, link.Run(t.Context(), func(f *mavlink.Frame) {
				if f.Autopilot && f.System == 1 {
					v.Handle(f)
				} else {
					v.Tick(f.Received)
				}
			}))
			all, _, _ := translateLog(t, path, ReadOptions{})
			want := map[string][][]byte{}
			for topic, list := range a.sent {
				want["/mavros/"+Topics[topic].Name] = list
			}
			require.Len(t, all, len(want))
			for topic, list := range want {
				require.Equal(t, len(list), len(all[topic]), topic)
				require.Equal(t, list, all[topic], topic)
			}
		})
	}
}

// writeLog writes a log of messages, each with a system and a component.
func writeLog(t *testing.T, list []sentMessage) string {
	codecs := &dialect.ReadWriter{Dialect: ardupilotmega.Dialect}
	require.NoError(t, codecs.Initialize())
	var log bytes.Buffer
	frames := &frame.Writer{ByteWriter: &log, DialectRW: codecs}
	require.NoError(t, frames.Initialize())
	for i, m := range list {
		w := streamwriter.Writer{FrameWriter: frames, Version: streamwriter.V2, SystemID: m.system,
			ComponentID: m.component}
		require.NoError(t, w.Initialize())
		log.Write([]byte{0, 6, 0, 0, 0, 0, 0, byte(i)})
		if raw, ok := m.message.(*message.MessageRaw); ok { // gomavlib writes only known messages
			log.Write([]byte{0xfd, byte(len(raw.Payload)), 0, 0, 0, m.system, m.component, byte(raw.ID),
				byte(raw.ID >> 8), byte(raw.ID >> 16)})
			log.Write(append(raw.Payload, 0, 0))
			continue
		}
		require.NoError(t, w.Write(m.message))
	}
	path := filepath.Join(t.TempDir(), "x.tlog")
	require.NoError(t, os.WriteFile(path, log.Bytes(), 0o666))
	return path
}

// sentMessage is a message with the system and the component that send it.
type sentMessage struct {
	system, component uint8
	message           message.Message
}

// TestLatestOfLog checks that latched messages are found anywhere in a log, and that the search counts no losses.
func TestLatestOfLog(t *testing.T) {
	path := generate.Path(t, "mavlink/dronekit_flight.tlog")
	if testing.Short() {
		path = copyBeginning(t, path)
	}
	log, err := tlog.Format.Open(path)
	require.NoError(t, err)
	r, _, err := bridge.Translate(log, codec.EncodingCDR, nil,
		map[string]func(codec.Reader) (bridge.Translator, error){tlog.Encoding: ToROS2})
	require.NoError(t, err)
	defer r.Close()
	info, err := r.Info()
	require.NoError(t, err)
	type message struct {
		topic string
		time  int64
		data  string
	}
	read := func(it codec.Iterator, err error) (all []message) {
		require.NoError(t, err)
		defer it.Close()
		for {
			m, err := it.Next()
			if errors.Is(err, io.EOF) {
				return all
			}
			require.NoError(t, err)
			all = append(all, message{m.Channel.Topic, m.LogTime, string(m.Data)})
		}
	}
	q := codec.Query{End: info.StartTime + (info.EndTime-info.StartTime)/2, Damaged: func(error) {}}
	last := map[string][]message{}
	for _, m := range read(r.Read(q)) {
		last[m.topic] = append(last[m.topic], m)
	}
	losses := r.Losses()
	got := map[string][]message{}
	q.Last = codec.LatchedDepth
	for _, m := range read(r.Read(q)) {
		got[m.topic] = append(got[m.topic], m)
	}
	require.Equal(t, losses, r.Losses())
	for _, topic := range info.Topics {
		name, depth := topic.Channel.Topic, codec.LatchedDepth(topic.Channel)
		all := last[name]
		want := append([]message{}, all[max(0, len(all)-depth):]...)
		require.Equal(t, want, append([]message{}, got[name]...), name)
	}
	require.Len(t, got["/mavros/state"], 10)
}

// TestSystems translates a log of two vehicles and a ground station.
func TestSystems(t *testing.T) {
	list := []sentMessage{
		{255, 190, &ardupilotmega.MessageHeartbeat{Autopilot: ardupilotmega.MAV_AUTOPILOT_INVALID}},
		{3, 1, px4()}, {9, 1, px4()}, {3, 1, &common.MessageAttitude{}}, {9, 1, &common.MessageAttitude{}},
		{9, 1, &common.MessageAttitude{}}, {3, 154, &common.MessageAttitude{}}, {3, 1, &common.MessageVibration{}},
		{3, 1, &message.MessageRaw{ID: 99999, Payload: []byte{1, 2, 3}}},
	}
	path := writeLog(t, list)
	all, log, _ := translateLog(t, path, ReadOptions{})
	counts := map[string]int{}
	for topic, list := range all {
		counts[topic] = len(list)
	}
	require.Equal(t, map[string]int{"/mavros/state": 1, "/mavros/imu/data": 1, "/uas9/state": 1, "/uas9/imu/data": 2},
		counts)
	require.Equal(t, []codec.Loss{
		{Topic: tlog.Topic, What: "UNKNOWN", Messages: 1},
		{Topic: tlog.Topic, What: "VIBRATION", Messages: 1},
		{Topic: tlog.Topic, What: "messages of 255/190, which is not an autopilot", Messages: 1},
		{Topic: tlog.Topic, What: "messages of 3/154, which is not an autopilot", Messages: 1},
	}, log.Losses())

	all, log, info := translateLog(t, path, ReadOptions{Raw: true})
	require.Empty(t, log.Losses())
	require.Len(t, all, 4+8)
	for _, topic := range info.Topics {
		if topic.Channel.Topic != "/mavlink/uas3/comp1/UNKNOWN_99999" {
			continue
		}
		schema, err := cdr.NewSchema(topic.Channel.Library(nil), topic.Channel.Type)
		require.NoError(t, err)
		s, err := schema.Decode(all[topic.Channel.Topic][0])
		require.NoError(t, err)
		require.Equal(t, []any{uint32(99999), []uint8{1, 2, 3}}, []any{s.Get("id"), s.Get("payload")})
		return
	}
	t.Fatal("no topic for an unknown message")
}

// TestRawMessages encodes a message of each kind of the dialect, and decodes it by its definition.
func TestRawMessages(t *testing.T) {
	types := rawTypes{}
	for _, m := range ardupilotmega.Dialect.Messages {
		typ := types.typeOf(m)
		c, err := typ.channel("/x")
		require.NoError(t, err, typ.name)
		schema, err := cdr.NewSchema(c.Library(nil), c.Type)
		require.NoError(t, err, typ.name)
		data, err := typ.encode(nil, m)
		require.NoError(t, err)
		_, err = schema.Decode(data)
		require.NoError(t, err, typ.name)
	}
	m := &common.MessageGpsRawInt{TimeUsec: 1 << 40, FixType: 3, Lat: -5, Lon: 6, Eph: 7, SatellitesVisible: 8, Yaw: 9}
	c, err := types.typeOf(m).channel("/x")
	require.NoError(t, err)
	schema, err := cdr.NewSchema(c.Library(nil), c.Type)
	require.NoError(t, err)
	data, err := types.typeOf(m).encode(nil, m)
	require.NoError(t, err)
	s, err := schema.Decode(data)
	require.NoError(t, err)
	require.Equal(t, []any{uint64(1 << 40), uint8(3), int32(-5), int32(6), uint16(7), uint8(8), uint16(9)},
		[]any{s.Get("time_usec"), s.Get("fix_type"), s.Get("lat"), s.Get("lon"), s.Get("eph"),
			s.Get("satellites_visible"), s.Get("yaw")})
}

// TestLostValues checks that messages of known types are counted if values cannot be published.
func TestLostValues(t *testing.T) {
	r := &logTranslator{translator: &translator{LossCounters: new(bridge.LossCounters)}}
	s := &sender{Vehicle: &Vehicle{}, log: r}
	count := func(m message.Message) { r.countLosses("/log", s, &mavlink.Frame{Message: m}) }
	count(&common.MessageOdometry{})
	count(&common.MessageRawImu{})
	for _, m := range []message.Message{&common.MessageStatustext{}, &common.MessageAttitude{}} {
		count(m)
	}
	s.receivedKind = highresIMU
	count(&common.MessageRawImu{})
	s.sent, s.noGeoidSince = true, 1
	count(&ardupilotmega.MessageGlobalPositionInt{})
	require.Equal(t, []codec.Loss{
		{Topic: "/log", What: "ODOMETRY whose values are not valid or not supported", Messages: 1},
		{Topic: "/log", What: "RAW_IMU whose values are not valid or not supported", Messages: 1},
		{Topic: "/log", What: "height above the ellipsoid of GLOBAL_POSITION_INT, which is above mean sea level for " +
			"lack of a geoid; install GeographicLib's egm96-5", Messages: 1},
	}, r.Losses())
}
