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

type translator struct {
	bridge.EveryMessage
	bridge.LossCounters // packets that have no message, by frames that had them
	options             ReadOptions
	library             *rosidl.Library
	logs                map[*codec.Channel]*log
}

func (t *translator) Topics(topic codec.TopicInfo) ([]codec.TopicInfo, error) {
	l := t.logs[topic.Channel]
	if l == nil {
		return nil, fmt.Errorf("channel %s is not one of the recording", topic.Channel.Topic)
	}
	return l.topics, l.err
}

func (t *translator) Begin(wanted func(*codec.Channel) bool) func(*codec.Message) ([]codec.Message, error) {
	readings := map[*codec.Channel]*reading{}
	return func(m *codec.Message) ([]codec.Message, error) {
		r := readings[m.Channel]
		if r == nil {
			r = newReading(t.logs[m.Channel], &t.LossCounters, wanted)
			readings[m.Channel] = r
		}
		return r.translate(m)
	}
}

// fail adds an error about the current frame, unless another packet of the frame had an equal error.
func (r *reading) fail(err error) {
	if r.err == nil || !strings.Contains(r.err.Error(), err.Error()) {
		r.err = errors.Join(r.err, err)
	}
}

// reading translates the frames of a log in their order, from any frame on.
type reading struct {
	*log
	state       *carla.State
	decoder     carla.Decoder
	tracks      map[uint32]*track
	physicsSent map[uint32]bool // vehicles whose physics were sent
	boxes       bool            // the markers are wanted
	begun       bool
	losses      *bridge.LossCounters
	unsupported [256]string

	// Of the frame that is translated:
	original *codec.Message
	frame    carla.FrameStart
	before   float64 // time of the frame before, in s of simulation
	stamp    builtin_interfaces.Time
	now      int64 // log time
	bodies   bodies
	batch    bridge.Batch
	err      error

	scratch scratch
}

// scratch has messages that are reused for each frame.
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

func newReading(l *log, losses *bridge.LossCounters, wanted func(*codec.Channel) bool) *reading {
	return &reading{
		log: l, losses: losses, unsupported: unsupported(l.profile), state: carla.NewState(l.profile),
		decoder: carla.Decoder{Profile: l.profile}, tracks: map[uint32]*track{}, physicsSent: map[uint32]bool{},
		boxes: l.markers != nil && (wanted == nil || wanted(l.markers)),
	}
}

// translate returns the messages of a frame. If it returns an error, it also returns the messages that could be
// translated.
func (r *reading) translate(m *codec.Message) ([]codec.Message, error) {
	r.original, r.err, r.before = m, nil, r.frame.Elapsed
	r.batch.Messages = r.batch.Messages[:0]
	r.decode(m.Data)
	if _, err := r.state.Apply(m.Data); err != nil {
		r.fail(err)
	}
	r.follow()
	if r.begun {
		r.translateSteps()
	}
	r.stamp, r.now = Stamp(r.frame.Elapsed), m.LogTime
	r.translateWorld()
	r.translateFixed()
	if !r.begun || r.options.Rate == 0 {
		r.translateMoving(1)
	}
	r.translateActors()
	r.translateMarkers()
	r.translateTrafficLights()
	r.translateCollisions()
	r.begun = true
	return r.batch.Messages, r.err
}

// translateSteps emits the interpolated places of actors between the previous and the current frame.
func (r *reading) translateSteps() {
	first, last := r.steps.between(r.before, r.frame.Elapsed)
	for n := first; n <= last; n++ {
		at := r.steps.at(n)
		r.stamp = Stamp(at)
		r.now = r.original.LogTime - int64((r.frame.Elapsed-at)*1e9)
		if at < r.frame.Elapsed { // otherwise the frame has a clock of its own
			r.translateClock()
		}
		r.translateMoving((at - r.before) / (r.frame.Elapsed - r.before))
	}
}

// decode decodes the packets of a frame.
func (r *reading) decode(frame []byte) {
	r.frame, r.bodies = carla.FrameStart{}, bodies{}
	for len(frame) > 0 {
		k, rest, err := carla.NextPacket(frame)
		if err != nil {
			return // State.Apply returns the error
		}
		frame = rest
		if what := r.unsupported[k.ID]; what != "" && !k.Empty() {
			r.lose(k, what)
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
			if what := omitted(b); what != "" {
				r.losses.Lost(r.original.Channel.Topic, what).Add(1)
			}
			r.keep(b)
		}
	}
}

// lose counts a packet that has no message.
func (r *reading) lose(k carla.Packet, what string) {
	if k.ID == carla.IDVehicleLight {
		if b, err := r.decoder.Decode(k); err == nil && !lit(*b.(*carla.VehicleLightList)) {
			return
		}
	}
	r.losses.Lost(r.original.Channel.Topic, what).Add(1)
}

func (r *reading) keep(b carla.Body) {
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

// emit adds a message, unless the channel is nil.
func (r *reading) emit(c *codec.Channel, m msgs.Message) {
	if c == nil {
		return
	}
	err := r.batch.Add(codec.Message{Channel: c, LogTime: r.now},
		func(dst []byte) ([]byte, error) { return cdr.Append(dst, m) })
	if err != nil {
		r.fail(err)
	}
}

func (r *reading) header() std_msgs.Header { return std_msgs.Header{Stamp: r.stamp, FrameId: mapFrame} }
