package carla

import "fmt"

// Transcode converts a frame from d.Profile to profile p and appends it to dst. Unknown packets stay unchanged. Packets
// that p does not have are dropped, as are packets that cannot be decoded. lost describes the dropped packets.
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
		case k.ID == IDPhysicsControl && chaos != (p.WheelSize == chaosWheelSize):
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
