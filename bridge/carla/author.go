package carla

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"tapedeck/codec"
	"tapedeck/codec/carla"
	"tapedeck/codec/cdr"
	"tapedeck/msgs"
	"tapedeck/msgs/builtin_interfaces"
	"tapedeck/msgs/carla_msgs"
	"tapedeck/msgs/nav_msgs"
	"tapedeck/msgs/rosgraph_msgs"
	"tapedeck/msgs/tf2_msgs"
)

// WriteOptions say of a log what ROS 2 messages don't.
type WriteOptions struct {
	Profile carla.Profile // how it is laid out; the zero value is carla.UE4
	Map     string        // CarlaWorldInfo's goes first
	Step    time.Duration // from frame to frame where there is no /clock; 0 is 50 ms

	// Names are the names of the actors that topics and frames of other names than CARLA's bridge has are about:
	// "/odom": "hero", "base_link": "hero".
	Names map[string]string
	// Blueprints are those of actors, by name, that no CarlaActorList tells. Without one a vehicle is a vehicle.tesla.model3
	// and a walker a walker.pedestrian.0001.
	Blueprints map[string]string
}

// The blueprints of actors about which no more is known.
const (
	anyVehicle = "vehicle.tesla.model3"
	anyWalker  = "walker.pedestrian.0001"
)

// Write writes a log of what the ROS 2 messages of a recording tell: the reverse of the translator. A frame is what came from one
// /clock to the next, or in a step; actors that were told of stay until a CarlaActorList has them no more. left are the topics
// that tell nothing.
func Write(w codec.Writer, r codec.Reader, o WriteOptions) (left []string, err error) {
	info, err := r.Info()
	if err != nil {
		return nil, err
	}
	a := author{scene: newScene(o), step: cmp.Or(o.Step, 50*time.Millisecond), w: w}
	if o.Profile.Name == "" {
		a.profile = carla.UE4
	}
	wanted := map[*codec.Channel]bool{}
	for _, t := range info.Topics {
		if a.knows(t.Channel) {
			wanted[t.Channel] = true
			a.clocked = a.clocked || t.Channel.Topic == clockTopic && t.MessageCount > 0
		} else if !codec.IsEvents(t.Channel) {
			left = append(left, t.Channel.Topic)
		}
	}
	if err := a.survey(r); err != nil {
		return left, err
	}
	err = readAll(r, func(c *codec.Channel) bool { return wanted[c] }, a.message)
	if err == nil && a.begun {
		err = a.writeFrame()
	}
	return left, err
}

const clockTopic = "/clock"

// readAll calls f with all messages of the channels.
func readAll(r codec.Reader, topics func(*codec.Channel) bool, f func(*codec.Message) error) error {
	it, err := r.Read(codec.Query{Topics: topics})
	if err != nil {
		return err
	}
	defer it.Close()
	for {
		m, err := it.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = f(m)
		}
		if err != nil {
			return err
		}
	}
}

// author writes a log.
type author struct {
	*scene
	w       codec.Writer
	channel *codec.Channel
	clocked bool // there is a /clock
	step    time.Duration

	begun   bool
	start   time.Duration // of the first frame, by the clock or since 1970
	now     time.Duration // likewise, of the frame that is collected
	logTime int64         // of the first frame
	number  uint64        // of the frame before
	buf     []byte
}

// survey looks for the actors that there ever are, as their names depend on all of them.
func (a *author) survey(r codec.Reader) error {
	var list carla_msgs.CarlaActorList
	return readAll(r, func(c *codec.Channel) bool { return a.knows(c) && c.Type == list.TypeName() }, func(m *codec.Message) error {
		if err := cdr.Unmarshal(m.Data, &list); err != nil {
			return fmt.Errorf("%s at %d ns: %w", m.Channel.Topic, m.LogTime, err)
		}
		a.expect(list.Actors)
		return nil
	})
}

// knows says whether the messages of a channel tell something.
func (a *author) knows(c *codec.Channel) bool {
	if c.Encoding != codec.EncodingCDR {
		return false
	}
	switch newMessage(c.Type).(type) {
	case nil:
		return false
	case *rosgraph_msgs.Clock:
		return c.Topic == clockTopic
	case *nav_msgs.Odometry, *carla_msgs.CarlaEgoVehicleControl, *carla_msgs.CarlaWalkerControl, *carla_msgs.CarlaCollisionEvent:
		return a.subject(c.Topic) != ""
	}
	return true
}

// newMessage returns an empty message of a type that tells something; nil for others.
func newMessage(typeName string) msgs.Message {
	switch typeName {
	case "rosgraph_msgs/msg/Clock":
		return new(rosgraph_msgs.Clock)
	case "tf2_msgs/msg/TFMessage":
		return new(tf2_msgs.TFMessage)
	case "nav_msgs/msg/Odometry":
		return new(nav_msgs.Odometry)
	case "carla_msgs/msg/CarlaWorldInfo":
		return new(carla_msgs.CarlaWorldInfo)
	case "carla_msgs/msg/CarlaActorList":
		return new(carla_msgs.CarlaActorList)
	case "carla_msgs/msg/CarlaWeatherParameters":
		return new(carla_msgs.CarlaWeatherParameters)
	case "carla_msgs/msg/CarlaTrafficLightInfoList":
		return new(carla_msgs.CarlaTrafficLightInfoList)
	case "carla_msgs/msg/CarlaTrafficLightStatusList":
		return new(carla_msgs.CarlaTrafficLightStatusList)
	case "carla_msgs/msg/CarlaEgoVehicleControl":
		return new(carla_msgs.CarlaEgoVehicleControl)
	case "carla_msgs/msg/CarlaWalkerControl":
		return new(carla_msgs.CarlaWalkerControl)
	case "carla_msgs/msg/CarlaCollisionEvent":
		return new(carla_msgs.CarlaCollisionEvent)
	}
	return nil
}

// subject returns the name of the actor that a topic is about, "" for none.
func (a *author) subject(topic string) string {
	if name := a.options.Names[topic]; name != "" {
		return name
	}
	parts := strings.Split(topic, "/")
	if len(parts) == 4 && parts[0] == "" && parts[1] == "carla" {
		return parts[2]
	}
	return ""
}

// message takes a message into the frame that is collected. What comes from a time behind that ends it.
func (a *author) message(m *codec.Message) error {
	if err := a.take(m); err != nil {
		return fmt.Errorf("%s [%s] at %d ns: %w", m.Channel.Topic, m.Channel.Type, m.LogTime, err)
	}
	return nil
}

func (a *author) take(m *codec.Message) error {
	if !a.clocked {
		if err := a.advance(time.Duration(m.LogTime), m.LogTime); err != nil {
			return err
		}
	}
	message := newMessage(m.Channel.Type)
	if err := cdr.Unmarshal(m.Data, message); err != nil {
		return err
	}
	subject := a.subject(m.Channel.Topic)
	switch v := message.(type) {
	case *rosgraph_msgs.Clock:
		return a.advance(duration(v.Clock), m.LogTime)
	case *carla_msgs.CarlaWorldInfo:
		a.options.Map = v.MapName
	case *carla_msgs.CarlaActorList:
		a.list(v.Actors)
	case *tf2_msgs.TFMessage:
		for i := range v.Transforms {
			a.transform(&v.Transforms[i])
		}
	case *nav_msgs.Odometry:
		a.actor(subject, vehicle).move(v)
	case *carla_msgs.CarlaEgoVehicleControl:
		a.actor(subject, vehicle).control = *v
	case *carla_msgs.CarlaWalkerControl:
		a.actor(subject, walker).speed = v.Speed
	case *carla_msgs.CarlaCollisionEvent:
		a.collide(a.actor(subject, vehicle), v.OtherActorId)
	case *carla_msgs.CarlaWeatherParameters:
		a.weather = v
	case *carla_msgs.CarlaTrafficLightInfoList:
		for _, info := range v.TrafficLights {
			a.light(info)
		}
	case *carla_msgs.CarlaTrafficLightStatusList:
		a.states = v.TrafficLights
	}
	return nil
}

func duration(t builtin_interfaces.Time) time.Duration {
	return time.Duration(t.Sec)*time.Second + time.Duration(t.Nanosec)
}

// advance ends the frame that is collected if t is behind it.
func (a *author) advance(t time.Duration, logTime int64) error {
	if !a.begun {
		a.begun, a.start, a.now, a.logTime = true, t, t, logTime
		return nil
	}
	if t < a.now && a.clocked {
		return fmt.Errorf("the clock goes back from %v to %v; a log has one run of time: select one with --start and --end", a.now, t)
	}
	for !a.clocked && t >= a.now+a.step {
		if err := a.writeFrame(); err != nil {
			return err
		}
		a.now += a.step
	}
	if a.clocked && t > a.now {
		if err := a.writeFrame(); err != nil {
			return err
		}
		a.now = t
	}
	return nil
}

// writeFrame writes the frame that was collected.
func (a *author) writeFrame() error {
	if a.channel == nil {
		a.channel = &codec.Channel{
			Topic: carla.Topic, Type: carla.Type, Encoding: codec.EncodingCARLA,
			Metadata: map[string]string{carla.KeyProfile: a.profile.Name, carla.KeyMap: a.options.Map},
		}
	}
	a.number++
	elapsed := a.now - a.start
	start := carla.FrameStart{Frame: a.number, Duration: -1, Elapsed: elapsed.Seconds()}
	var err error
	a.buf = a.buf[:0]
	for _, b := range slices.Concat([]carla.Body{&start}, a.bodies(), []carla.Body{&carla.FrameEnd{}}) {
		if a.buf, err = carla.AppendPacket(a.buf, a.profile, b); err != nil {
			return fmt.Errorf("frame %d: %w", a.number, err)
		}
	}
	return a.w.Write(&codec.Message{Channel: a.channel, LogTime: a.logTime + int64(elapsed), Data: a.buf})
}
