package carla

import (
	"bytes"
	"encoding/binary"
)

// detector detects the profile of a log from its frames.
type detector struct {
	version   uint16 // in the header
	doubles   int    // votes for vector components of 8 bytes, minus votes for 4
	eventAdd  []byte // data of the first EventAdd with actors; decides the size of components if there are no votes
	wheelSize int    // Profile.WheelSize; 0 before the first PhysicsControl with vehicles

	inFrame       [256]bool // packet ids seen so far in the current frame
	before, after [256]bool // packet ids seen before, after the positions of a frame
	doors21       int       // votes by size for 21 as the id of doors, minus votes against
}

// add counts the votes of a frame.
func (d *detector) add(frame []byte) {
	d.inFrame = [256]bool{}
	for len(frame) > 0 {
		k, rest, err := NextPacket(frame)
		if err != nil {
			return
		}
		frame = rest
		d.packet(k)
		d.inFrame[k.ID] = true
	}
	if d.inFrame[IDPosition] {
		for id := 21; id <= 23; id++ {
			d.before[id] = d.before[id] || d.inFrame[id] && !d.after[id]
		}
	}
}

// packet counts the votes of a packet of the current frame.
func (d *detector) packet(k Packet) {
	count, size := 0, len(k.Data)-2
	if size > 0 {
		count = int(binary.LittleEndian.Uint16(k.Data))
	}
	switch k.ID {
	case IDPosition, IDKinematics, IDBoundingBox, IDTriggerVolume:
		if count > 0 && size == 52*count {
			d.doubles++
		} else if count > 0 && size == 28*count {
			d.doubles--
		}
	case IDPhysicsControl:
		for _, size := range []int{wheelSize, oldWheelSize, chaosWheelSize} {
			if d.wheelSize == 0 && count > 0 && fits(Profile{WheelSize: size}, k) {
				d.wheelSize = size
			}
		}
	case IDEventAdd:
		if d.eventAdd == nil && count > 0 {
			d.eventAdd = bytes.Clone(k.Data)
		}
	case 21: // doors, or wheels of vehicles, which have no fixed size
		if count > 0 && size == 6*count {
			d.doors21++
		} else if count > 0 {
			d.doors21--
		}
	}
	if d.inFrame[IDPosition] {
		d.after[k.ID] = true
	}
}

// fits reports whether k has the layout of a profile.
func fits(p Profile, k Packet) bool {
	c := coder{profile: p, data: k.Data}
	p.newBody(k.ID).code(&c)
	return c.err == nil && len(c.data) == 0
}

// hasDoubleVectors reports whether the components of vectors have 8 bytes.
func (d *detector) hasDoubleVectors() bool {
	if d.doubles != 0 || d.eventAdd == nil {
		return d.doubles > 0 || d.doubles == 0 && d.wheelSize == chaosWheelSize
	}
	k := Packet{IDEventAdd, d.eventAdd}
	return !fits(Profile{}, k) && fits(Profile{DoubleVectors: true}, k)
}

// profile returns the detected profile. CARLA writes doors before positions, and wheels and bikers after positions.
func (d *detector) profile() Profile {
	switch {
	case d.hasDoubleVectors():
		return UE5
	case d.version >= 2:
		return UE4New
	case d.before[21] || !d.after[21] && d.doors21 > 0:
		return UE4Dev
	case d.before[23]:
		return UE4Mid
	case d.wheelSize == oldWheelSize:
		return UE4Old
	}
	return UE4
}
