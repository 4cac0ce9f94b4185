package formats

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFormatsAreNamedHere looks for formats that are known by name elsewhere than in the list.
func TestFormatsAreNamedHere(t *testing.T) {
	named := map[string]bool{}
	for _, f := range All() {
		named[f.Name] = true
	}
	delete(named, "session") // also what the recorder calls a recording
	for _, folder := range []string{"../convert", "../../player", "../../../codec"} {
		paths, err := filepath.Glob(filepath.Join(folder, "*.go"))
		require.NoError(t, err)
		require.NotEmpty(t, paths)
		for _, path := range paths {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			file, err := parser.ParseFile(token.NewFileSet(), path, text, 0)
			require.NoError(t, err)
			ast.Inspect(file, func(n ast.Node) bool {
				literal, ok := n.(*ast.BasicLit)
				if !ok || literal.Kind != token.STRING {
					return true
				}
				value, err := strconv.Unquote(literal.Value)
				require.NoError(t, err)
				name := strings.TrimPrefix(value, "tapedeck/codec/")
				known := named[name] && !(value == "carla" && strings.HasSuffix(path, "channel.go"))
				require.False(t, known, "%s names the format %q", path, value)
				return true
			})
		}
	}
}
