package codec

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const kiltedProfile = `
- history: unknown
  depth: 0
  reliability: reliable
  durability: transient_local
  deadline:
    sec: 9223372036
    nsec: 854775807
  lifespan:
    sec: 10
    nsec: 0
  liveliness: automatic
  liveliness_lease_duration:
    sec: 9223372036
    nsec: 854775807
  avoid_ros_namespace_conventions: false
`

const foxyProfiles = "- history: 3\n  depth: 0\n  reliability: 1\n  durability: 1\n  deadline:\n    sec: " +
	"2147483647\n    nsec: 4294967295\n  lifespan:\n    sec: 10\n    nsec: 0\n  liveliness: 1\n  " +
	"liveliness_lease_duration:\n    sec: 2147483647\n    nsec: 2147483647\n  avoid_ros_namespace_conventions: " +
	"false\n- history: 1\n  depth: 7\n  reliability: 2\n  durability: 2\n  deadline:\n    sec: 0\n    nsec: 0\n  " +
	"lifespan:\n    sec: 0\n    nsec: 500\n  liveliness: 3\n  liveliness_lease_duration:\n    sec: 1\n    nsec: 5\n  " +
	"avoid_ros_namespace_conventions: false"

func TestParseQoSProfiles(t *testing.T) {
	rosout := QoS{
		History: UnknownHistory, Reliability: Reliable, Durability: TransientLocal, Deadline: Infinite,
		Lifespan:   10 * time.Second,
		Liveliness: Automatic, LivelinessLease: Infinite,
	}
	with := func(h History) QoS {
		q := DefaultQoS()
		q.History, q.Depth = h, 0
		return q
	}
	for _, c := range []struct {
		name, text string
		want       []QoS
	}{
		{"none", "", nil},
		{"empty sequence", "[]", nil},
		{"names", kiltedProfile, []QoS{rosout}},
		{"repeated", kiltedProfile + kiltedProfile, []QoS{rosout}},
		{"numbers", foxyProfiles, []QoS{rosout, {
			History: KeepLast, Depth: 7, Reliability: BestEffort, Durability: Volatile, Deadline: Infinite,
			Lifespan:   500,
			Liveliness: ManualByTopic, LivelinessLease: time.Second + 5,
		}}},
		{"unlimited", "- history: 3\n  depth: 18446744073709551615\n- history: 1\n  depth: 18446744073709551615",
			[]QoS{with(UnknownHistory), with(KeepAll)}},
		{"beyond the range", "- deadline: {sec: 18446744073709551615, nsec: 18446744073709551615}",
			[]QoS{DefaultQoS()}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := ParseQoSProfiles(c.text)
			require.NoError(t, err)
			require.Equal(t, c.want, got)
			again, err := ParseQoSProfiles(FormatQoSProfiles(got))
			require.NoError(t, err)
			require.Equal(t, got, again)
		})
	}
}

func TestFormatQoSProfilesIsWhatHumbleWrites(t *testing.T) {
	require.Equal(t, "", FormatQoSProfiles(nil))
	q := DefaultQoS()
	require.Equal(t, "- history: 1\n  depth: 10\n  reliability: 1\n  durability: 2\n  deadline:\n    sec: "+
		"9223372036\n    nsec: 854775807\n  lifespan:\n    sec: 9223372036\n    nsec: 854775807\n  liveliness: 1\n  "+
		"liveliness_lease_duration:\n    sec: 9223372036\n    nsec: 854775807\n  avoid_ros_namespace_conventions: "+
		"false",
		FormatQoSProfiles([]QoS{q}))
}

func TestParseQoSOverrides(t *testing.T) {
	got, err := ParseQoSOverrides([]byte(`
/talker:
  reliability: best_effort
  history: keep_all
  avoid_ros_namespace_conventions: false
/camera:
  depth: 3
  durability: transient_local
  deadline: {sec: 1, nsec: 500000000}
  lifespan: {}
`))
	require.NoError(t, err)
	talker, camera := DefaultQoS(), DefaultQoS()
	talker.Reliability, talker.History = BestEffort, KeepAll
	camera.Depth, camera.Durability, camera.Deadline = 3, TransientLocal, 1500*time.Millisecond
	require.Equal(t, map[string]QoS{"/talker": talker, "/camera": camera}, got)
}

func TestParseQoSOverridesSaysWhatIsWrong(t *testing.T) {
	for text, want := range map[string]string{
		"/a: {relyability: reliable}":        `topic /a: unknown key "relyability"; known are history,`,
		"/a: {reliability: quite}":           `topic /a: reliability: "quite" is not one of system_default, reliable,`,
		"/a: {deadline: {sec: 1}}":           "topic /a: deadline: must have both sec and nsec",
		"/a: {deadline: {second: 1}}":        "topic /a: deadline: must have both sec and nsec",
		"/a: {lifespan: {sec: -1, nsec: 0}}": "topic /a: lifespan: ",
		"/a: {depth: -1}":                    `topic /a: depth: "-1" is not a number of messages`,
		"/a: {depth: many}":                  `topic /a: depth: "many" is not a number of messages`,
		"- /a":                               "parse QoS overrides: ",
	} {
		t.Run(text, func(t *testing.T) {
			_, err := ParseQoSOverrides([]byte(text))
			require.ErrorContains(t, err, want)
		})
	}
}

func FuzzParseQoSProfiles(f *testing.F) {
	f.Add(kiltedProfile)
	f.Add(foxyProfiles)
	f.Fuzz(func(t *testing.T, text string) {
		profiles, err := ParseQoSProfiles(text)
		if err != nil {
			return
		}
		again, err := ParseQoSProfiles(FormatQoSProfiles(profiles))
		require.NoError(t, err)
		require.Equal(t, profiles, again)
	})
}
