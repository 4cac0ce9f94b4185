// Package layers tests the imports of all packages against the layers in docs/develop/architecture.md.
package layers

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// module is the prefix of tapedeck's import paths.
const module = "tapedeck/"

// goPackage is a package as go list describes it.
type goPackage struct {
	Dir        string
	ImportPath string
	GoFiles    []string
	CgoFiles   []string
	Imports    []string
	Standard   bool
}

// packageMap has the packages of tapedeck and the packages that they link, by import path.
type packageMap map[string]goPackage

func list(t *testing.T) packageMap {
	output, err := exec.Command("go", "list", "-deps", "-json=Dir,ImportPath,GoFiles,CgoFiles,Imports,Standard",
		module+"...").Output()
	require.NoError(t, err)
	packages := packageMap{}
	for d := json.NewDecoder(bytes.NewReader(output)); ; {
		var p goPackage
		err := d.Decode(&p)
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		packages[p.ImportPath] = p
		// The go command caches the result of a test until a file changes that the test has opened.
		for _, name := range append(p.GoFiles, p.CgoFiles...) {
			if strings.HasPrefix(p.ImportPath, module) {
				_, err := os.Stat(filepath.Join(p.Dir, name))
				require.NoError(t, err)
			}
		}
	}
	return packages
}

// links returns the paths of a package and of all packages that it imports, directly or not.
func (packages packageMap) links(path string) map[string]bool {
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

// below reports whether a package is in one of the folders. A folder that ends in "." stands for its package, without
// packages below.
func below(path string, folders ...string) bool {
	return slices.ContainsFunc(folders, func(folder string) bool {
		alone, only := strings.CutSuffix(folder, "/.")
		return path == alone || !only && strings.HasPrefix(path, folder+"/")
	})
}

// helpers are packages that only tests import.
var helpers = []string{"bridge/bridgetest", "bridge/device/realman/realmantest", "bridge/device/v4l2/v4l2test",
	"codec/internal/codectest", "codec/disktest", "codec/store/storetest", "codec/format/hdf5/hdf5test",
	"codec/format/tlog/tlogtest", "config/configtest", "test"}

// formats returns the folders of formats.
func (packages packageMap) formats() []string {
	var folders []string
	for path := range packages {
		name, found := strings.CutPrefix(path, module+"codec/format/")
		if found && !strings.Contains(name, "/") {
			folders = append(folders, "codec/format/"+name)
		}
	}
	slices.Sort(folders)
	return folders
}

// TestLayers checks which packages of tapedeck import each other.
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
		{folder: "codec/.", never: []string{"codec/format", "codec/training"}},
		{folder: "codec/text/plural", may: []string{"codec/text"}},
		{folder: "codec/text/printable", may: []string{"codec/text"}},
		{folder: "codec/encoding", never: []string{"codec/format", "codec/store", "codec/training"}},
		{folder: "codec/internal", never: []string{"codec/format", "codec/training"}},
		{folder: "codec/training", never: []string{"codec/format"}},

		// Devices know nothing of ROS.
		{folder: "bridge/device", never: []string{"bridge/.", "bridge/graph", "bridge/translate", "msgs/mavros_msgs",
			"msgs/sensor_msgs"}},

		// Users of the graph must not depend on its implementation.
		{folder: "bridge/translate", never: []string{"bridge/graph"}},
		{folder: "nodes", never: []string{"bridge/graph"}, but: []string{"nodes/internal/graph/."}},

		{folder: "nodes/internal", never: []string{"nodes/arm_publisher", "nodes/camera_publisher", "nodes/converter",
			"nodes/converter_node", "nodes/hdf5_helper", "nodes/mavlink_publisher", "nodes/player", "nodes/recorder"}},
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
	formats := packages.formats()
	for _, format := range formats {
		for path, p := range packages {
			if folder := strings.TrimPrefix(path, module); !below(folder, format) || format == "codec/format/rosbag2" {
				continue // a rosbag2 folder may hold MCAP files
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
	formats := packages.formats()
	require.Greater(t, len(formats), 10)
	for name, want := range map[string][]string{
		"recorder":  {"carla", "cloud", "mcap", "record", "rosbag2", "session"},
		"converter": formats, "converter_node": formats, "player": formats,
		"mavlink_publisher": {"tlog"}, "arm_publisher": nil, "camera_publisher": nil,
	} {
		links := packages.links(module + "nodes/" + name)
		var linked []string
		for _, format := range formats {
			if links[module+format] {
				linked = append(linked, format)
			}
		}
		for i, format := range want {
			want[i] = path.Join("codec/format", path.Base(format))
		}
		require.Equal(t, want, linked, name)
	}
}

// TestModules checks which packages import other projects' modules, and which executables link them.
func TestModules(t *testing.T) {
	packages := list(t)
	executables := map[string]map[string]bool{}
	for path := range packages {
		name, found := strings.CutPrefix(path, module+"nodes/")
		if found && !strings.Contains(name, "/") {
			executables[name] = packages.links(path)
		}
	}
	require.Len(t, executables, 8)
	every := slices.Sorted(maps.Keys(executables))
	commands := slices.DeleteFunc(slices.Clone(every), func(name string) bool { return name == "hdf5_helper" })
	nodes := slices.DeleteFunc(slices.Clone(commands), func(name string) bool { return name == "converter" })
	for _, c := range []struct {
		prefix   string   // of import paths
		imported []string // folders that may import such packages
		linked   []string // executables that may link such packages
	}{
		{"github.com/aws/", []string{"codec/store/s3"}, []string{"converter", "converter_node", "player", "recorder"}},
		{"gonum.org/v1/hdf5", []string{"codec/format/hdf5/internal/h5"}, []string{"hdf5_helper"}},
		{"github.com/bluenviron/gomavlib", []string{"bridge/device/mavlink", "bridge/translate/mavros",
			"codec/format/tlog", "nodes/mavlink_publisher"}, []string{"converter", "converter_node",
			"mavlink_publisher", "player"}},
		{module + "bridge/recordings", []string{"bridge/recordings", "nodes"},
			[]string{"converter", "converter_node", "player"}},
		{module + "bridge/translate/robot", []string{"nodes"},
			[]string{"converter", "converter_node", "player", "recorder"}},
		{module + "bridge/graph/dds", []string{"nodes/internal/graph"}, nodes},
		{"github.com/spf13/viper", []string{"config"}, commands},
		{"github.com/rclone/gofakes3", nil, nil},
		{"net/http", []string{"codec/store/http", "codec/store/s3", "nodes/internal/page/livepage"}, commands},
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

// fileFunctions has the functions that read or change files, by package.
var fileFunctions = map[string][]string{
	"os": {"Chmod", "Chtimes", "CopyFS", "Create", "CreateTemp", "DirFS", "Link", "Lstat", "Mkdir", "MkdirAll",
		"MkdirTemp", "Open", "OpenFile", "OpenInRoot", "OpenRoot", "ReadDir", "ReadFile", "Remove", "RemoveAll",
		"Rename", "Stat", "Symlink", "Truncate", "WriteFile"},
	"path/filepath":         {"EvalSymlinks", "Glob", "Walk", "WalkDir"},
	"syscall":               {"Fallocate", "Flock", "Open", "Rename", "Statfs", "Unlink"},
	"golang.org/x/sys/unix": {"Fallocate", "Flock", "Open", "Rename", "Statfs", "Syncfs", "Unlink"},
}

// TestDisk checks that the packages by which the recorder writes and reads recordings use files of a codec.Disk, so
// that tests can replace the disk of a whole recorder.
func TestDisk(t *testing.T) {
	// Exceptions: these folders and files may use other files.
	except := map[string]string{
		"codec/disk.go":                    "is the disk of the operating system",
		"codec/disk_linux.go":              "is the disk of the operating system",
		"codec/disk_unix.go":               "is the disk of the operating system",
		"codec/store/store.go":             "reads local files; copies remote ones to temporary files",
		"codec/store/object.go":            "copies what a web server sends as a whole to a temporary file",
		"codec/store/unnamed_unix.go":      "makes a file for temporary data",
		"codec/store/write.go":             "is for what the converter writes",
		"codec/format.go":                  "looks into folders that only the converter writes",
		"codec/format/rosbag2/reindex.go":  "repairs bags for the converter",
		"codec/format/rosbag2/database.go": "follows links to a database, beside which its write-ahead log is",
		"codec/format/cloud":               "is written by the converter alone",
		"codec/internal/files":             "is for formats that the converter alone writes",
		"codec/internal/stamped":           "is for formats that the converter alone writes",

		"nodes/recorder/internal/selection/static_topics.go": "reads a file of parameters",
		"nodes/recorder/recorder/options.go":                 "checks parameters that name files",
		"nodes/recorder/recorder/upload_command.go":          "takes the path of a command",
	}
	packages := list(t)
	used := map[string]bool{}
	checked := 0
	for path := range packages.links(module + "nodes/recorder") {
		p := packages[path]
		folder, ours := strings.CutPrefix(path, module)
		if !ours || !below(folder, "codec", "nodes/internal/formats", "nodes/recorder") {
			continue
		}
		for _, name := range append(p.GoFiles, p.CgoFiles...) {
			checked++
			for _, call := range fileCalls(t, filepath.Join(p.Dir, name)) {
				switch file := folder + "/" + name; {
				case except[folder] != "":
					used[folder] = true
				case except[file] != "":
					used[file] = true
				default:
					t.Errorf("%s uses %s, not a codec.Disk", file, call)
				}
			}
		}
	}
	require.Greater(t, checked, 100)
	for _, name := range []string{"codec/disk.go", "codec/format.go", "nodes/recorder/recorder/options.go"} {
		require.True(t, used[name], "%s is looked into", name)
	}
}

// fileCalls returns the fileFunctions that a file uses.
func fileCalls(t *testing.T, path string) (calls []string) {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	require.NoError(t, err)
	functions := map[string][]string{} // by the name of their package in the file
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		require.NoError(t, err)
		name := imported[strings.LastIndexByte(imported, '/')+1:]
		if spec.Name != nil {
			name = spec.Name.Name
		}
		functions[name] = fileFunctions[imported]
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if selector, ok := n.(*ast.SelectorExpr); ok {
			x, ok := selector.X.(*ast.Ident)
			if ok && slices.Contains(functions[x.Name], selector.Sel.Name) {
				calls = append(calls, x.Name+"."+selector.Sel.Name)
			}
		}
		return true
	})
	return calls
}
