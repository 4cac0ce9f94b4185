// Package layers holds the imports of all packages against what docs/develop/architecture.md says of the layers.
package layers

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// module begins the import paths of tapedeck.
const module = "tapedeck/"

// listed is a package as go list describes it.
type listed struct {
	Dir        string
	ImportPath string
	GoFiles    []string
	CgoFiles   []string
	Imports    []string
	Standard   bool
}

// all are the packages of tapedeck, and those that they link, by import path.
type all map[string]listed

func list(t *testing.T) all {
	output, err := exec.Command("go", "list", "-deps", "-json=Dir,ImportPath,GoFiles,CgoFiles,Imports,Standard",
		module+"...").Output()
	require.NoError(t, err)
	packages := all{}
	for d := json.NewDecoder(bytes.NewReader(output)); ; {
		var p listed
		err := d.Decode(&p)
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		packages[p.ImportPath] = p
		// The go command remembers that a test has passed until a file changes that the test looked at.
		for _, name := range append(p.GoFiles, p.CgoFiles...) {
			if strings.HasPrefix(p.ImportPath, module) {
				_, err := os.Stat(filepath.Join(p.Dir, name))
				require.NoError(t, err)
			}
		}
	}
	return packages
}

// links returns the paths of a package and of all that it imports, also by others.
func (packages all) links(path string) map[string]bool {
	found := map[string]bool{}
	var add func(path string)
	add = func(path string) {
		if found[path] {
			return
		}
		found[path] = true
		for _, imported := range packages[path].Imports {
			add(imported)
		}
	}
	add(path)
	return found
}

// below reports whether a package is one of the folders, or in one. A folder that ends in "." is the package alone.
func below(path string, folders ...string) bool {
	return slices.ContainsFunc(folders, func(folder string) bool {
		alone, only := strings.CutSuffix(folder, "/.")
		return path == alone || !only && strings.HasPrefix(path, folder+"/")
	})
}

// helpers are packages that only tests import.
var helpers = []string{"bridge/bridgetest", "bridge/realman/realmantest", "bridge/v4l2/v4l2test",
	"codec/internal/codectest", "codec/disktest", "codec/store/storetest", "codec/tlog/tlogtest",
	"config/configtest", "nodes/internal/othertools/othertoolstest", "test"}

// formats are the folders of formats.
var formats = []string{"codec/carla", "codec/cloud", "codec/hdf5", "codec/images", "codec/lerobot", "codec/mcap",
	"codec/mp4", "codec/record", "codec/rosbag", "codec/rosbag2", "codec/session", "codec/table", "codec/tlog",
	"codec/track", "codec/ulog"}

// TestLayers checks what packages may import of tapedeck.
func TestLayers(t *testing.T) {
	packages := list(t)
	for _, layer := range []struct {
		folder string
		may    []string // be imported; nil: all
		never  []string // may be imported
		but    []string // exceptions of never: these may be imported, and may import
	}{
		{folder: "msgs", may: []string{"msgs"}},
		{folder: "config", may: []string{"config"}},
		{folder: "codec", may: []string{"codec", "msgs"}},
		{folder: "bridge", may: []string{"bridge", "codec", "msgs"}},
		{folder: "nodes", may: []string{"nodes", "bridge", "codec", "config", "msgs"}},

		{folder: "codec/store/.", may: []string{}},
		{folder: "codec/store/http", may: []string{"codec/store/.", "codec/store/internal"}},
		{folder: "codec/store/s3", may: []string{"codec/store/.", "codec/store/internal"}},
		{folder: "codec", never: []string{"codec/store/http", "codec/store/s3"}},
		{folder: "codec/.", never: formats},
		{folder: "codec/internal", never: formats},
		{folder: "codec/rosbag2", never: formats, but: []string{"codec/rosbag2", "codec/mcap"}},

		// Devices know nothing of ROS.
		{folder: "bridge/v4l2", never: []string{"bridge/.", "bridge/dds", "bridge/rcl", "msgs/sensor_msgs"}},
		{folder: "bridge/realman", never: []string{"bridge/.", "bridge/dds", "bridge/rcl", "msgs/sensor_msgs"}},
		{folder: "bridge/mavlink", never: []string{"bridge/.", "bridge/dds", "bridge/rcl", "msgs/mavros_msgs"}},

		// Who uses the graph does not know how it is reached.
		{folder: "nodes", never: []string{"bridge/dds", "bridge/rcl"}, but: []string{"nodes/internal/graph"}},

		{folder: "nodes/internal", never: []string{"nodes/arm_publisher", "nodes/camera_publisher", "nodes/converter",
			"nodes/mavlink_publisher", "nodes/player", "nodes/recorder"}},
		{folder: "nodes/recorder/internal", never: []string{"nodes/recorder/.", "nodes/recorder/recorder"}},
	} {
		checked := 0
		for path, p := range packages {
			path, ours := strings.CutPrefix(path, module)
			if !ours || !below(path, layer.folder) || below(path, helpers...) {
				continue
			}
			checked++
			for _, imported := range p.Imports {
				imported, ours := strings.CutPrefix(imported, module)
				exempt := below(imported, layer.but...) || below(path, layer.but...)
				if ours && (layer.may != nil && !below(imported, layer.may...) ||
					below(imported, layer.never...) && !exempt) {
					t.Errorf("%s imports %s", path, imported)
				}
			}
		}
		require.NotZero(t, checked, layer.folder)
	}
	for _, format := range formats {
		for path, p := range packages {
			if folder := strings.TrimPrefix(path, module); !below(folder, format) || below(folder, "codec/rosbag2") {
				continue
			}
			for _, imported := range p.Imports {
				if other := strings.TrimPrefix(imported, module); below(other, formats...) && !below(other, format) {
					t.Errorf("%s imports another format, %s", path[len(module):], other)
				}
			}
		}
	}
}

// TestLinkedFormats checks which executables link which formats.
func TestLinkedFormats(t *testing.T) {
	packages := list(t)
	for name, want := range map[string][]string{
		"recorder":  {"codec/carla", "codec/cloud", "codec/mcap", "codec/record", "codec/rosbag2", "codec/session"},
		"converter": formats, "player": formats,
		"mavlink_publisher": {"codec/tlog"}, "arm_publisher": nil, "camera_publisher": nil,
	} {
		links := packages.links(module + "nodes/" + name)
		var linked []string
		for _, format := range formats {
			if links[module+format] {
				linked = append(linked, format)
			}
		}
		require.Equal(t, want, linked, name)
	}
}

// TestModules checks which packages import modules of others, and which executables link them.
func TestModules(t *testing.T) {
	packages := list(t)
	executables := map[string]map[string]bool{}
	for path := range packages {
		name, found := strings.CutPrefix(path, module+"nodes/")
		if found && !strings.Contains(name, "/") {
			executables[name] = packages.links(path)
		}
	}
	require.Len(t, executables, 6)
	every := slices.Sorted(maps.Keys(executables))
	for _, c := range []struct {
		prefix   string   // of import paths
		imported []string // by these folders alone
		linked   []string // by these executables alone
	}{
		{"github.com/aws/", []string{"codec/store/s3"}, []string{"converter", "player", "recorder"}},
		{"gonum.org/v1/hdf5", []string{"codec/hdf5/internal/h5"}, []string{"converter", "player"}},
		{"github.com/bluenviron/gomavlib", []string{"bridge/mavlink", "bridge/mavros", "codec/tlog",
			"nodes/mavlink_publisher"}, []string{"converter", "mavlink_publisher", "player"}},
		{module + "bridge/recordings", []string{"bridge/recordings", "nodes"}, []string{"converter", "player"}},
		{module + "bridge/robot", []string{"nodes"}, []string{"converter", "player", "recorder"}},
		{"github.com/spf13/viper", []string{"config"}, every},
		{"github.com/rclone/gofakes3", nil, nil},
		{"net/http", []string{"codec/store/http", "codec/store/s3", "nodes/internal/livepage"}, every},
		{module + "test/", nil, nil},
	} {
		matches := func(path string) bool {
			return path == strings.TrimSuffix(c.prefix, "/") || strings.HasPrefix(path, c.prefix)
		}
		for path, p := range packages {
			path, ours := strings.CutPrefix(path, module)
			if !ours || below(path, helpers...) || below(path, c.imported...) {
				continue
			}
			if slices.ContainsFunc(p.Imports, matches) {
				t.Errorf("%s imports %s", path, c.prefix)
			}
		}
		var linked []string
		for name, links := range executables {
			if slices.ContainsFunc(slices.Collect(maps.Keys(links)), matches) {
				linked = append(linked, name)
			}
		}
		slices.Sort(linked)
		require.Equal(t, c.linked, linked, "executables that link %s", c.prefix)
	}
	for _, helper := range helpers {
		for name, links := range executables {
			for path := range links {
				if path, ours := strings.CutPrefix(path, module); ours && below(path, helper) {
					t.Errorf("%s links %s, which is for tests", name, path)
				}
			}
		}
	}
}
