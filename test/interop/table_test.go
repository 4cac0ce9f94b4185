package interop

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTable checks that the rows of the table in docs/reference/interoperation.md are the tests of this package.
func TestTable(t *testing.T) {
	const page = "../../docs/reference/interoperation.md"
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	var rows []string
	for _, row := range regexp.MustCompile(`(?m)^\|[^|]+\| \[(.+)\]\((.+)\) \|( [^|]+ `+
		`\|){4}$`).FindAllStringSubmatch(string(text), -1) {
		name, file := row[1], filepath.Join(filepath.Dir(page), row[2])
		source, err := os.ReadFile(file)
		require.NoError(t, err, name)
		require.Contains(t, string(source), name+"(", "%s is not in %s", name, file)
		rows = append(rows, name)
	}
	require.NotEmpty(t, rows)
	files, err := filepath.Glob("*_test.go")
	require.NoError(t, err)
	for _, file := range files {
		source, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, test := range regexp.MustCompile(`(?m)^func (Test\w+)`).FindAllStringSubmatch(string(source), -1) {
			if !slices.Contains([]string{"TestMain", "TestInstalled", "TestTable"}, test[1]) {
				require.Contains(t, rows, test[1], "%s is not in %s", test[1], page)
			}
		}
	}
}
