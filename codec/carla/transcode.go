package carla

import "fmt"

// Transcode appends a frame of d's profile to dst, as another profile lays it out. Packets that are not known stay as
// they are. What cannot be in a log of the other profile is left out, and said in left.
func Transcode(dst []byte, p Profile, d *Decoder, frame []byte) (_ []byte, left []string, err error) {
	for len(frame) > 0 {
		k, rest, err := NextPacket(frame)
		if err != nil {
			return dst, left, err
		}
		frame = rest
		b, err := d.Decode(k)
		_, chaos := b.(*ChaosPhysicsList)
		switch {
		case err != nil:
			left = append(left, d.Profile.PacketName(k.ID)+" that cannot be decoded")
			continue
		case b == nil:
			dst = k.Append(dst)
			continue
		case k.ID == IDPhysicsControl && chaos != (p.Wheel == chaosWheel):
			if !k.Empty() {
				left = append(left, fmt.Sprintf("physics of vehicles, which are others in profile %s", p.Name))
			}
			continue
		}
		if _, ok := b.ID(p); !ok {
			if !k.Empty() {
				left = append(left, fmt.Sprintf("%s, which profile %s has not", d.Profile.PacketName(k.ID), p.Name))
			}
			continue
		}
		if dst, err = AppendPacket(dst, p, b); err != nil {
			return dst, left, err
		}
	}
	return dst, left, nil
}
