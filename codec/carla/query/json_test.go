package query

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec/carla"
)

func lines(t testing.TB, r *carla.Reader, all bool) []string {
	var b bytes.Buffer
	require.NoError(t, JSON(&b, r, all))
	list := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	for _, line := range list {
		require.True(t, json.Valid([]byte(line)), line)
	}
	return list
}

func TestJSON(t *testing.T) {
	r := everything(t)
	events := lines(t, r, false)
	require.Len(t, events, 2)
	require.JSONEq(t, `{"version":2,"profile":"ue4-0.9.16","date":1700000000,"map":"Town03"}`, events[0])
	require.JSONEq(t, `{"frame":1,"elapsed":0,"duration":0.5,
		"event_add":[
			{"actor":1,"type":0,"location":{"x":1000000,"y":123456.5,"z":-0.000009999999747378752},"rotation":{"x":0,"y":0,"z":0},"blueprint":0,"blueprint_id":"spectator","attributes":[]},
			{"actor":7,"type":1,"location":{"x":0,"y":0,"z":0},"rotation":{"x":0,"y":0,"z":0},"blueprint":0,"blueprint_id":"vehicle.audi.tt","attributes":[{"type":4,"id":"role_name","value":"hero"},{"type":0,"id":"empty","value":""}]}],
		"event_del":[8],"event_parent":[{"actor":9,"parent":7}],
		"collision":[{"number":3,"actor1":7,"actor2":4294967295,"hero1":true,"hero2":false},{"number":4,"actor1":1,"actor2":7,"hero1":false,"hero2":true}],
		"weather":[{"cloudiness":1,"precipitation":2,"precipitation_deposits":3,"wind_intensity":4,"sun_azimuth_angle":5,"sun_altitude_angle":6,"fog_density":7,"fog_distance":8,"fog_falloff":9,"wetness":10,"scattering_intensity":11,"mie_scattering_scale":12,"rayleigh_scattering_scale":13,"dust_storm":14}]
	}`, events[1])

	all := lines(t, r, true)
	require.Len(t, all, 3)
	require.Contains(t, all[1], `"bounding_box":[{"actor":1,"origin":{"x":null,"y":null,"z":null},"extension":{"x":null,"y":0,"z":0}}]`)
	require.Contains(t, all[1], `"anim_vehicle":[{"actor":7,"steering":-0.25,"throttle":1,"brake":0.5,"hand_brake":true,"gear":-1}]`)
	require.Contains(t, all[1], `"platform_time":{"seconds":0.125}`)
	require.Contains(t, all[1], `"physics_control":[{"actor":7,"max_rpm":1,"moi":2,`)
	require.JSONEq(t, `{"frame":2,"elapsed":0.5,"duration":-1}`, all[2])
}

func TestJSONSamples(t *testing.T) {
	for name, frames := range map[string]int{"scenario_runner_DistanceToLaneCenter.log": 432, "sr2020_DistanceToLaneCenter.log": 461} {
		r := openSample(t, name)
		require.Len(t, lines(t, r, true), 1+frames)
		require.Len(t, lines(t, r, false), 1+8) // with actors that come, go or are attached
	}
}
