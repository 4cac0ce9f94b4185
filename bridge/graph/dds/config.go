package dds

import (
	"encoding/xml"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// receiveBuffer is the requested size of the socket receive buffer in bytes. It must hold a large message, because all
// fragments of a message may arrive at once.
const receiveBuffer = 16 << 20

// reordered is the largest number of samples of a publisher that wait for an earlier sample to be resent.
const reordered = 4096

// domainID returns domain. If domain is negative, it returns the value of ROS_DOMAIN_ID.
func domainID(domain int, getenv func(string) string) (int, error) {
	if domain < 0 {
		text := getenv("ROS_DOMAIN_ID")
		if text == "" {
			return 0, nil
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			return 0, fmt.Errorf("ROS_DOMAIN_ID is %q, want a number from 0 to 232", text)
		}
		domain = n
	}
	if domain > 232 {
		return 0, fmt.Errorf("domain id %d is too large, ports go up to 232", domain)
	}
	return domain, nil
}

// maxPeerLength is the length in bytes of the longest address in ROS_STATIC_PEERS, as in rcl.
const maxPeerLength = 255

// discovery describes where participants look for other participants.
type discovery struct {
	reach    string   // "OFF", "LOCALHOST", "SUBNET" or "SYSTEM_DEFAULT"
	peers    []string // additional addresses
	loopback bool     // use the loopback interface only
}

// newDiscovery returns the discovery that ROS 2's environment variables ask for. addresses are the addresses of this
// machine; warnings are for the user.
func newDiscovery(addresses []string, getenv func(string) string) (d discovery, warnings []string) {
	for peer := range strings.SplitSeq(getenv("ROS_STATIC_PEERS"), ";") {
		peer = strings.TrimSpace(peer)
		switch {
		case len(peer) > maxPeerLength:
			warnings = append(warnings, fmt.Sprintf("an address in ROS_STATIC_PEERS is ignored, as it has more than "+
				"%d characters: %.40s…", maxPeerLength, peer))
		case peer != "":
			d.peers = append(d.peers, peer)
		}
	}
	d.reach = getenv("ROS_AUTOMATIC_DISCOVERY_RANGE")
	if getenv("ROS_LOCALHOST_ONLY") == "1" {
		ignored := len(d.peers) > 0 || d.reach != ""
		switch distro := getenv("ROS_DISTRO"); {
		case gidSize(distro) == oldGID || distro == "" && d.reach == "":
			d = discovery{reach: "SYSTEM_DEFAULT", loopback: true}
		case distro == "" || distro == "iron" || distro == "jazzy":
			d = discovery{reach: "LOCALHOST"}
		default:
			ignored = false
			warnings = append(warnings, "ROS_LOCALHOST_ONLY is ignored, as ROS 2 does since Kilted; set "+
				"ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST instead")
		}
		if ignored {
			warnings = append(warnings, "ROS_LOCALHOST_ONLY is 1, so that ROS_AUTOMATIC_DISCOVERY_RANGE and "+
				"ROS_STATIC_PEERS are ignored")
		}
	}
	switch d.reach {
	case "":
		d.reach = "SUBNET"
	case "SUBNET", "LOCALHOST":
	case "SYSTEM_DEFAULT", "OFF":
		if len(d.peers) > 0 {
			warnings = append(warnings, fmt.Sprintf("ROS_STATIC_PEERS is ignored, as ROS_AUTOMATIC_DISCOVERY_RANGE "+
				"is %s", d.reach))
			d.peers = nil
		}
	default:
		warnings = append(warnings, fmt.Sprintf("ROS_AUTOMATIC_DISCOVERY_RANGE is %q, want OFF, LOCALHOST, SUBNET or "+
			"SYSTEM_DEFAULT; going on with LOCALHOST", d.reach))
		d.reach = "LOCALHOST"
	}
	if d.reach == "LOCALHOST" {
		// Cyclone DDS 11 (ROS 2 Lyrical) receives at the address of its interface only.
		d.peers = slices.Concat([]string{"127.0.0.1"}, addresses, d.peers)
	}
	return d, warnings
}

// configuration returns the configuration of a domain for Cyclone DDS: fragments of XML. Later fragments win.
// The fragments are our settings, the settings of ROS 2's environment variables, and the user's CYCLONEDDS_URI.
// warnings are for the user.
func configuration(domain int, m machine, getenv func(string) string) (config string, warnings []string) {
	// A participant index selects ports at which peers without multicast find the participant. ROS 2 allows 33 indexes,
	// but a large stack has more nodes.
	indexes := min(119, (65535-7400-250*domain-11)/2)
	fragments := []string{
		"<General><MaxMessageSize>65500B</MaxMessageSize><FragmentSize>64000B</FragmentSize></General>" +
			fmt.Sprintf("<Discovery><ParticipantIndex>auto</ParticipantIndex>"+
				"<MaxAutoParticipantIndex>%d</MaxAutoParticipantIndex></Discovery>", indexes) +
			fmt.Sprintf(`<Internal><SocketReceiveBufferSize max="%dMiB"/></Internal>`, receiveBuffer>>20) +
			// A sample that does not fit must also be sent again, and a fast publisher does not keep it long enough.
			fmt.Sprintf("<Internal><PrimaryReorderMaxSamples>%d</PrimaryReorderMaxSamples>"+
				"<SecondaryReorderMaxSamples>%[1]d</SecondaryReorderMaxSamples></Internal>", reordered),
	}
	d, warnings := newDiscovery(m.addresses, getenv)
	if d.loopback {
		fragments = append(fragments, `<General><Interfaces><NetworkInterface `+
			`address="127.0.0.1"/></Interfaces></General>`)
	}
	if d.reach == "LOCALHOST" || d.loopback {
		// Fast DDS expects the loopback interface to multicast. If it does not, Fast DDS must be contacted by unicast.
		fragments = append(fragments, "<Discovery><SPDPInterval>1s</SPDPInterval></Discovery>")
	}
	// Without this setting, Cyclone DDS finds out that an interface does not multicast, and prints a line about it.
	if d.reach == "LOCALHOST" || d.reach == "OFF" || d.loopback && !m.loopbackMulticasts {
		fragments = append(fragments, "<General><AllowMulticast>false</AllowMulticast></General>")
	}
	if d.reach == "OFF" {
		fragments = append(fragments, fmt.Sprintf(
			"<Discovery><ParticipantIndex>none</ParticipantIndex><Tag>ros_discovery_off_%d</Tag></Discovery>",
			os.Getpid()))
	}
	if len(d.peers) > 0 {
		var b strings.Builder
		for _, peer := range d.peers {
			b.WriteString(`<Peer address="`)
			_ = xml.EscapeText(&b, []byte(peer)) // writing to a Builder does not fail
			b.WriteString(`"/>`)
		}
		fragments = append(fragments, "<Discovery><Peers>"+b.String()+"</Peers></Discovery>")
	}
	for i, f := range fragments {
		fragments[i] = "<CycloneDDS><Domain>" + f + "</Domain></CycloneDDS>"
	}
	if uri := getenv("CYCLONEDDS_URI"); uri != "" {
		fragments = append(fragments, uri)
	}
	return strings.Join(fragments, ","), warnings
}

// receiveBufferHint returns advice if the kernel grants less than receiveBuffer, else "". limit is the content of
// /proc/sys/net/core/rmem_max.
func receiveBufferHint(limit string) string {
	n, err := strconv.Atoi(strings.TrimSpace(limit))
	if err != nil || n >= receiveBuffer {
		return ""
	}
	return fmt.Sprintf("the kernel grants sockets a receive buffer of %d kB; large messages (images, point clouds) "+
		"may get lost on "+
		"their way here. To allow %d MB: sudo sysctl -w net.core.rmem_max=%d", n>>10, receiveBuffer>>20, receiveBuffer)
}
