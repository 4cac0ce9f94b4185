// Package carla translates the packets of CARLA's recorder to messages of carla_msgs and of ROS 2, and writes logs from
// such messages. Topics have the names of CARLA's ROS bridge, https://github.com/carla-simulator/ros-bridge.
//
// The axes of CARLA's world are forward, right and up, and its units are cm and degrees. The axes of ROS 2 are forward,
// left and up, and its units are m and rad. So y is mirrored.
package carla

import (
	"errors"
	"fmt"
	"strings"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/codec/format/carla"
	"tapedeck/msgs"
	"tapedeck/msgs/builtin_interfaces"
	"tapedeck/msgs/carla_msgs"
	"tapedeck/msgs/nav_msgs"
	"tapedeck/msgs/rosgraph_msgs"
	"tapedeck/msgs/rosidl"
	"tapedeck/msgs/std_msgs"
	"tapedeck/msgs/tf2_msgs"
	"tapedeck/msgs/visualization_msgs"
)

// mapFrame is the frame of the world.
const mapFrame = "map"

// ToROS2 returns a translator of the logs in a recording. It reads the logs once to find the actors and their names.
func ToROS2(r codec.Reader) (bridge.Translator, error) { return ReadOptions{}.ToROS2(r) }

// ToROS2 returns a translator of the logs in a recording. It reads the logs once to find the actors and their names.
func (o ReadOptions) ToROS2(r codec.Reader) (bridge.Translator, error) {
	info, err := r.Info()
	if err != nil {
		return nil, err
	}
	t := &translator{options: o, library: msgs.Library(), logs: map[*codec.Channel]*log{}}
	for _, topic := range info.Topics {
		if topic.Channel.Encoding != carla.Encoding {
			continue
		}
		s, err := newSurvey(r, topic.Channel, steps{o.Rate})
		if err != nil {
			t.logs[topic.Channel] = &log{err: err}
			continue
		}
		t.logs[topic.Channel], err = t.newLog(s)
		if err != nil {
			return nil, err
		}
	}
	return t, nil
}

// translator translates the logs of a recording.
type translator struct {
	bridge.EveryMessage
	bridge.LossCounters // numbers of frames with a kind of packets that has no message
	options             ReadOptions
	library             *rosidl.Library
	logs                map[*codec.Channel]*log
}

func (t *translator) Topics(topic codec.TopicInfo) ([]codec.TopicInfo, error) {
	l := t.logs[topic.Channel]
	if l == nil {
		return nil, fmt.Errorf("the recording has no channel %s", topic.Channel.Topic)
	}
	return l.topics, l.err
}

func (t *translator) Begin(wanted func(*codec.Channel) bool) func(*codec.Message) ([]codec.Message, error) {
	translators := map[*codec.Channel]*logTranslator{}
	return func(m *codec.Message) ([]codec.Message, error) {
		r := translators[m.Channel]
		if r == nil {
			r = newLogTranslator(t.logs[m.Channel], &t.LossCounters, wanted)
			translators[m.Channel] = r
		}
		return r.translate(m)
	}
}

// fail adds an error about the current frame, unless another packet of the frame had an equal error.
func (r *logTranslator) fail(err error) {
	if r.err == nil || !strings.Contains(r.err.Error(), err.Error()) {
		r.err = errors.Join(r.err, err)
	}
}

// logTranslator translates the frames of a log in their order, from any frame on.
type logTranslator struct {
	*log
	state        *carla.State
	decoder      carla.Decoder
	tracks       map[uint32]*track
	physicsSent  map[uint32]bool // vehicles whose physics were sent
	wantsMarkers bool            // markers are wanted
	started      bool            // a frame was translated
	losses       *bridge.LossCounters
	unsupported  [256]string // names of packets without a message, by packet id

	// Values of the current frame:
	original        *codec.Message
	frame           carla.FrameStart
	previousElapsed float64                 // time of the previous frame, in s of simulation
	stamp           builtin_interfaces.Time // stamp of the next messages
	logTime         int64                   // log time of the next messages, in ns since the Unix epoch
	bodies          bodies
	batch           bridge.Batch
	err             error // joined errors of the frame

	scratch scratch
}

// scratch holds messages that each frame overwrites.
type scratch struct {
	clock    rosgraph_msgs.Clock
	status   carla_msgs.CarlaStatus
	moving   tf2_msgs.TFMessage
	fixed    tf2_msgs.TFMessage
	lights   carla_msgs.CarlaTrafficLightStatusList
	odometry nav_msgs.Odometry
	control  carla_msgs.CarlaEgoVehicleControl
	vehicle  carla_msgs.CarlaEgoVehicleStatus
	walker   carla_msgs.CarlaWalkerControl
	markers  visualization_msgs.MarkerArray
}

// bodies are the packets of a frame. A field is nil if the frame does not have the packet.
type bodies struct {
	positions  *carla.PositionList
	states     *carla.StateList
	vehicles   *carla.AnimVehicleList
	walkers    *carla.AnimWalkerList
	kinematics *carla.KinematicsList
	collisions *carla.CollisionList
	weather    bool
	changes    changes
}

func newLogTranslator(l *log, losses *bridge.LossCounters, wanted func(*codec.Channel) bool) *logTranslator {
	return &logTranslator{
		log: l, losses: losses, unsupported: unsupportedNames(l.profile), state: carla.NewState(l.profile),
		decoder: carla.Decoder{Profile: l.profile}, tracks: map[uint32]*track{}, physicsSent: map[uint32]bool{},
		wantsMarkers: l.markers != nil && (wanted == nil || wanted(l.markers)),
	}
}

// translate returns the messages of a frame. If it returns an error, it also returns the messages that could be
// translated.
func (r *logTranslator) translate(m *codec.Message) ([]codec.Message, error) {
	r.original, r.err, r.previousElapsed = m, nil, r.frame.Elapsed
	r.batch.Messages = r.batch.Messages[:0]
	r.decode(m.Data)
	if _, err := r.state.Apply(m.Data); err != nil {
		r.fail(err)
	}
	r.updateTracks()
	if r.started {
		r.translateSteps()
	}
	r.stamp, r.logTime = Stamp(r.frame.Elapsed), m.LogTime
	r.translateWorld()
	r.translateFixed()
	if !r.started || r.options.Rate == 0 {
		r.translateMoving(1)
	}
	r.translateActors()
	r.translateMarkers()
	r.translateTrafficLights()
	r.translateCollisions()
	r.started = true
	return r.batch.Messages, r.err
}

// translateSteps emits the interpolated places of actors between the previous and the current frame.
func (r *logTranslator) translateSteps() {
	first, last := r.steps.between(r.previousElapsed, r.frame.Elapsed)
	for n := first; n <= last; n++ {
		at := r.steps.at(n)
		r.stamp = Stamp(at)
		r.logTime = r.original.LogTime - int64((r.frame.Elapsed-at)*1e9)
		if at < r.frame.Elapsed { // translateWorld emits the clock of the frame
			r.translateClock()
		}
		r.translateMoving((at - r.previousElapsed) / (r.frame.Elapsed - r.previousElapsed))
	}
}

// decode decodes the packets of a frame.
func (r *logTranslator) decode(frame []byte) {
	r.frame, r.bodies = carla.FrameStart{}, bodies{}
	for len(frame) > 0 {
		k, rest, err := carla.NextPacket(frame)
		if err != nil {
			return // State.Apply returns the error
		}
		frame = rest
		if name := r.unsupported[k.ID]; name != "" && !k.Empty() {
			r.countUnsupported(k, name)
		}
		switch k.ID {
		case carla.IDFrameStart, carla.IDEventAdd, carla.IDEventDel, carla.IDEventParent, carla.IDPosition,
			carla.IDState,
			carla.IDAnimVehicle, carla.IDAnimWalker, carla.IDKinematics, carla.IDCollision, carla.IDWeather:
			b, err := r.decoder.Decode(k)
			if err != nil {
				r.fail(err)
				continue
			}
			if content := omittedContent(b); content != "" {
				r.losses.Lost(r.original.Channel.Topic, content).Add(1)
			}
			r.store(b)
		}
	}
}

// countUnsupported counts a packet that has no message, unless it only switches off the lights of vehicles.
func (r *logTranslator) countUnsupported(k carla.Packet, name string) {
	if k.ID == carla.IDVehicleLight {
		if b, err := r.decoder.Decode(k); err == nil && !hasLights(*b.(*carla.VehicleLightList)) {
			return
		}
	}
	r.losses.Lost(r.original.Channel.Topic, name).Add(1)
}

// store stores a packet in r.bodies or r.frame.
func (r *logTranslator) store(b carla.Body) {
	switch b := b.(type) {
	case *carla.FrameStart:
		r.frame = *b
	case *carla.PositionList:
		r.bodies.positions = b
	case *carla.StateList:
		r.bodies.states = b
	case *carla.AnimVehicleList:
		r.bodies.vehicles = b
	case *carla.AnimWalkerList:
		r.bodies.walkers = b
	case *carla.KinematicsList:
		r.bodies.kinematics = b
	case *carla.CollisionList:
		r.bodies.collisions = b
	case *carla.WeatherList:
		r.bodies.weather = len(*b) > 0
	default:
		r.bodies.changes.add(b, r.byID)
	}
}

// emit adds a message to the batch, unless the channel is nil.
func (r *logTranslator) emit(c *codec.Channel, m msgs.Message) {
	if c == nil {
		return
	}
	err := r.batch.Add(codec.Message{Channel: c, LogTime: r.logTime},
		func(dst []byte) ([]byte, error) { return cdr.Append(dst, m) })
	if err != nil {
		r.fail(err)
	}
}

func (r *logTranslator) header() std_msgs.Header {
	return std_msgs.Header{Stamp: r.stamp, FrameId: mapFrame}
}
