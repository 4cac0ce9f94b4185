package year

import (
	"context"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/codec/series"
	"tapedeck/codec/store"
	"tapedeck/config"
	"tapedeck/msgs/std_msgs"
	"tapedeck/nodes/player/player"
)

// replay plays a recording of the day that lies on the disk, if there is one. It checks that everything readable in it
// is heard. The recorder records it meanwhile.
func (b *running) replay() {
	w := b.world
	recordings := map[string][]string{} // files by what the player is given
	files := w.disk.Files()
	for _, file := range slices.Sorted(maps.Keys(files)) {
		if name := played(file); isData(file) && name != "" && len(w.read(b.t, file, files[file]).numbers) > 0 {
			recordings[name] = append(recordings[name], file)
		}
	}
	maps.DeleteFunc(recordings, func(_ string, list []string) bool {
		return slices.ContainsFunc(list, func(file string) bool {
			// Files that seem to overlap, after the clock was set back, are not played as one recording.
			for s := range w.read(b.t, file, files[file]).numbers {
				if w.stepped[s.boot] {
					return true
				}
			}
			return false
		})
	})
	if len(recordings) == 0 {
		return
	}
	name := pick(w.random("replay"), slices.Sorted(maps.Keys(recordings))...)
	want := map[string]bool{}
	damaged := false
	for _, file := range recordings[name] {
		c := w.read(b.t, file, files[file])
		damaged = damaged || c.damaged != nil
		for s, list := range c.numbers {
			for _, n := range list {
				want[text(s, n)] = true
			}
		}
	}

	heard := map[string]int{}
	var mu sync.Mutex
	listener, err := b.open(bridge.Options{Name: "listener"})
	require.NoError(b.t, err)
	for _, topic := range topics {
		_, err := listener.Subscribe("/replay"+topic, "std_msgs/msg/String", codec.DefaultQoS(),
			func(batch []bridge.Sample) {
				mu.Lock()
				defer mu.Unlock()
				for _, sample := range batch {
					var s std_msgs.String
					require.NoError(b.t, cdr.Unmarshal(sample.Data, &s))
					heard[s.Data]++
				}
			})
		require.NoError(b.t, err)
	}
	system := player.System{Files: store.On(w.disk), Graph: b.open, GoTime: true}
	err = config.Execute(context.Background(), player.NewCommand(system), []string{name, "--prefix", "/replay",
		"--topics", "/robot/imu", "/robot/camera", "--allow-unmatched", "--disable-keyboard-controls",
		"--skip-empty", "5s"})
	if err != nil {
		w.wrong("play %s: %v", name, err)
	}
	b.net.Drain()
	require.NoError(b.t, listener.Close())
	for message := range want {
		if heard[message] != 1 {
			w.wrong("playing %s: heard %d times: %.40s", name, heard[message], message)
		}
	}
	for message := range heard {
		if !want[message] && !damaged { // messages in damaged places may be wrong; the player warns
			w.wrong("playing %s: heard what was not read: %.40q", name, message)
		}
	}
	w.played++
	w.heard += len(heard)
}

// played returns the path by which the player plays the recording of a file, "" for a recording of this boot.
func played(file string) string {
	name := strings.TrimSuffix(file, codec.ActiveSuffix)
	folder := filepath.Dir(name)
	switch before, number, _ := strings.Cut(path.Base(name), ".record."); {
	case strings.Contains(name, "-20_00_"):
		return ""
	case number != "":
		return filepath.Join(folder, before+".record")
	case folder != "/data":
		return folder
	}
	if n, ok := series.Parse(path.Base(name)); ok && n.Time != "" {
		return filepath.Join(folder, n.Base)
	}
	if i := strings.LastIndexByte(name, '_'); strings.Count(path.Base(name), "_") == 6 {
		if _, err := strconv.Atoi(strings.TrimSuffix(name[i+1:], ".mcap")); err == nil {
			return name[:i] + ".mcap"
		}
	}
	return name
}
