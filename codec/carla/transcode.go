package carla

import "fmt"

// transcode appends a frame of d's profile to dst, as another profile lays it out. Packets that are not known stay as they are;
// one without content that the other profile does not have is left out.
func transcode(dst []byte, p Profile, d *Decoder, frame []byte) ([]byte, error) {
	for len(frame) > 0 {
		k, rest, err := NextPacket(frame)
		if err != nil {
			return dst, err
		}
		frame = rest
		b, err := d.Decode(k)
		if err != nil {
			return dst, err
		}
		if b == nil {
			dst = k.Append(dst)
			continue
		}
		if _, chaos := b.(*ChaosPhysicsList); k.ID == IDPhysicsControl && chaos != (p.Wheel == chaosWheel) {
			return dst, fmt.Errorf("the physics of a vehicle in profile %s cannot be written in profile %s", d.Profile.Name, p.Name)
		}
		if _, ok := b.ID(p); !ok && k.Empty() {
			continue
		}
		if dst, err = AppendPacket(dst, p, b); err != nil {
			return dst, err
		}
	}
	return dst, nil
}
