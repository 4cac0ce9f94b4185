package mavlink

import (
	"encoding/binary"
	"fmt"
	"math"
)

// frame is a frame of a telemetry log in MAVLink 1.
type frame struct {
	time    int64 // ns since the Unix epoch
	system  byte
	id      byte
	payload []byte
}

// Ids of the compared messages. extras has the byte that each id adds to the checksum.
const (
	heartbeat      = 0
	sysStatus      = 1
	systemTime     = 2
	paramValue     = 22
	gpsRaw         = 24
	rawIMU         = 27
	scaledPressure = 29
	attitude       = 30
	localPosition  = 32
	globalPosition = 33
	rcChannelsRaw  = 35
	servoOutput    = 36
	rcChannels     = 65
	vfrHUD         = 74
	statusText     = 253
)

var extras = map[byte]byte{
	heartbeat: 50, sysStatus: 124, systemTime: 137, paramValue: 220, gpsRaw: 24, rawIMU: 144, scaledPressure: 115,
	attitude: 39, localPosition: 185, globalPosition: 104, rcChannelsRaw: 244,
	servoOutput: 222, rcChannels: 118, vfrHUD: 20, statusText: 83,
}

// frames returns the valid frames with the compared ids, in order.
func frames(log []byte) ([]frame, error) {
	const stamp, header, magic = 8, 6, 0xfe
	var list []frame
	for at := 0; at+stamp+header <= len(log); {
		f := log[at+stamp:]
		if f[0] != magic {
			return nil, fmt.Errorf("no frame at byte %d", at)
		}
		end := header + int(f[1]) // of the payload
		if end+2 > len(f) {
			break // the log was cut
		}
		extra, wanted := extras[f[5]]
		if wanted && checksum(f[1:end], extra) == binary.LittleEndian.Uint16(f[end:]) {
			time := int64(binary.BigEndian.Uint64(log[at:])) * 1e3
			list = append(list, frame{time: time, system: f[3], id: f[5], payload: f[header:end]})
		}
		at += stamp + end + 2
	}
	return list, nil
}

// checksum is CRC-16/MCRF4XX.
func checksum(data []byte, extra byte) uint16 {
	crc := uint16(0xffff)
	for _, b := range append(data[:len(data):len(data)], extra) {
		crc ^= uint16(b)
		for range 8 {
			if crc&1 != 0 {
				crc = crc>>1 ^ 0x8408
			} else {
				crc >>= 1
			}
		}
	}
	return crc
}

// The methods u16 to f32 return the number at an offset in the payload.

func (f frame) u16(at int) uint16  { return binary.LittleEndian.Uint16(f.payload[at:]) }
func (f frame) i16(at int) float64 { return float64(int16(f.u16(at))) }
func (f frame) u32(at int) uint32  { return binary.LittleEndian.Uint32(f.payload[at:]) }
func (f frame) i32(at int) float64 { return float64(int32(f.u32(at))) }
func (f frame) u64(at int) uint64  { return binary.LittleEndian.Uint64(f.payload[at:]) }
func (f frame) f32(at int) float64 { return float64(math.Float32frombits(f.u32(at))) }
