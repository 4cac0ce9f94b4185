package formats

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFormatsAreNamedHere searches nodes and package codec for names and packages of formats.
func TestFormatsAreNamedHere(t *testing.T) {
	named := map[string]bool{}
	for _, f := range All() {
		named[f.Name] = true
	}
	// These words are also used for recordings in the recorder, and for a service of rosbag2.
	delete(named, "session")
	delete(named, "record")
	packages := regexp.MustCompile(`^tapedeck/(codec/(carla|hdf5|lerobot|mcap|record|rosbag2?|session|table|tlog|` +
		`ulog)|bridge/(apollo|carla|px4|ros1))(/|$)`)

	look := func(path string) {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		file, err := parser.ParseFile(token.NewFileSet(), path, text, 0)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
				value, err := strconv.Unquote(literal.Value)
				require.NoError(t, err)
				if value == "tapedeck/codec/format/tlog" && strings.Contains(path, "mavlink_publisher") {
					return true // the package handles messages of MAVLink
				}
				require.False(t, named[value] || packages.MatchString(value), "%s names the format %q", path, value)
			}
			return true
		})
	}
	product := func(path string) bool {
		return strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go")
	}
	files := 0
	require.NoError(t, filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && path == "../../internal/formats" {
			return fs.SkipDir
		}
		if err == nil && product(path) {
			files++
			look(path)
		}
		return err
	}))
	require.Greater(t, files, 50)
	root, err := filepath.Glob("../../../codec/*.go")
	require.NoError(t, err)
	for _, path := range root {
		if product(path) {
			look(path)
		}
	}
}
