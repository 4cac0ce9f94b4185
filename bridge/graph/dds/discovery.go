package dds

import (
	"fmt"
	"slices"

	"tapedeck/bridge"
	"tapedeck/msgs/rosidl/wire"
)

// The topic on which participants announce their nodes and the endpoints of each node.
const (
	discoveryTopic = "ros_discovery_info"
	discoveryType  = "rmw_dds_common::msg::dds_::ParticipantEntitiesInfo_"
)

// Sizes of GIDs in rmw_dds_common's messages, in bytes: up to ROS 2 Humble, and since Iron. The first 16 bytes are the
// GUID.
const (
	oldGID = 24
	newGID = 16
)

// adaptiveKey is in the user data of participants that adopt the GID size of other participants. Participants of
// tapedeck do that if ROS_DISTRO is not set.
const adaptiveKey = "gids"

// gidSize returns the size of GIDs in a distribution of ROS 2, or 0 if distro is "".
func gidSize(distro string) int {
	switch distro {
	case "":
		return 0
	case "foxy", "galactic", "humble":
		return oldGID
	}
	return newGID
}

// participantInfo is rmw_dds_common/msg/ParticipantEntitiesInfo.
type participantInfo struct {
	guid  bridge.GUID
	nodes []nodeInfo
}

// nodeInfo is rmw_dds_common/msg/NodeEntitiesInfo.
type nodeInfo struct {
	namespace, name  string
	readers, writers []bridge.GUID
}

// fullName returns the node's fully qualified name.
func (n *nodeInfo) fullName() string {
	if n.namespace == "/" || n.namespace == "" {
		return "/" + n.name
	}
	return n.namespace + "/" + n.name
}

// append appends p as CDR. gidSize is the size of GIDs in bytes.
func (p *participantInfo) append(dst []byte, gidSize int) []byte {
	e := wire.NewEncoder(dst)
	gid := func(guid bridge.GUID) {
		for _, b := range guid {
			e.Uint8(b)
		}
		for range gidSize - len(guid) {
			e.Uint8(0)
		}
	}
	gids := func(list []bridge.GUID) {
		e.Uint32(uint32(len(list)))
		for _, guid := range list {
			gid(guid)
		}
	}
	gid(p.guid)
	e.Uint32(uint32(len(p.nodes)))
	for _, n := range p.nodes {
		e.String(n.namespace, 0)
		e.String(n.name, 0)
		gids(n.readers)
		gids(n.writers)
	}
	return e.Bytes()
}

// unmarshalParticipantInfo decodes either layout and returns the size of its GIDs.
func unmarshalParticipantInfo(data []byte) (p participantInfo, gidSize int, err error) {
	gidSize = newGID
	// Behind the first 16 bytes, the old layout has 8 zero bytes of padding. The new layout has the number of nodes,
	// and ends there if the number is 0.
	if body := wire.HeaderSize + newGID; len(data) >= body+12 &&
		!slices.ContainsFunc(data[body:body+8], func(b byte) bool { return b != 0 }) {
		gidSize = oldGID
	}
	d := wire.NewDecoder(data)
	gid := func() (guid bridge.GUID) {
		for i := range guid {
			guid[i] = d.Uint8()
		}
		d.Skip(gidSize - len(guid))
		return guid
	}
	gids := func() []bridge.GUID {
		list := make([]bridge.GUID, d.Length(gidSize, 0))
		for i := range list {
			list[i] = gid()
		}
		return list
	}
	p.guid = gid()
	const smallest = 4 * 4 // bytes of a node: two strings, two sequences
	p.nodes = make([]nodeInfo, d.Length(smallest, 0))
	for i := range p.nodes {
		p.nodes[i] = nodeInfo{namespace: d.String(0), name: d.String(0), readers: gids(), writers: gids()}
	}
	if err := d.Err(); err != nil {
		return participantInfo{}, 0, fmt.Errorf("read %s: %w", discoveryTopic, err)
	}
	return p, gidSize, nil
}
