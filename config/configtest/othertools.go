package configtest

import (
	_ "embed"
	"fmt"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"tapedeck/config"
)

// otherTools lists command lines for other programs, and their meaning here.
//
//go:embed othertools.txt
var otherTools string

// OtherTools checks that flags and commands of other programs work here, or that an error names the replacement. It
// parses the lines of othertools.txt for an executable, each with a new command. It calls no command.
func OtherTools(t *testing.T, newCommand func() *cobra.Command) {
	t.Chdir(t.TempDir()) // so that no word is a file
	name, n := newCommand().Name(), 0
	for line := range strings.Lines(otherTools) {
		columns := strings.SplitN(strings.TrimSpace(line), " | ", 3)
		if strings.HasPrefix(line, "#") || len(columns) < 3 {
			continue
		}
		typed, want := strings.Fields(columns[1]), columns[2]
		if typed[0] != name {
			continue
		}
		n++
		in, err := config.Parse(t.Context(), newCommand(), typed[1:])
		if text, failing := strings.CutPrefix(want, "! "); failing {
			require.ErrorIs(t, err, config.ErrUsage, line)
			require.ErrorContains(t, err, text, line)
			continue
		}
		require.NoError(t, err, line)
		values := in.Values()
		values["args"] = in.Args
		for pair := range strings.FieldsSeq(want) {
			parameter, value, _ := strings.Cut(pair, "=")
			require.Contains(t, values, parameter, line)
			got := fmt.Sprint(values[parameter])
			if list, ok := values[parameter].([]string); ok {
				got = strings.Join(list, ",")
			}
			require.Equal(t, value, got, line)
		}
	}
	require.NotZero(t, n)
}

// Hints checks that the commands do not have the flags for which hints has texts. hints is as for config.Hint.
func Hints(t *testing.T, root *cobra.Command, hints map[string]string) {
	for key := range hints {
		cmd, flag := root, strings.TrimPrefix(key, "* ")
		if name, rest, ok := strings.Cut(flag, " "); ok {
			var err error
			cmd, _, err = root.Find([]string{name})
			require.NoError(t, err)
			require.Equal(t, name, cmd.Name())
			flag = rest
		}
		require.Nil(t, cmd.Flags().Lookup(flag), key)
		if len(flag) == 1 {
			require.Nil(t, cmd.Flags().ShorthandLookup(flag), key)
		}
	}
}
