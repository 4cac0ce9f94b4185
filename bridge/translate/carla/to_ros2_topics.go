package carla

import (
	"fmt"
	"regexp"
	"slices"

	"tapedeck/bridge"
	"tapedeck/codec"
)

// log is a surveyed log, with the topics to which it is translated.
type log struct {
	*survey
	topics []codec.TopicInfo
	err    error // the error that prevents the translation of the log

	clock, tf, tfStatic, status, actorList, world *codec.Channel
	lightStatus, lightInfo, weather, markers      *codec.Channel // nil without traffic lights, weather or boxes

	names    map[uint32]*actorTopics
	options  ReadOptions
	followed uint32 // the actor that the spectator follows; 0: none
}

// actorTopics are the topics of an actor. A topic without messages is nil.
type actorTopics struct {
	name                                                       string // name in topics, and name of the actor's frame
	odometry, control, status, info, walkerControl, collisions *codec.Channel
}

// topicElement matches an element of a topic's name.
var topicElement = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// newLog returns a surveyed log with its topics.
func (t *translator) newLog(s *survey) (*log, error) {
	l := &log{survey: s, names: map[uint32]*actorTopics{}, options: t.options}
	var err error
	l.followed, err = t.options.followedActor(s.actors)
	if err != nil {
		return nil, err
	}
	b := channelBuilder{translator: t, log: l, models: map[string]*codec.Channel{}}
	latched := bridge.LatchedQoS()
	l.clock = b.add("/clock", "rosgraph_msgs/msg/Clock", codec.DefaultQoS(), s.clocks)
	l.world = b.add("/carla/world_info", "carla_msgs/msg/CarlaWorldInfo", latched, min(s.frames, 1))
	l.status = b.add("/carla/status", "carla_msgs/msg/CarlaStatus", codec.DefaultQoS(), s.frames)
	l.actorList = b.add("/carla/actor_list", "carla_msgs/msg/CarlaActorList", latched, s.lists)
	l.tfStatic = b.add("/tf_static", "tf2_msgs/msg/TFMessage", latched, s.fixed)
	l.tf = b.add("/tf", "tf2_msgs/msg/TFMessage", codec.DefaultQoS(), s.places)
	l.lightInfo = b.add("/carla/traffic_lights/info", "carla_msgs/msg/CarlaTrafficLightInfoList", latched,
		s.lightChanges)
	l.lightStatus = b.add("/carla/traffic_lights/status", "carla_msgs/msg/CarlaTrafficLightStatusList",
		codec.DefaultQoS(), s.lights)
	l.weather = b.add("/carla/weather_control", "carla_msgs/msg/CarlaWeatherParameters", latched, s.weathers)
	if slices.ContainsFunc(s.actors, func(a *actorSurvey) bool { return a.hasBox && !t.options.ignores(a) }) {
		l.markers = b.add("/carla/markers", "visualization_msgs/msg/MarkerArray", codec.DefaultQoS(), s.frames)
	}

	names := namesOf(s.actors)
	for _, a := range s.actors {
		if t.options.ignores(a) {
			continue
		}
		n := &actorTopics{name: names[a.id]}
		l.names[a.id] = n
		prefix := "/carla/" + n.name
		n.collisions = b.add(prefix+"/collision", "carla_msgs/msg/CarlaCollisionEvent", codec.DefaultQoS(),
			a.collisions)
		if a.kind != vehicle && a.kind != walker {
			continue
		}
		n.odometry = b.add(prefix+"/odometry", "nav_msgs/msg/Odometry", codec.DefaultQoS(), a.poses)
		if a.kind == walker {
			n.walkerControl = b.add(prefix+"/walker_control_cmd", "carla_msgs/msg/CarlaWalkerControl",
				codec.DefaultQoS(), a.frames)
			continue
		}
		n.control = b.add(prefix+"/vehicle_control_cmd", "carla_msgs/msg/CarlaEgoVehicleControl", codec.DefaultQoS(),
			a.frames)
		n.status = b.add(prefix+"/vehicle_status", "carla_msgs/msg/CarlaEgoVehicleStatus", codec.DefaultQoS(), a.frames)
		n.info = b.add(prefix+"/vehicle_info", "carla_msgs/msg/CarlaEgoVehicleInfo", latched, 1)
	}
	return l, b.err
}

// namesOf returns the names that actors have in topics and frames, by the ids of the actors.
func namesOf(actors []*actorSurvey) map[uint32]string {
	roles := map[string]int{}
	for _, a := range actors {
		if a.kind == vehicle || a.kind == walker {
			roles[a.role]++
		}
	}
	names := map[uint32]string{}
	for _, a := range actors {
		names[a.id] = fmt.Sprintf("actor%d", a.id)
		switch {
		case a.kind == spectator:
			names[a.id] = "spectator"
		case (a.kind == vehicle || a.kind == walker) && roles[a.role] == 1 && topicElement.MatchString(a.role) &&
			!reservedRoles.MatchString(a.role):
			names[a.id] = a.role
		}
	}
	return names
}

// reservedRoles matches the roles that cannot be names of actors, because other topics or frames have these names.
var reservedRoles = regexp.MustCompile(`^(traffic_lights|spectator|map|actor[0-9]+)$`)

// channelBuilder makes the channels of a log.
type channelBuilder struct {
	*translator
	log    *log
	models map[string]*codec.Channel // channels to copy, by type of message
	err    error
}

// add adds a channel with count messages and returns it. It returns nil if count is 0 or after an error.
func (b *channelBuilder) add(topic, typeName string, qos codec.QoS, count uint64) *codec.Channel {
	if count == 0 || b.err != nil {
		return nil
	}
	if b.models[typeName] == nil {
		b.models[typeName], b.err = codec.NewChannel(b.library, topic, typeName, qos)
		if b.err != nil {
			return nil
		}
	}
	c := *b.models[typeName]
	c.Topic, c.QoS = topic, []codec.QoS{qos}
	b.log.topics = append(b.log.topics, codec.TopicInfo{Channel: &c, MessageCount: count})
	return &c
}
