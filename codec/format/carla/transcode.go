package carla

import "fmt"

// Transcode appends a frame of d's profile to dst in the layout of another profile. Unknown packets stay as they are.
// Packets that the other profile does not have are dropped. lost describes them.
func Transcode(dst []byte, p Profile, d *Decoder, frame []byte) (_ []byte, lost []string, err error) {
	for len(frame) > 0 {
		k, rest, err := NextPacket(frame)
		if err != nil {
			return dst, lost, err
		}
		frame = rest
		b, err := d.Decode(k)
		_, chaos := b.(*ChaosPhysicsList)
		switch {
		case err != nil:
			lost = append(lost, d.Profile.PacketName(k.ID)+" that cannot be decoded")
			continue
		case b == nil:
			dst = k.Append(dst)
			continue
		case k.ID == IDPhysicsControl && chaos != (p.Wheel == chaosWheel):
			if !k.Empty() {
				lost = append(lost, fmt.Sprintf("physics of vehicles, which differ in profile %s", p.Name))
			}
			continue
		}
		if _, ok := b.id(p); !ok {
			if !k.Empty() {
				lost = append(lost, fmt.Sprintf("%s, which profile %s does not have", d.Profile.PacketName(k.ID),
					p.Name))
			}
			continue
		}
		dst, err = AppendPacket(dst, p, b)
		if err != nil {
			return dst, lost, err
		}
	}
	return dst, lost, nil
}
