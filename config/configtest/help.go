package configtest

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"tapedeck/config"
)

// Limits of the --help text of an executable.
const (
	helpLines   = 45
	helpColumns = 100
)

var (
	manMacros    = []string{".TH", ".SH", ".SS", ".TP", ".PP", ".nf", ".fi"}
	generalFlags = map[string]bool{"log-level": true, "use-sim-time": true} // flags that only nodes have
)

// Help checks the help of an executable and of its commands. The executable's help fits on a screen. Each command has
// an example and each flag a text. Each example is a valid command line. Each topic has a text. The man page has every
// flag, and shells get their completion. newCommand returns a new command each time.
func Help(t *testing.T, newCommand func() *cobra.Command) {
	t.Chdir(t.TempDir()) // so that no word is a file
	output := func(argv ...string) string {
		cmd := newCommand()
		var out bytes.Buffer
		cmd.SetOut(&out)
		require.NoError(t, config.Execute(t.Context(), cmd, argv), argv)
		return out.String()
	}
	root := newCommand()
	brief := output("--help")
	require.Equal(t, brief, output("-h"))
	require.Equal(t, brief, output("help"))
	require.Equal(t, output("--version"), output("version"))
	lines := strings.Split(strings.TrimSuffix(brief, "\n"), "\n")
	require.LessOrEqual(t, len(lines), helpLines, brief)
	for _, line := range lines {
		require.LessOrEqual(t, utf8.RuneCountInString(line), helpColumns, line)
	}
	require.Contains(t, brief, "\nExamples:\n")
	require.GreaterOrEqual(t, strings.Count(root.Example, "\n"), 5, "six examples")
	var commands []*cobra.Command
	for _, cmd := range append([]*cobra.Command{root}, root.Commands()...) {
		if !cmd.IsAvailableCommand() && cmd != root {
			continue
		}
		commands = append(commands, cmd)
		require.NotEmpty(t, cmd.Example, "%s has no example", cmd.CommandPath())
	}
	var err error
	for _, word := range []string{"--help", "help"} {
		err = config.Execute(t.Context(), newCommand(), []string{word, "nothing"})
		require.ErrorIs(t, err, config.ErrUsage)
	}
	topics := strings.Fields(brief[strings.LastIndex(brief, ":")+1:])
	require.NotEmpty(t, topics)
	for _, topic := range topics {
		topic = strings.TrimSuffix(topic, ",")
		require.ErrorContains(t, err, " "+topic+",")
		heading := strings.ReplaceAll(topic, "-", " ") + ":\n"
		require.Contains(t, strings.ToLower(output("--help", topic)), heading)
	}
	man := output("--help", "man")
	for line := range strings.Lines(man) {
		macro, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		require.True(t, line[0] != '\'' && line[0] != '.' || slices.Contains(manMacros, macro), line)
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		require.Contains(t, output("completion", shell), root.Name())
	}
	for _, cmd := range commands {
		path := strings.Fields(cmd.CommandPath())[1:]
		all := output(append(path, "--help", "all")...)
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Hidden {
				return
			}
			require.NotEmpty(t, f.Usage, "--%s", f.Name)
			require.Contains(t, all, "--"+f.Name)
			if !generalFlags[f.Name] {
				require.Contains(t, man, strings.ReplaceAll("--"+f.Name, "-", `\-`))
			}
		})
		for line := range strings.Lines(all) {
			require.True(t, !strings.HasPrefix(line, "  "+root.Name()+" ") ||
				utf8.RuneCountInString(line) <= helpColumns+1, line)
		}
		for line := range strings.SplitSeq(cmd.Example, "\n") {
			command, comment, _ := strings.Cut(line, " # ")
			require.NotEmpty(t, strings.TrimSpace(comment), "%q does not say what it does", line)
			_, err = config.Parse(t.Context(), newCommand(), words(command)[1:])
			require.NoError(t, err, line)
		}
	}
}

// words returns the words of a command line. Words may be in single quotes.
func words(line string) (list []string) {
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			list = append(list, part)
		} else {
			list = append(list, strings.Fields(part)...)
		}
	}
	return list
}
