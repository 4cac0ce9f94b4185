package codec

import (
	"errors"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDamage(t *testing.T) {
	damage := errors.New("damage")
	var q Query
	require.Equal(t, damage, q.Damage(damage))
	var reports []error
	q.Damaged = func(err error) { reports = append(reports, err) }
	require.NoError(t, q.Damage(damage))
	require.Equal(t, []error{damage}, reports)
}

// TestDamagedMayBeNil searches the code for calls of Query.Damaged, which may be nil. Readers must call Query.Damage.
func TestDamagedMayBeNil(t *testing.T) {
	call := regexp.MustCompile(`\b(q|query|it)\.[dD]amaged\(`)
	files := 0
	err := fs.WalkDir(os.DirFS(".."), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") ||
			path == "codec/reader.go" {
			return err
		}
		text, err := fs.ReadFile(os.DirFS(".."), path)
		require.NoError(t, err)
		files++
		require.Empty(t, call.FindString(string(text)), path)
		return nil
	})
	require.NoError(t, err)
	require.Greater(t, files, 100)
}
