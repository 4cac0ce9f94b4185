package layers

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestInits checks that only declarations stand before the condition of an if or the tag of a switch. Readers overlook
// side effects there.
func TestInits(t *testing.T) {
	files := token.NewFileSet()
	for path, p := range list(t) {
		if !strings.HasPrefix(path, module) {
			continue
		}
		names, err := filepath.Glob(filepath.Join(p.Dir, "*.go"))
		require.NoError(t, err)
		for _, name := range names {
			file, err := parser.ParseFile(files, name, nil, parser.SkipObjectResolution)
			require.NoError(t, err)
			for _, place := range effects(file) {
				t.Errorf("%s: put this statement before the if or switch", files.Position(place))
			}
		}
	}
}

// TestEffects checks effects on an example.
func TestEffects(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "", `package p
func f() {
	if n := g(); n > 0 {
	} else if n = g(); n > 0 {
	}
	if g(); n > 0 {
	}
	switch n++; n {
	}
	switch n := g(); n {
	}
}`, 0)
	require.NoError(t, err)
	require.Len(t, effects(file), 3)
}

// effects returns the positions of statements before conditions and tags, except for declarations.
func effects(file *ast.File) []token.Pos {
	var places []token.Pos
	ast.Inspect(file, func(n ast.Node) bool {
		var init ast.Stmt
		switch n := n.(type) {
		case *ast.IfStmt:
			init = n.Init
		case *ast.SwitchStmt:
			init = n.Init
		case *ast.TypeSwitchStmt:
			init = n.Init
		}
		assign, ok := init.(*ast.AssignStmt)
		if init != nil && !(ok && assign.Tok == token.DEFINE) {
			places = append(places, init.Pos())
		}
		return true
	})
	return places
}
