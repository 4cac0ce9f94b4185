package mavros

import (
	"fmt"
	"path"
	"sync"

	"github.com/bluenviron/gomavlib/v3/pkg/dialects/ardupilotmega"
	"github.com/bluenviron/gomavlib/v3/pkg/dialects/common"

	"tapedeck/bridge"
	"tapedeck/bridge/device/mavlink"
	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/codec/format/tlog"
	"tapedeck/msgs"
	"tapedeck/msgs/rosidl"
)

// TheVehicle is the name of a single vehicle without a name: mavros' namespace.
const TheVehicle = "mavros"

// VehicleName returns the name of a system that is not the first one.
func VehicleName(system uint8) string { return fmt.Sprintf("uas%d", system) }

// FromAutopilot reports whether a frame comes from the autopilot of a vehicle, not from a ground station.
func FromAutopilot(f *mavlink.Frame) bool {
	m, ok := f.Message.(*ardupilotmega.MessageHeartbeat)
	return f.Autopilot && (!ok || m.Autopilot != ardupilotmega.MAV_AUTOPILOT_INVALID)
}

// ReadOptions configure the translation of logs to ROS 2 messages.
type ReadOptions struct {
	Raw bool // each kind of messages of a component also has a topic with all values
}

// ToROS2 returns a translator of the logs in a recording. It reads the logs once to find their topics.
func ToROS2(r codec.Reader) (bridge.Translator, error) { return ReadOptions{}.ToROS2(r) }

// ToROS2 returns a translator of the logs in a recording. It reads the logs once to find their topics.
func (o ReadOptions) ToROS2(r codec.Reader) (bridge.Translator, error) {
	t := &translator{LossCounters: new(bridge.LossCounters), options: o, library: msgs.Library(),
		logs: map[*codec.Channel]*log{}}
	t.geoid = sync.OnceValues(func() (_ *Geoid, err error) {
		t.openedGeoid, err = FindGeoid("")
		return t.openedGeoid, err
	})
	info, err := r.Info()
	if err != nil {
		return nil, err
	}
	for _, topic := range info.Topics {
		if topic.Channel.Encoding == tlog.Encoding {
			t.logs[topic.Channel], err = t.survey(r, topic.Channel)
			if err != nil {
				return nil, fmt.Errorf("look for topics: %w", err)
			}
		}
	}
	return t, nil
}

var _ bridge.Translator = (*translator)(nil)

// translator translates the logs of a recording.
type translator struct {
	*bridge.LossCounters // messages that have no topic
	options              ReadOptions
	library              *rosidl.Library
	logs                 map[*codec.Channel]*log
	geoid                func() (*Geoid, error) // opens the geoid once
	openedGeoid          *Geoid                 // the geoid that Close closes; nil: none
}

// log holds the topics of a log.
type log struct {
	topics []codec.TopicInfo
	byName map[string]int   // index in topics
	names  map[uint8]string // names of vehicles by system
}

// topic returns the topic with a name. It creates a topic that is new, or returns nil if create is nil.
func (l *log) topic(name string, create func() (*codec.Channel, error)) (*codec.TopicInfo, error) {
	i, ok := l.byName[name]
	if !ok {
		if create == nil {
			return nil, nil
		}
		c, err := create()
		if err != nil {
			return nil, err
		}
		i = len(l.topics)
		l.byName[name] = i
		l.topics = append(l.topics, codec.TopicInfo{Channel: c})
	}
	return &l.topics[i], nil
}

// survey translates a log to find its topics and count their messages.
func (t *translator) survey(r codec.Reader, c *codec.Channel) (*log, error) {
	l := &log{byName: map[string]int{}, names: map[uint8]string{}}
	translator, err := t.newLogTranslator(l)
	if err != nil {
		return nil, err
	}
	translator.surveys = true
	q := codec.Query{Topics: func(o *codec.Channel) bool { return o == c }, Damaged: func(error) {}}
	for m, err := range codec.Messages(r, q) {
		if err != nil {
			return nil, err
		}
		_, _ = translator.translate(m) // errors are reported when the message is translated again
		if translator.fatal != nil {
			return nil, translator.fatal
		}
	}
	return l, nil
}

func (t *translator) Topics(topic codec.TopicInfo) ([]codec.TopicInfo, error) {
	l := t.logs[topic.Channel]
	if l == nil {
		return nil, fmt.Errorf("the recording has no channel %s", topic.Channel.Topic)
	}
	return l.topics, nil
}

// Quiet implements bridge.Translator. It is not nil, because a log has frames of all kinds on one channel.
func (t *translator) Quiet() bridge.Translator {
	quiet := *t
	quiet.LossCounters = new(bridge.LossCounters)
	return &quiet
}

// Close closes the geoid.
func (t *translator) Close() error {
	if t.openedGeoid == nil {
		return nil
	}
	return t.openedGeoid.Close()
}

func (t *translator) Begin(func(*codec.Channel) bool) func(*codec.Message) ([]codec.Message, error) {
	translators := map[*codec.Channel]*logTranslator{}
	return func(m *codec.Message) ([]codec.Message, error) {
		r := translators[m.Channel]
		if r == nil {
			var err error
			r, err = t.newLogTranslator(t.logs[m.Channel])
			if err != nil {
				return nil, err
			}
			translators[m.Channel] = r
		}
		return r.translate(m)
	}
}

// logTranslator translates the frames of a log in their order, from any frame on.
type logTranslator struct {
	*translator
	log      *log
	surveys  bool // the translator only finds topics and counts messages
	decoder  *mavlink.Decoder
	vehicles map[uint8]*sender
	raw      rawTypes
	fatal    error // the error that ends the translation

	received int64 // reception of the current frame, in ns since the Unix epoch
	batch    bridge.Batch
}

func (t *translator) newLogTranslator(l *log) (*logTranslator, error) {
	d, err := mavlink.NewDecoder(mavlink.StampSync)
	if err != nil {
		return nil, err
	}
	return &logTranslator{translator: t, log: l, decoder: d, vehicles: map[uint8]*sender{}, raw: rawTypes{}}, nil
}

// sender is a vehicle of a log.
type sender struct {
	*Vehicle
	log  *logTranslator
	name string
	sent bool // a message of the frame was published
}

// Send implements Publisher.
func (s *sender) Send(t Topic, m msgs.Message) {
	s.sent = true
	info := &Topics[t]
	var create func() (*codec.Channel, error)
	name := "/" + path.Join(s.name, info.Name)
	if s.log.surveys {
		create = func() (*codec.Channel, error) {
			return codec.NewChannel(s.log.library, name, info.Message.TypeName(), info.QoS())
		}
	}
	s.log.send(name, create, func(to []byte) ([]byte, error) { return cdr.Append(to, m) })
}

// Log implements Publisher. It does nothing: texts of the autopilot have a topic, and losses are counted.
func (s *sender) Log(bridge.LogLevel, string, ...any) {}

// send adds a message on a topic.
func (r *logTranslator) send(name string, create func() (*codec.Channel, error), marshal func([]byte) ([]byte, error)) {
	topic, err := r.log.topic(name, create)
	if err != nil {
		r.fatal = err
		return
	}
	if topic == nil {
		return // the survey, which read the log from its beginning, did not publish on this topic
	}
	if r.surveys {
		topic.MessageCount++
		return
	}
	if err := r.batch.Add(codec.Message{Channel: topic.Channel, LogTime: r.received}, marshal); err != nil {
		r.fatal = err
	}
}

// translate returns the messages of a frame.
func (r *logTranslator) translate(m *codec.Message) ([]codec.Message, error) {
	r.batch.Messages, r.received = r.batch.Messages[:0], m.LogTime
	f, err := r.decoder.Decode(m.Data, m.LogTime)
	if err != nil {
		return nil, err
	}
	for system, v := range r.vehicles {
		if system != f.System {
			v.Tick(f.Received)
		}
	}
	handled := false
	if v := r.vehicle(f); v != nil {
		v.sent = false
		handled = v.Handle(f)
		if handled && !r.surveys {
			r.countLosses(m.Channel.Topic, v, f)
		}
	}
	if r.options.Raw {
		if err := r.sendRaw(f); err != nil {
			return nil, err
		}
	} else if !handled && !r.surveys {
		content := tlog.MessageName(f.Message)
		if !f.Autopilot {
			content = fmt.Sprintf("messages of %d/%d, which is not an autopilot", f.System, f.Component)
		}
		r.Lost(m.Channel.Topic, content).Add(1)
	}
	return r.batch.Messages, r.fatal
}

// countLosses counts the values of a handled frame that no topic has.
func (r *logTranslator) countLosses(topic string, v *sender, f *mavlink.Frame) {
	name := tlog.MessageName(f.Message)
	switch m := f.Message.(type) {
	case *common.MessageGpsRawInt, *ardupilotmega.MessageGlobalPositionInt:
		if v.noGeoidSince != 0 {
			r.Lost(topic, "height above the ellipsoid of "+name+", which is above mean sea level for lack of a geoid; "+
				"install GeographicLib's egm96-5").Add(1)
		}
	case *common.MessageStatustext, *common.MessageAttitude, *common.MessageScaledImu, *common.MessageScaledPressure,
		*common.MessageRcChannelsRaw:
		return // the beginning of a text, or values that a preferred message has too
	case *common.MessageRawImu:
		if m.Id == 0 && v.receivedKind > rawIMU {
			return
		}
	}
	if !v.sent && !r.options.Raw {
		r.Lost(topic, name+" whose values are not valid or not supported").Add(1)
	}
}

// vehicle returns the vehicle of a frame, or nil if there is none.
func (r *logTranslator) vehicle(f *mavlink.Frame) *sender {
	if !f.Autopilot {
		return nil
	}
	if v := r.vehicles[f.System]; v != nil {
		return v
	}
	if !FromAutopilot(f) {
		return nil
	}
	name, known := r.log.names[f.System]
	if !known {
		if !r.surveys {
			return nil
		}
		name = TheVehicle
		if len(r.log.names) > 0 {
			name = VehicleName(f.System)
		}
		r.log.names[f.System] = name
	}
	g, err := r.geoid()
	if err != nil {
		r.fatal = err
		return nil
	}
	s := &sender{log: r, name: name}
	o := DefaultOptions()
	s.Vehicle = NewVehicle(&o, s, g, func() mavlink.VehicleClock {
		for _, v := range r.decoder.Vehicles() {
			if v.System == f.System {
				return v.Clock
			}
		}
		return mavlink.VehicleClock{}
	})
	r.vehicles[f.System] = s
	return s
}
