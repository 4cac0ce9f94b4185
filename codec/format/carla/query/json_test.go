package query

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec/format/carla"
)

// answer is the JSON answer to a query.
type answer struct {
	Version   int
	Profile   string
	Date      int64
	Map       string
	Frames    []json.RawMessage
	LastFrame uint64 `json:"last_frame"`
	Duration  float64
}

// parseAnswer parses a text, which must be one JSON object that ends its line.
func parseAnswer(t testing.TB, text []byte) (a answer) {
	require.NoError(t, json.Unmarshal(text, &a))
	require.True(t, bytes.HasSuffix(text, []byte("}\n")))
	return a
}

// jsonFrames returns the frames of Info's JSON.
func jsonFrames(t testing.TB, r *carla.Reader, all bool) []string {
	var b bytes.Buffer
	require.NoError(t, Info(&b, r, all, Options{JSON: true}))
	var list []string
	for _, f := range parseAnswer(t, b.Bytes()).Frames {
		list = append(list, string(f))
	}
	return list
}

func TestJSON(t *testing.T) {
	r := logOfAllPackets(t)
	var b bytes.Buffer
	require.NoError(t, Info(&b, r, false, Options{JSON: true}))
	got := parseAnswer(t, b.Bytes())
	events := got.Frames
	got.Frames = nil
	require.Equal(t, answer{Version: 2, Profile: "ue4-0.9.16", Date: 1_700_000_000, Map: "Town03", LastFrame: 2,
		Duration: 0.5}, got)
	require.Len(t, events, 1)
	require.JSONEq(t, `{"frame":1,"elapsed":0,"duration":0.5,
		"event_add":[
			{"actor":1,"type":0,"location":{"x":1000000,"y":123456.5,"z":-0.000009999999747378752},"rotation":{"x":0,
			"y":0,"z":0},"blueprint":0,"blueprint_id":"spectator","attributes":[]},
			{"actor":7,"type":1,"location":{"x":0,"y":0,"z":0},"rotation":{"x":0,"y":0,"z":0},"blueprint":0,
			"blueprint_id":"vehicle.audi.tt","attributes":[{"type":4,"id":"role_name","value":"hero"},{"type":0,
			"id":"empty","value":""}]}],
		"event_del":[8],"event_parent":[{"actor":9,"parent":7}],
		"collision":[{"number":3,"actor1":7,"actor2":4294967295,"hero1":true,"hero2":false},{"number":4,"actor1":1,
		"actor2":7,"hero1":false,"hero2":true}],
		"weather":[{"cloudiness":1,"precipitation":2,"precipitation_deposits":3,"wind_intensity":4,
		"sun_azimuth_angle":5,"sun_altitude_angle":6,"fog_density":7,"fog_distance":8,"fog_falloff":9,"wetness":10,
		"scattering_intensity":11,"mie_scattering_scale":12,"rayleigh_scattering_scale":13,"dust_storm":14}]
	}`, string(events[0]))

	all := jsonFrames(t, r, true)
	require.Len(t, all, 2)
	require.Contains(t, all[0], `"bounding_box":[{"actor":1,"origin":{"x":"NaN","y":"NaN","z":"Infinity"},`+
		`"extension":{"x":"-Infinity","y":0,"z":0}}]`)
	require.Contains(t, all[0], `"anim_vehicle":[{"actor":7,"steering":-0.25,"throttle":1,"brake":0.5,`+
		`"hand_brake":true,"gear":-1}]`)
	require.Contains(t, all[0], `"platform_time":{"seconds":0.125}`)
	require.Contains(t, all[0], `"physics_control":[{"actor":7,"max_rpm":1,"moi":2,`)
	require.JSONEq(t, `{"frame":2,"elapsed":0.5,"duration":-1}`, all[1])
}

func TestJSONSamples(t *testing.T) {
	for name, count := range map[string]int{"scenario_runner_DistanceToLaneCenter.log": 432,
		"sr2020_DistanceToLaneCenter.log": 461} {
		if testing.Short() && count == 432 {
			continue // this log is the longer one
		}
		r := openSample(t, name)
		require.Len(t, jsonFrames(t, r, true), count)
		require.Len(t, jsonFrames(t, r, false), 8) // frames in which actors are created, destroyed or attached
	}
}

func TestJSONOfQueries(t *testing.T) {
	r := buildLog(t, carla.UE4,
		[]carla.Body{
			&carla.EventAddList{{Actor: 1, Type: carla.ActorVehicle, BlueprintID: "vehicle.audi.tt"}},
			&carla.PositionList{{Actor: 1}},
			&carla.CollisionList{{Actor1: 1, Actor2: carla.NoActor, Hero1: true}},
		},
		[]carla.Body{&carla.PositionList{{Actor: 1}}}, nil)
	var b bytes.Buffer
	require.NoError(t, Collisions(&b, r, 'a', 'a', Options{JSON: true}))
	const head = `{"version":1,"profile":"ue4-0.9.15","date":1700000000,"map":"Town03",`
	require.JSONEq(t,
		head+
			`"collisions":[{"time":0,"actors":[{"id":1,"type":"v","name":"vehicle.audi.tt","hero":true},{"id":4294967295,"type":"o","name":"","hero":false}]}],
		"last_frame":3,"duration":1}`, b.String())
	b.Reset()
	require.NoError(t, Blocked(&b, r, 1, 10, Options{JSON: true}))
	require.JSONEq(t, head+`"blocked":[{"time":0,"id":1,"name":"vehicle.audi.tt","duration":1}],"last_frame":3,`+
		`"duration":1}`, b.String())
	b.Reset()
	require.NoError(t, Blocked(&b, r, 2, 10, Options{JSON: true}))
	require.JSONEq(t, head+`"blocked":[],"last_frame":3,"duration":1}`, b.String())
	b.Reset()
	require.NoError(t, Info(&b, buildLog(t, carla.UE5), true, Options{JSON: true}))
	require.JSONEq(t, `{"version":1,"profile":"ue4-0.9.15","date":1700000000,"map":"Town03","frames":[],`+
		`"last_frame":0,"duration":0}`, b.String())
}
