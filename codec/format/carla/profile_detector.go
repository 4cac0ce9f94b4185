package carla

import (
	"bytes"
	"encoding/binary"
)

// detector detects the profile of a log from its frames.
type detector struct {
	version uint16
	wide    int    // votes for vector components of 8 bytes, minus votes for 4
	adds    []byte // data of an EventAdd, which decides the size of components without votes
	wheel   int

	frame [256]bool // the ids of the frame so far
	// Whether the ids of packets that have moved were seen before or after the positions of a frame.
	before, behind [256]bool
	doors21        int // votes by size for 21 as the id of doors, minus votes against
}

// add takes a frame into account.
func (d *detector) add(frame []byte) {
	d.frame = [256]bool{}
	for len(frame) > 0 {
		k, rest, err := NextPacket(frame)
		if err != nil {
			return
		}
		frame = rest
		d.packet(k)
		d.frame[k.ID] = true
	}
	if d.frame[IDPosition] {
		for id := 21; id <= 23; id++ {
			d.before[id] = d.before[id] || d.frame[id] && !d.behind[id]
		}
	}
}

func (d *detector) packet(k Packet) {
	count, size := 0, len(k.Data)-2
	if size > 0 {
		count = int(binary.LittleEndian.Uint16(k.Data))
	}
	switch k.ID {
	case IDPosition, IDKinematics, IDBoundingBox, IDTriggerVolume:
		if count > 0 && size == 52*count {
			d.wide++
		} else if count > 0 && size == 28*count {
			d.wide--
		}
	case IDPhysicsControl:
		for _, size := range []int{wheel, oldWheel, chaosWheel} {
			if d.wheel == 0 && count > 0 && fits(Profile{Wheel: size}, k) {
				d.wheel = size
			}
		}
	case IDEventAdd:
		if d.adds == nil && count > 0 {
			d.adds = bytes.Clone(k.Data)
		}
	case 21:
		if count > 0 && size == 6*count {
			d.doors21++
		} else if count > 0 {
			d.doors21--
		}
	}
	if d.frame[IDPosition] {
		d.behind[k.ID] = true
	}
}

// fits reports whether k has the layout of a profile.
func fits(p Profile, k Packet) bool {
	c := coder{profile: p, data: k.Data}
	p.newBody(k.ID).code(&c)
	return c.err == nil && len(c.data) == 0
}

// isWide reports whether the components of vectors have 8 bytes.
func (d *detector) isWide() bool {
	if d.wide != 0 || d.adds == nil {
		return d.wide > 0 || d.wide == 0 && d.wheel == chaosWheel
	}
	k := Packet{IDEventAdd, d.adds}
	return !fits(Profile{}, k) && fits(Profile{DoubleVectors: true}, k)
}

// profile returns the detected profile. CARLA writes doors before positions, wheels and bikers after them.
func (d *detector) profile() Profile {
	switch {
	case d.isWide():
		return UE5
	case d.version >= 2:
		return UE4New
	case d.before[21] || !d.behind[21] && d.doors21 > 0:
		return UE4Dev
	case d.before[23]:
		return UE4Mid
	case d.wheel == oldWheel:
		return UE4Old
	}
	return UE4
}
