package record

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/internal/codectest"
	"tapedeck/codec/store/storetest"
)

// TestIndexInStore opens records in a store. The reader does not walk from chunk to chunk if the index is sound.
func TestIndexInStore(t *testing.T) {
	s := storetest.New(t)
	files := s.Files()
	camera := &codec.Channel{Topic: "/camera", Type: "sensor_msgs/msg/Image", Encoding: codec.EncodingCDR}
	imu := &codec.Channel{Topic: "/imu", Type: "sensor_msgs/msg/Imu", Encoding: codec.EncodingCDR}
	var messages []codec.Message
	for i := range 100 {
		c := []*codec.Channel{camera, imu}[min(i%3, 1)]
		messages = append(messages, codec.Message{Channel: c, LogTime: int64(i+1) * 1e9, Data: make([]byte, 5000)})
	}
	whole := codectest.Write(t, Format, codec.CreateOptions{ChunkSize: 20_000}, messages...)
	for name, test := range map[string]struct {
		change  func(b []byte) []byte
		indexed bool // the index alone is read
	}{
		"whole":       {func(b []byte) []byte { return b }, true},
		"message":     {func(b []byte) []byte { clear(b[len(b)/2 : len(b)/2+6000]); return b }, true},
		"chunk":       {func(b []byte) []byte { clear(b[len(b)/3 : len(b)*2/3]); return b }, true},
		"cut":         {func(b []byte) []byte { return b[:len(b)-1] }, false},
		"longer":      {func(b []byte) []byte { return append(b, 0) }, false},
		"head longer": {func(b []byte) []byte { return append(b[:firstSection:firstSection], b...) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			content := test.change(append([]byte{}, whole...))
			path := filepath.Join(t.TempDir(), "a.record")
			require.NoError(t, os.WriteFile(path, content, 0o666))
			s.Put("a.record", content)
			read := func(path string) (all []codec.Message, damage int, unwalked bool) {
				r, err := open(files, path)
				require.NoError(t, err)
				defer r.Close()
				all = codectest.Read(t, r, codec.Query{Damaged: func(error) { damage++ }})
				for i := range all {
					all[i].Channel = r.channels[r.byName[all[i].Channel.Topic]]
				}
				return all, damage, r.unwalked
			}
			want, wantDamage, _ := read(path)
			got, damage, unwalked := read(s.URL("a.record"))
			require.Equal(t, test.indexed, unwalked)
			require.Equal(t, wantDamage, damage)
			require.Len(t, got, len(want))
			for i := range want {
				require.Equal(t, want[i].LogTime, got[i].LogTime)
				require.Equal(t, want[i].Data, got[i].Data)
			}
		})
	}
}
