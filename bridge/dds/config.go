package dds

import (
	"encoding/xml"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// receiveBuffer is the socket receive buffer that is asked for, in bytes. It decides whether large messages arrive: all
// fragments of one may be on their way at once.
const receiveBuffer = 16 << 20

// domainID returns domain or, where that is negative, what ROS_DOMAIN_ID says.
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

// configuration returns the configuration of a domain as Cyclone DDS takes it, fragments of XML of which later ones win:
// ours, what ROS 2's environment variables mean, and the user's CYCLONEDDS_URI. warning is for the user, if not "".
func configuration(domain int, getenv func(string) string) (config, warning string) {
	// The indexes lead to ports that peers without multicast find. ROS 2 has 33 of them; a large stack has more nodes.
	indexes := min(119, (65535-7400-250*domain-11)/2)
	fragments := []string{
		"<General><MaxMessageSize>65500B</MaxMessageSize><FragmentSize>64000B</FragmentSize></General>" +
			fmt.Sprintf("<Discovery><ParticipantIndex>auto</ParticipantIndex><MaxAutoParticipantIndex>%d</MaxAutoParticipantIndex></Discovery>", indexes) +
			fmt.Sprintf(`<Internal><SocketReceiveBufferSize max="%dMiB"/></Internal>`, receiveBuffer>>20),
	}
	var peers []string
	for peer := range strings.SplitSeq(getenv("ROS_STATIC_PEERS"), ";") {
		if peer = strings.TrimSpace(peer); peer != "" {
			peers = append(peers, peer)
		}
	}

	reach := getenv("ROS_AUTOMATIC_DISCOVERY_RANGE")
	if getenv("ROS_LOCALHOST_ONLY") == "1" {
		// ROS 2 up to Humble binds to the loopback interface instead; later releases mean the range.
		if reach == "" && gidSize(getenv("ROS_DISTRO")) != newGID {
			fragments = append(fragments, `<General><Interfaces><NetworkInterface address="127.0.0.1"/></Interfaces></General>`)
			reach = "SYSTEM_DEFAULT"
		} else {
			reach, peers = "LOCALHOST", nil
		}
	}
	switch reach {
	case "", "SUBNET", "SYSTEM_DEFAULT", "LOCALHOST", "OFF":
	default:
		warning = fmt.Sprintf("ROS_AUTOMATIC_DISCOVERY_RANGE is %q, want OFF, LOCALHOST, SUBNET or SYSTEM_DEFAULT; going on with LOCALHOST", reach)
		reach = "LOCALHOST"
	}
	switch reach {
	case "LOCALHOST":
		peers = append([]string{"localhost"}, peers...)
		fragments = append(fragments, "<General><AllowMulticast>false</AllowMulticast></General>")
	case "SYSTEM_DEFAULT":
		peers = nil
	case "OFF":
		peers = nil
		fragments = append(fragments, "<General><AllowMulticast>false</AllowMulticast></General>"+
			fmt.Sprintf("<Discovery><ParticipantIndex>none</ParticipantIndex><Tag>ros_discovery_off_%d</Tag></Discovery>", os.Getpid()))
	}
	if len(peers) > 0 {
		var b strings.Builder
		for _, peer := range peers {
			b.WriteString(`<Peer address="`)
			_ = xml.EscapeText(&b, []byte(peer)) // a Builder takes everything
			b.WriteString(`"/>`)
		}
		fragments = append(fragments, "<Discovery><Peers>"+b.String()+"</Peers></Discovery>")
	}
	for i, f := range fragments {
		fragments[i] = domainConfig(f)
	}
	if uri := getenv("CYCLONEDDS_URI"); uri != "" {
		fragments = append(fragments, uri)
	}
	return strings.Join(fragments, ","), warning
}

func domainConfig(elements string) string {
	return "<CycloneDDS><Domain>" + elements + "</Domain></CycloneDDS>"
}

// receiveBufferHint says what to do when the kernel grants less than receiveBuffer, else "". limit is the content of
// /proc/sys/net/core/rmem_max.
func receiveBufferHint(limit string) string {
	n, err := strconv.Atoi(strings.TrimSpace(limit))
	if err != nil || n >= receiveBuffer {
		return ""
	}
	return fmt.Sprintf("the kernel grants sockets a receive buffer of %d kB; large messages (images, point clouds) may get lost on "+
		"their way here. To allow %d MB: sudo sysctl -w net.core.rmem_max=%d", n>>10, receiveBuffer>>20, receiveBuffer)
}
