package carla

import (
	"bytes"
	"encoding/hex"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPackets checks, for every packet of every profile, that decoding inverts encoding and that the size is right.
func TestPackets(t *testing.T) {
	// Bytes of the data of fullBody by packet id, with vector components of 4 and of 8 bytes.
	sizes := map[uint8][2]int{
		0: {24, 24}, 1: {0, 0}, 3: {10, 10}, 4: {18, 18}, 5: {30, 30}, 6: {58, 106}, 7: {22, 22}, 8: {44, 44},
		9:  {18, 18},
		10: {18, 18}, 11: {54, 54}, 12: {58, 106}, 13: {58, 106}, 14: {8, 8}, 16: {34, 34}, 17: {58, 106}, 18: {8, 8},
		20: {8, 8}, 24: {114, 114},
	}
	for _, p := range Profiles() {
		t.Run(p.Name, func(t *testing.T) {
			count := 0
			for id := range 256 {
				b := fullBody(p, uint8(id))
				if b == nil {
					continue
				}
				count++
				frame, err := AppendPacket([]byte("before"), p, b)
				require.NoError(t, err)
				k, rest, err := NextPacket(frame[6:])
				require.NoError(t, err)
				require.Empty(t, rest)
				require.EqualValues(t, id, k.ID)
				if want, ok := sizes[k.ID]; ok {
					if p.DoubleVectors {
						require.Len(t, k.Data, want[1], "id %d", id)
					} else {
						require.Len(t, k.Data, want[0], "id %d", id)
					}
				}
				got, err := Decode(p, k)
				require.NoError(t, err)
				require.Equal(t, b, got)
				require.Equal(t, frame[6:], k.Append(nil))
				for n := range k.Data {
					require.False(t, fits(p, Packet{k.ID, k.Data[:n]}), "id %d cut at %d", id, n)
				}
			}
			want := 25 // kinds of packets
			if p.DoorsID == 0 {
				want = 24
			}
			require.Equal(t, want, count)
		})
	}
}

// TestPacketBytes compares encoded packets with bytes that were written by hand.
func TestPacketBytes(t *testing.T) {
	for _, test := range []struct {
		name    string
		profile Profile
		body    Body
		want    string
	}{
		{"FrameStart", UE4, &FrameStart{3, 0.5, 1}, "00 18000000 0300000000000000 000000000000e03f 000000000000f03f"},
		{"FrameEnd", UE4, &FrameEnd{}, "01 00000000"},
		{"EventAdd", UE4, &EventAddList{{Actor: 7, Type: ActorWalker, Location: Vector{1, 2, 3},
			Rotation:  Vector{-1, 0, 0.5},
			Blueprint: 9, BlueprintID: "ab", Attributes: []Attribute{{AttributeInt, "c", ""}}}},
			"02 2f000000 0100 07000000 02 0000803f 00000040 00004040 000080bf 00000000 0000003f 09000000 0200 6162 " +
				"0100 01 0100 63 0000"},
		{"EventAdd of 0.9.16", UE4New, &EventAddList{{Actor: 7, Attributes: []Attribute{{AttributeInt, "c", ""}}}},
			"02 2d000000 0100 07000000 00 00000000 00000000 00000000 00000000 00000000 00000000 00000000 0000 0100 " +
				"02 0100 63 0000"},
		{"Collision", UE4, &CollisionList{{1, 2, NoActor, true, false}},
			"05 10000000 0100 01000000 02000000 ffffffff 01 00"},
		{"Position", UE4, &PositionList{{4, Vector{1, 0, 0}, Vector{0, 0, 1}}},
			"06 1e000000 0100 04000000 0000803f 00000000 00000000 00000000 00000000 0000803f"},
		{"Position of UE5", UE5, &PositionList{{4, Vector{1, 0, 0}, Vector{0, 0, 1}}},
			"06 36000000 0100 04000000 000000000000f03f 0000000000000000 0000000000000000 0000000000000000 " +
				"0000000000000000 000000000000f03f"},
		{"State", UE4, &StateList{{5, true, 1, Green}}, "07 0c000000 0100 05000000 01 0000803f 02"},
		{"AnimVehicle", UE4, &AnimVehicleList{{6, -1, 1, 0.5, true, -1}},
			"08 17000000 0100 06000000 000080bf 0000803f 0000003f 01 ffffffff"},
		{"VehicleLight", UE4, &VehicleLightList{{6, LightBrake | LightSpecial2}}, "0a 0a000000 0100 06000000 08040000"},
		{"SceneLight", UE4, &SceneLightList{{-1, 1, 0.5, 0, 0, 1, true, 2}},
			"0b 1c000000 0100 ffffffff 0000803f 0000003f 00000000 00000000 0000803f 01 02"},
		{"TrafficLightTime", UE4, &TrafficLightTimeList{{6, 1, 0.5, 2}},
			"10 12000000 0100 06000000 0000803f 0000003f 00000040"},
		{"WalkerBones", UE4, &WalkerBonesList{{8, []Bone{{"r", Vector{1, 0, 0}, Vector{}}}}},
			"13 23000000 0100 08000000 0100 0100 72 0000803f 00000000 00000000 00000000 00000000 00000000"},
		{"AnimVehicleWheels", UE4, &AnimVehicleWheelsList{{8, []AnimWheel{{3, 1, 2}}}},
			"15 13000000 0100 08000000 01000000 03 0000803f 00000040"},
		{"AnimVehicleWheels of UE5", UE5, &AnimVehicleWheelsList{}, "16 02000000 0000"},
		{"AnimBiker", UE4New, &AnimBikerList{{8, 1, 2}}, "16 0e000000 0100 08000000 0000803f 00000040"},
		{"AnimBiker of UE5", UE5, &AnimBikerList{}, "17 02000000 0000"},
		{"VehicleDoor", UE4New, &VehicleDoorList{{8, DoorTrunk, true}}, "17 08000000 0100 08000000 05 01"},
		{"VehicleDoor of UE5", UE5, &VehicleDoorList{{8, DoorAll, false}}, "15 08000000 0100 08000000 06 00"},
		{"Weather", UE4, &WeatherList{{Cloudiness: 1, DustStorm: 2, SunAltitudeAngle: 0.5}},
			"18 3a000000 0100 0000803f 00000000 00000000 00000000 00000000 0000003f" + strings.Repeat("00000000",
				7) + "00000040"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := AppendPacket(nil, test.profile, test.body)
			require.NoError(t, err)
			require.Equal(t, strings.ReplaceAll(test.want, " ", ""), hex.EncodeToString(got))
		})
	}
}

// TestChaosWheelLayout checks that the fields of a wheel of UE5 have the offsets of the C++ struct.
func TestChaosWheelLayout(t *testing.T) {
	fields := reflect.TypeFor[ChaosWheel]()
	want := []int{0, 4, 16, 20, 24, 28, 32, 36, 40, 44, 48, 52, 53, 54, 55, 56, 57, 60, 64, 96, 108, 120, 124, 128, 132,
		136, 140, 144, 148, 152, 153, 156, 160, 164, 168, 180, 192}
	require.Len(t, want, fields.NumField())
	for i, offset := range want {
		var w ChaosWheel
		next := 0
		fillValue(reflect.ValueOf(&w).Elem().Field(i), &next)
		c := coder{encoding: true}
		w.code(&c)
		require.Len(t, c.data, chaosWheelSize)
		first := bytes.IndexFunc(c.data, func(r rune) bool { return r != 0 })
		if size := fields.Field(i).Type.Size(); size > 1 {
			first &^= 3 // a float may begin with zeros
		}
		require.Equal(t, offset, first, fields.Field(i).Name)
	}
}

func TestActorTypes(t *testing.T) {
	for n, name := range map[ActorType]string{ActorOther: "other", ActorTrafficLight: "traffic light",
		ActorSensor: "sensor", ActorInvalid: "invalid", 200: "invalid"} {
		require.Equal(t, name, n.Name())
	}
}

func TestPacketErrors(t *testing.T) {
	for _, frame := range []string{"\x01", "\x01\x00\x00\x00", "\x01\x01\x00\x00\x00", "\x01\xff\xff\xff\xff0123"} {
		_, _, err := NextPacket([]byte(frame))
		require.ErrorIs(t, err, ErrDamaged)
	}
	_, err := AppendPacket(nil, UE4, &VehicleDoorList{})
	require.ErrorContains(t, err, "encode a packet: profile ue4-0.9.15 has none for ")
	dst, err := AppendPacket([]byte("x"), UE4, &EventAddList{{BlueprintID: strings.Repeat("x", 40000)}})
	require.EqualError(t, err, "encode EventAdd: a string has 40000 bytes; CARLA reads up to 32767")
	require.Equal(t, "x", string(dst))
	many := make(EventDelList, 70000)
	_, err = AppendPacket(nil, UE4, &many)
	require.EqualError(t, err, "encode EventDel: a list has 70000 elements; a packet holds up to 65535")
	require.Len(t, many, 70000)
	_, err = Decode(UE4, Packet{IDAnimVehicle, []byte("\xff\xff12345678901234567890123456789")})
	require.EqualError(t, err, "damaged: packet 8 of 31 bytes: a list of 65535 elements does not fit "+
		"into 29 bytes")
	b, err := Decode(UE4, Packet{99, []byte("any")})
	require.NoError(t, err)
	require.Nil(t, b)
}

// TestOtherLayouts decodes packets whose layout is not the layout of the profile, and packets with bytes after the last
// field.
func TestOtherLayouts(t *testing.T) {
	for _, written := range []Profile{UE4Old, UE4, UE5} {
		for _, read := range []Profile{UE4Old, UE4, UE5} {
			for _, id := range []uint8{IDEventAdd, IDPosition, IDKinematics, IDBoundingBox, IDTriggerVolume,
				IDWalkerBones,
				IDPhysicsControl} {
				want := fullBody(written, id)
				frame, err := AppendPacket(nil, written, want)
				require.NoError(t, err)
				k, _, err := NextPacket(frame)
				require.NoError(t, err)
				read.Version = written.Version
				got, err := Decode(read, k)
				require.NoError(t, err)
				require.Equal(t, want, got)
				k.Data = append(k.Data, 1, 2, 3)
				got, err = Decode(written, k)
				if id != IDEventAdd {
					require.NoError(t, err)
					require.Equal(t, want, got)
				}
			}
		}
	}
}

// unknownBody is the body of a packet whose id is in no Profile.
type unknownBody struct {
	Left, Right Vector
	Open        bool
}

func (*unknownBody) id(Profile) (uint8, bool) { return 139, true }

func (e *unknownBody) code(c *coder) {
	c.vector(&e.Left)
	c.vector(&e.Right)
	c.bool(&e.Open)
}

func BenchmarkDecode(b *testing.B) {
	list := make(PositionList, 100)
	frame, err := AppendPacket(nil, UE4, &list)
	require.NoError(b, err)
	k, _, err := NextPacket(frame)
	require.NoError(b, err)
	d := Decoder{Profile: UE4}
	b.SetBytes(int64(len(frame)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := d.Decode(k); err != nil {
			b.Fatal(err)
		}
	}
}
