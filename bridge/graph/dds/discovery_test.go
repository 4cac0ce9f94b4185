package dds

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
)

func unhex(t testing.TB, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.Join(strings.Fields(text), ""))
	require.NoError(t, err)
	return b
}

// oldInfo is the announcement of a node with two readers and two writers by rmw_cyclonedds_cpp of ROS 2 Humble.
const oldInfo = `
	00010000 011079f3 13c58c56 9426ff7b 000001c1 00000000 00000000 01000000
	0a000000 2f70726f 746f5f6e 73000000 0b000000 70726f74 6f5f6e6f 64650000
	02000000 011079f3 13c58c56 9426ff7b 00000404 00000000 00000000 011079f3 13c58c56 9426ff7b 00000504 00000000 00000000
	02000000 011079f3 13c58c56 9426ff7b 00000303 00000000 00000000 011079f3 13c58c56 9426ff7b 00000603 00000000 00000000`

// newInfo is the announcement of oldInfo's node by ROS 2 Iron and later.
const newInfo = `
	00010000 011079f3 13c58c56 9426ff7b 000001c1 01000000
	0a000000 2f70726f 746f5f6e 73000000 0b000000 70726f74 6f5f6e6f 64650000
	02000000 011079f3 13c58c56 9426ff7b 00000404 011079f3 13c58c56 9426ff7b 00000504
	02000000 011079f3 13c58c56 9426ff7b 00000303 011079f3 13c58c56 9426ff7b 00000603`

func TestParticipantInfo(t *testing.T) {
	guid := func(entity string) bridge.GUID { return bridge.GUID(unhex(t, "011079f3 13c58c56 9426ff7b"+entity)) }
	full := participantInfo{guid: guid("000001c1"), nodes: []nodeInfo{{
		namespace: "/proto_ns", name: "proto_node",
		readers: []bridge.GUID{guid("00000404"), guid("00000504")},
		writers: []bridge.GUID{guid("00000303"), guid("00000603")},
	}}}
	empty := participantInfo{guid: guid("000001c1"), nodes: []nodeInfo{}}
	for _, test := range []struct {
		name string
		data string
		size int
		want participantInfo
	}{
		{"Humble", oldInfo, oldGID, full},
		{"Iron", newInfo, newGID, full},
		{"Humble without nodes", "00010000 011079f3 13c58c56 9426ff7b 000001c1 00000000 00000000 00000000", oldGID,
			empty},
		{"Iron without nodes", "00010000 011079f3 13c58c56 9426ff7b 000001c1 00000000", newGID, empty},
	} {
		t.Run(test.name, func(t *testing.T) {
			data := unhex(t, test.data)
			got, size, err := unmarshalParticipantInfo(data)
			require.NoError(t, err)
			require.Equal(t, test.size, size)
			require.Equal(t, test.want, got)
			require.Equal(t, data, test.want.append(nil, test.size))
			for end := range data {
				if end >= 24 && end < 32 && test.size == oldGID {
					continue // the prefix is a valid announcement without nodes in the new layout
				}
				_, _, err := unmarshalParticipantInfo(data[:end])
				require.Error(t, err, "cut to %d bytes", end)
			}
		})
	}
	require.Equal(t, "/proto_ns/proto_node", full.nodes[0].fullName())
	require.Equal(t, "/n", (&nodeInfo{namespace: "/", name: "n"}).fullName())
}

func TestGIDSize(t *testing.T) {
	require.Equal(t, 0, gidSize(""))
	require.Equal(t, oldGID, gidSize("humble"))
	require.Equal(t, newGID, gidSize("iron"))
	require.Equal(t, newGID, gidSize("rolling"))
}

func FuzzParticipantInfo(f *testing.F) {
	f.Add(unhex(f, oldInfo))
	f.Add(unhex(f, newInfo))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, size, err := unmarshalParticipantInfo(data)
		if err != nil {
			return
		}
		again, _, err := unmarshalParticipantInfo(p.append(nil, newGID))
		if size == newGID {
			require.NoError(t, err)
			require.Equal(t, p, again)
		}
	})
}

func TestUserDataValue(t *testing.T) {
	data := []byte("clientid= 1.f;typehash=RIHS01_ab;enclave=/;\x00")
	require.Equal(t, "RIHS01_ab", userDataValue(data, "typehash"))
	require.Equal(t, " 1.f", userDataValue(data, "clientid"))
	require.Equal(t, "/", userDataValue(data, "enclave"))
	require.Empty(t, userDataValue(data, "type"))
	require.Empty(t, userDataValue(nil, "typehash"))
}

func TestAnnouncedHash(t *testing.T) {
	hash := "RIHS01_" + strings.Repeat("0aF", 21) + "9"
	for _, test := range []struct{ data, want string }{
		{"typehash=" + hash + ";", hash},
		{"typehash=" + hash + ";\x00\x00", hash},
		{"typehash=" + hash + "\x00", hash},
		{"serviceid= 1.10.dd.7;typehash=" + hash + ";", hash},
		{"typehash=" + hash + ";\xff\xfe=;;", hash},
		{"", ""},
		{"\x00", ""},
		{"typehash=;", ""},
		{"typehash=RIHS01_;", ""},
		{"typehash=" + hash[:70] + ";", ""},
		{"typehash=" + hash + "0;", ""},
		{"typehash=" + hash[:70] + "g;", ""},
		{"typehash=RIHS02_" + hash[7:] + ";", ""},
		{"mytypehash=" + hash + ";", ""},
		{"something else", ""},
	} {
		require.Equal(t, test.want, announcedHash([]byte(test.data)), "%q", test.data)
	}
}
