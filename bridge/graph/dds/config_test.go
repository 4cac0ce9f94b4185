package dds

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
)

func TestDomainID(t *testing.T) {
	for _, test := range []struct {
		domain int
		env    string
		want   int
		err    string
	}{
		{-1, "", 0, ""},
		{-1, "42", 42, ""},
		{7, "42", 7, ""},
		{-1, "x", 0, `ROS_DOMAIN_ID is "x", want a number from 0 to 232`},
		{-1, "-3", 0, `ROS_DOMAIN_ID is "-3", want a number from 0 to 232`},
		{-1, "233", 0, "domain id 233 is too large, ports go up to 232"},
		{233, "", 0, "domain id 233 is too large, ports go up to 232"},
	} {
		got, err := domainID(test.domain, func(string) string { return test.env })
		if test.err != "" {
			require.EqualError(t, err, test.err)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, test.want, got)
	}
}

func TestConfiguration(t *testing.T) {
	wrap := func(s string) string { return ",<CycloneDDS><Domain>" + s + "</Domain></CycloneDDS>" }
	often := wrap("<Discovery><SPDPInterval>1s</SPDPInterval></Discovery>")
	loopback := wrap(`<General><Interfaces><NetworkInterface address="127.0.0.1"/></Interfaces></General>`) + often
	unicast := wrap("<General><AllowMulticast>false</AllowMulticast></General>")
	peers := func(addresses ...string) string {
		return wrap(`<Discovery><Peers><Peer address="` + strings.Join(addresses,
			`"/><Peer address="`) + `"/></Peers></Discovery>`)
	}
	localhost := often + unicast + peers("127.0.0.1", "192.0.2.1", "192.0.2.2")
	off := unicast + wrap(fmt.Sprintf("<Discovery><ParticipantIndex>none</ParticipantIndex><Tag>"+
		"ros_discovery_off_%d</Tag></Discovery>", os.Getpid()))
	const overruled = "ROS_LOCALHOST_ONLY is 1, so that ROS_AUTOMATIC_DISCOVERY_RANGE and ROS_STATIC_PEERS are ignored"
	only := func(distro, reach, peers string) map[string]string {
		return map[string]string{"ROS_LOCALHOST_ONLY": "1", "ROS_DISTRO": distro,
			"ROS_AUTOMATIC_DISCOVERY_RANGE": reach,
			"ROS_STATIC_PEERS":              peers}
	}
	reach := func(reach, peers string) map[string]string {
		return map[string]string{"ROS_AUTOMATIC_DISCOVERY_RANGE": reach, "ROS_STATIC_PEERS": peers}
	}
	here := machine{loopbackMulticasts: true, addresses: []string{"192.0.2.1", "192.0.2.2"}}
	base, _ := configuration(0, here, func(string) string { return "" })
	for _, test := range []struct {
		name     string
		env      map[string]string
		want     string
		warnings []string
	}{
		{"nothing", nil, "", nil},
		{"not localhost only", map[string]string{"ROS_LOCALHOST_ONLY": "0"}, "", nil},
		{"localhost only", only("", "", ""), loopback, nil},
		{"localhost only, peers", only("", "", "a"), loopback, []string{overruled}},
		{"localhost only, range", only("", "SUBNET", ""), localhost, []string{overruled}},
		{"localhost only in Humble", only("humble", "", ""), loopback, nil},
		{"localhost only in Humble, range", only("humble", "SUBNET", "a"), loopback, []string{overruled}},
		{"localhost only in Iron", only("iron", "", ""), localhost, nil},
		{"localhost only in Jazzy", only("jazzy", "", ""), localhost, nil},
		{"localhost only in Jazzy, peers", only("jazzy", "", "a"), localhost, []string{overruled}},
		{"localhost only in Jazzy, misspelt range", only("jazzy", "local", ""), localhost, []string{overruled}},
		{"localhost only in Kilted", only("kilted", "", "a"), peers("a"),
			[]string{"ROS_LOCALHOST_ONLY is ignored, as ROS 2 does since Kilted; set " +
				"ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST instead"}},
		{"localhost", reach("LOCALHOST", ""), localhost, nil},
		{"localhost with peers", reach("LOCALHOST", "10.0.0.1; a<b;"),
			often + unicast + peers("127.0.0.1", "192.0.2.1", "192.0.2.2", "10.0.0.1", "a&lt;b"), nil},
		{"subnet", reach("SUBNET", ""), "", nil},
		{"subnet with peers", reach("SUBNET", "10.0.0.1"), peers("10.0.0.1"), nil},
		{"peers", reach("", "10.0.0.1;10.0.0.2"), peers("10.0.0.1", "10.0.0.2"), nil},
		{"long peer", reach("", strings.Repeat("a", 255)+";"+strings.Repeat("b", 256)), peers(strings.Repeat("a", 255)),
			[]string{"an address in ROS_STATIC_PEERS is ignored, as it has more than 255 characters: " +
				strings.Repeat("b",
					40) + "…"}},
		{"system default", reach("SYSTEM_DEFAULT", ""), "", nil},
		{"system default with peers", reach("SYSTEM_DEFAULT", "10.0.0.1"), "",
			[]string{"ROS_STATIC_PEERS is ignored, as ROS_AUTOMATIC_DISCOVERY_RANGE is SYSTEM_DEFAULT"}},
		{"off", reach("OFF", ""), off, nil},
		{"off with peers", reach("OFF", "a"), off, []string{"ROS_STATIC_PEERS is ignored, as " +
			"ROS_AUTOMATIC_DISCOVERY_RANGE is OFF"}},
		{"misspelt", reach("local", "a"), often + unicast + peers("127.0.0.1", "192.0.2.1", "192.0.2.2", "a"),
			[]string{`ROS_AUTOMATIC_DISCOVERY_RANGE is "local", want OFF, LOCALHOST, SUBNET or SYSTEM_DEFAULT; going ` +
				`on with LOCALHOST`}},
		{"the user's last", map[string]string{"CYCLONEDDS_URI": "file:///x", "ROS_LOCALHOST_ONLY": "1"},
			loopback + ",file:///x", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, warnings := configuration(0, here, func(name string) string { return test.env[name] })
			require.Equal(t, base+test.want, got)
			require.Equal(t, test.warnings, warnings)
		})
	}
	mute, _ := configuration(0, machine{}, func(name string) string { return only("", "", "")[name] })
	require.Equal(t, base+loopback+unicast, mute)
	last, _ := configuration(232, here, func(string) string { return "" })
	require.Contains(t, last, "<MaxAutoParticipantIndex>62<", "ports go up to 65535")
}

func TestReceiveBufferHint(t *testing.T) {
	require.Contains(t, receiveBufferHint("212992\n"), "sudo sysctl -w net.core.rmem_max=16777216")
	require.Empty(t, receiveBufferHint("16777216\n"))
	require.Empty(t, receiveBufferHint("33554432\n"))
	require.Empty(t, receiveBufferHint("?"))
}

// seekerRole ends when it discovers the publisher of a server. If NEVER is set, it fails when it discovers one.
func seekerRole() error {
	n, err := Open(bridge.Options{Name: "observer", Namespace: "/test", Domain: -1})
	if err != nil {
		return err
	}
	defer n.Close()
	never, end := os.Getenv("NEVER") != "", time.Now().Add(patience)
	if never {
		end = time.Now().Add(quiet)
	}
	for ; time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		switch found := len(publishersOf(n, "/test/numbers")); {
		case found > 0 && never:
			return errors.New("there is a server")
		case found == 1:
			return nil
		}
	}
	if !never {
		return errors.New("there is no server")
	}
	return nil
}

// TestDiscoveryRange checks whether two processes discover each other with different environments. A node of ROS 2
// Humble with Cyclone DDS can only be found by multicast, because the kernel chooses its ports, from 32768 on. With
// such a node, the test uses a domain below 101, because its ports are below 32768. Tests of other
// packages use such domains too, so a tag separates the test from them.
func TestDiscoveryRange(t *testing.T) {
	t.Parallel()
	const loopback = `<CycloneDDS><Domain><General><Interfaces><NetworkInterface address="127.0.0.1" ` +
		`multicast="true"/></Interfaces></General></Domain></CycloneDDS>`
	const humble = `,<Discovery><ParticipantIndex>none</ParticipantIndex></Discovery>`
	for i, test := range []struct {
		ours, theirs string // ROS_AUTOMATIC_DISCOVERY_RANGE
		found        bool
	}{
		{"SUBNET", "SUBNET", true},
		{"SUBNET", "LOCALHOST", true},
		{"SUBNET", "humble", true},
		{"SYSTEM_DEFAULT", "LOCALHOST", true},
		{"SYSTEM_DEFAULT", "humble", true},
		{"LOCALHOST", "SUBNET", true},
		{"LOCALHOST", "LOCALHOST", true},
		{"LOCALHOST", "humble", false},
		{"OFF", "SUBNET", false},
		{"OFF", "OFF", false},
	} {
		t.Run(test.ours+" "+test.theirs, func(t *testing.T) {
			t.Parallel()
			both := []string{"ROS_LOCALHOST_ONLY=", "CYCLONEDDS_URI=" + loopback}
			theirs := []string{"ROS_AUTOMATIC_DISCOVERY_RANGE=" + test.theirs}
			if test.theirs == "humble" {
				tagged := fmt.Sprintf("CYCLONEDDS_URI=%s,<Discovery><Tag>range-%d-%d</Tag></Discovery>", loopback,
					os.Getpid(), i)
				both = append(both, fmt.Sprint("ROS_DOMAIN_ID=", 20+os.Getpid()%80), tagged)
				theirs = []string{"ROS_AUTOMATIC_DISCOVERY_RANGE=", tagged + humble}
			}
			start(t, "server", append(both[:len(both):len(both)], theirs...)...)
			ours := append(both, "ROS_AUTOMATIC_DISCOVERY_RANGE="+test.ours)
			if !test.found {
				ours = append(ours, "NEVER=1")
			}
			require.NoError(t, start(t, "seeker", ours...).Stop())
		})
	}
}

// TestLocalhostOnly checks that two processes find each other with different meanings of ROS_LOCALHOST_ONLY.
func TestLocalhostOnly(t *testing.T) {
	for _, distros := range [][2]string{{"", ""}, {"humble", ""}, {"jazzy", "jazzy"}} {
		t.Run(strings.Join(distros[:], " "), func(t *testing.T) {
			t.Parallel()
			start(t, "server", "ROS_DISTRO="+distros[1])
			require.NoError(t, start(t, "seeker", "ROS_DISTRO="+distros[0]).Stop())
		})
	}
}

func TestBadConfiguration(t *testing.T) {
	t.Setenv("CYCLONEDDS_URI", "<CycloneDDS><Domain><Nonsense/></Domain></CycloneDDS>")
	_, err := Open(bridge.Options{Name: "node", Domain: -1})
	require.ErrorContains(t, err, "open node /node: create DDS domain")
	require.ErrorContains(t, err, "Nonsense")
	t.Setenv("CYCLONEDDS_URI", "")
	newNode(t, "node")
}
