package recorder

import (
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/bridge/bridgetest"
	"tapedeck/codec"
	"tapedeck/codec/disktest"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/codec/store"
	"tapedeck/codec/store/storetest"
	"tapedeck/codec/training/episode"
	"tapedeck/msgs/sensor_msgs"
	"tapedeck/nodes/recorder/internal/diskguard"
	"tapedeck/nodes/recorder/internal/snapshot"
)

// A recorder writes splits, snapshots and the lists of bags only to its codec.Disk. If the disk is full for a while,
// the missing messages count as dropped.
func TestRecorderOnADisk(t *testing.T) {
	for name, storage := range map[string]string{"record": "record", "mcap": "mcap", "compressed": "mcap"} {
		inBubble(t, name, func(t *testing.T) {
			var full atomic.Bool
			disk := &disktest.Disk{Fail: func(_ string, n int) (int, error) {
				if full.Load() && n > 0 {
					return 0, syscall.ENOSPC
				}
				return n, nil
			}}
			net := &bridgetest.Network{}
			node, err := net.Open(bridge.Options{Name: "recorder"})
			require.NoError(t, err)
			o := testOptions(storage)
			o.Snapshot, o.LowSpaceAction = true, diskguard.Pause
			if name == "compressed" {
				o.Compression = "zstd"
			}
			d := newTestRecorderWith(t, net, node, disk, o, "/n")
			p := d.advertise("/n", codec.DefaultQoS())
			d.publish(p, 1, 2)
			taken, err := d.snapshots.TakeNow(t.Context(), snapshot.Trigger{})
			require.NoError(t, err)
			_, _, err = d.split()
			require.NoError(t, err)
			d.publish(p, 3)
			time.Sleep(time.Second)
			full.Store(true)
			d.publish(p, 4)
			time.Sleep(10 * time.Second)
			d.publish(p, 5) // are written later
			time.Sleep(10 * time.Second)
			require.Equal(t, "NO SPACE", d.state())
			full.Store(false)
			time.Sleep(time.Minute)
			d.publish(p, 6)
			require.NoError(t, d.end())

			entries, err := os.ReadDir(".")
			require.NoError(t, err)
			require.Empty(t, entries, "a file was written beside the simulated disk")
			for path, data := range disk.Files() {
				require.False(t, strings.HasSuffix(path, codec.ActiveSuffix), path)
				require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
				require.NoError(t, os.WriteFile(path, data, 0o644))
			}
			require.Equal(t, []uint32{1, 2}, numbers(t, taken.Path, "/n"))
			require.Equal(t, []uint32{1, 2, 3, 5, 6}, numbers(t, "drive", "/n"))
			require.Contains(t, strings.Join(events(t, "drive"), "\n"),
				"whole recording: received 6, written 5, dropped 1, lost 0")
		})
	}
}

// A recording that a full disk ends before the first regular sync survives a power cut.
func TestEndByAFullDiskIsSynced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := &disktest.Disk{Size: 10 << 20}
		net := &bridgetest.Network{}
		node, err := net.Open(bridge.Options{Name: "recorder"})
		require.NoError(t, err)
		d := newTestRecorderWith(t, net, node, disk, testOptions("record"), "/n")
		p := d.advertise("/n", codec.DefaultQoS())
		d.publish(p, 1, 2, 3)
		disk.Fill(10_100_000)
		require.ErrorContains(t, <-d.ended, "free some space")
		d.ended <- nil // for the end of the test
		for seed := range uint64(10) {
			cut := disk.PowerCut(func(string) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) })
			require.Equal(t, disk.Files(), cut.Files())
		}
	})
}

// A session is written only to the recorder's codec.Disk, also when it is overwritten.
func TestSessionsOnADisk(t *testing.T) {
	disk := &disktest.Disk{}
	for range 2 {
		synctest.Test(t, func(t *testing.T) {
			net := &bridgetest.Network{}
			node, err := net.Open(bridge.Options{Name: "recorder"})
			require.NoError(t, err)
			o := testOptions("session")
			o.All, o.Overwrite, o.MaxBagMessages = true, true, 4
			d := newTestRecorderWith(t, net, node, disk, o)
			camera := d.offer("/eye/image_raw/compressed", "sensor_msgs/msg/CompressedImage", codec.DefaultQoS())
			joints := d.offer("/left/joint_states", "sensor_msgs/msg/JointState", codec.DefaultQoS())
			d.awaitSubscribers(camera, joints)
			for i := range 3 {
				d.emit(camera, &sensor_msgs.CompressedImage{Header: header(i), Format: "jpeg", Data: picture(t)})
				d.emit(joints, &sensor_msgs.JointState{Header: header(i), Name: []string{"a"}, Position: []float64{1}})
			}
			require.NoError(t, d.end())
			entries, err := os.ReadDir(".")
			require.NoError(t, err)
			require.Empty(t, entries, "a file was written beside the simulated disk")
			require.Equal(t, stamps(0, 2), readEpisodeFrom(t, store.On(disk), "drive").Cameras[0].Stamps)
			second := readEpisodeFrom(t, store.On(disk), "drive_1")
			require.Equal(t, stamps(2, 3), second.Cameras[0].Stamps)
			require.Equal(t, stamps(2, 3), second.Arms[0].Streams[episode.Joint].Stamps)
		})
		require.NoError(t, disk.RemoveAll("drive_1"))
	}
}

// Uploads read, write spools and delete only on the recorder's codec.Disk.
func TestUploadsOnADisk(t *testing.T) {
	for name, del := range map[string]bool{"kept": false, "deleted": true} {
		t.Run(name, func(t *testing.T) {
			server, disk, net := storetest.New(t), &disktest.Disk{}, &bridgetest.Network{}
			node, err := net.Open(bridge.Options{Name: "recorder"})
			require.NoError(t, err)
			o := testOptions("mcap")
			o.Compression, o.MaxBagMessages = "zstd", 2
			o.Upload, o.DeleteAfterUpload = server.URL("fleet"), del
			d := newTestRecorderWith(t, net, node, disk, o, "/n")
			p, err := d.peer.Advertise("/n", "std_msgs/msg/UInt32", codec.DefaultQoS())
			require.NoError(t, err)
			require.Eventually(t, func() bool { return p.Subscribers() > 0 }, patient, time.Millisecond)
			for i := range uint32(5) {
				data, err := cdr.Marshal(number(i))
				require.NoError(t, err)
				require.NoError(t, p.Publish(data))
			}
			require.Eventually(t, func() bool {
				received := uint64(0)
				d.do(func() { received = d.topics.Topics()[0].Received.Load() })
				return received == 5
			}, patient, time.Millisecond)
			require.NoError(t, d.stop("enough"))
			require.Eventually(t, func() bool {
				files := disk.Files()
				if del {
					return len(files) == 0
				}
				return strings.Contains(string(files["drive.upload.json"]), `"done": true`)
			}, patient, time.Millisecond)
			require.NoError(t, d.end())

			entries, err := os.ReadDir(".")
			require.NoError(t, err)
			require.Empty(t, entries, "a file was written beside the simulated disk")
			require.Equal(t, []string{"fleet/drive/drive_0.mcap", "fleet/drive/drive_1.mcap",
				"fleet/drive/drive_2.mcap", "fleet/drive/metadata.yaml", "fleet/drive/recording.json"}, server.Keys())
			manifest, _ := server.Content("fleet/drive/recording.json")
			require.Contains(t, string(manifest), `"message_count": 5`)
			if del {
				_, err = disk.Stat("drive")
				require.ErrorIs(t, err, fs.ErrNotExist)
				return
			}
			require.Len(t, disk.Files(), 5)
			for _, name := range []string{"drive_1.mcap", "metadata.yaml"} {
				sent, _ := server.Content("fleet/drive/" + name)
				require.Equal(t, string(sent), string(disk.Files()["drive/"+name]))
			}
		})
	}
}
