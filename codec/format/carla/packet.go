package carla

import (
	"encoding/binary"
	"fmt"
	"math"

	"tapedeck/codec/text/plural"
)

// packetHead is the size of a packet's id and size.
const packetHead = 5

// Ids of packets. A Profile has the ids of packets of doors, wheels and bikers.
const (
	IDFrameStart       = 0
	IDFrameEnd         = 1
	IDEventAdd         = 2
	IDEventDel         = 3
	IDEventParent      = 4
	IDCollision        = 5
	IDPosition         = 6
	IDState            = 7
	IDAnimVehicle      = 8
	IDAnimWalker       = 9
	IDVehicleLight     = 10
	IDSceneLight       = 11
	IDKinematics       = 12
	IDBoundingBox      = 13
	IDPlatformTime     = 14
	IDPhysicsControl   = 15
	IDTrafficLightTime = 16
	IDTriggerVolume    = 17
	IDFrameCounter     = 18
	IDWalkerBones      = 19
	IDVisualTime       = 20
	IDWeather          = 24
)

// Packet is an encoded packet.
type Packet struct {
	ID   uint8
	Data []byte
}

// NextPacket returns the first packet of a frame, and the rest of the frame.
func NextPacket(frame []byte) (k Packet, rest []byte, err error) {
	if len(frame) < packetHead {
		return Packet{}, nil, fmt.Errorf("%w: a packet ends within its head", ErrDamaged)
	}
	size := binary.LittleEndian.Uint32(frame[1:])
	if uint64(size) > uint64(len(frame)-packetHead) {
		return Packet{}, nil, fmt.Errorf("%w: packet %d has %s, only %d are there", ErrDamaged, frame[0],
			plural.Count(size, "byte"), len(frame)-packetHead)
	}
	end := packetHead + int(size)
	return Packet{frame[0], frame[packetHead:end:end]}, frame[end:], nil
}

// Append appends the packet to a frame.
func (k Packet) Append(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint32(append(dst, k.ID), uint32(len(k.Data)))
	return append(dst, k.Data...)
}

// AppendPacket appends b as a packet to a frame. On failure it returns dst and an error.
func AppendPacket(dst []byte, p Profile, b Body) ([]byte, error) {
	id, ok := b.id(p)
	if !ok {
		return dst, fmt.Errorf("encode a packet: profile %s has none for %T", p.Name, b)
	}
	start := len(dst)
	c := coder{profile: p, encoding: true, data: append(dst, id, 0, 0, 0, 0)}
	b.code(&c)
	size := len(c.data) - start - packetHead
	if c.err == nil && size > math.MaxUint32 {
		c.err = fmt.Errorf("%d bytes are more than a packet holds", size)
	}
	if c.err != nil {
		return dst, fmt.Errorf("encode %s: %w", p.PacketName(id), c.err)
	}
	binary.LittleEndian.PutUint32(c.data[start+1:], uint32(size))
	return c.data, nil
}

// Empty reports whether k has a list without elements.
func (k Packet) Empty() bool { return len(k.Data) < 2 || k.Data[0]|k.Data[1] == 0 }

// Body is the decoded content of a packet.
type Body interface {
	// id returns the id of the packet in a profile, and false if the profile has no such packet.
	id(Profile) (uint8, bool)
	// code decodes or encodes the fields in order.
	code(*coder)
}

// Vector has three components in Unreal Engine's axes: x forward, y to the right, z up. As a rotation, it is roll,
// pitch and yaw. Values of 4 bytes are exact.
type Vector struct{ X, Y, Z float64 }
