package config

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Hint adds hints to errors about unknown flags of a command: replacements of flags of other programs. hints
// has them by name ("lz4") or letter ("j"). Keys for a subcommand begin with its name, "info y", or with a * for all
// subcommands.
//
// If only cmd itself has the flag, an error of a subcommand says so. For other names didYouMean returns the text to add
// to the error, from the name and the names of all flags. An error about a flag without a value explains its letter. An
// error of cmd.Args about arguments before the flag comes first, because the flag may belong to another command.
func Hint(cmd *cobra.Command, hints map[string]string, didYouMean func(name string, flags []string) string) {
	cmd.SetFlagErrorFunc(func(at *cobra.Command, err error) error {
		if at == cmd && at.Args != nil {
			if word := at.Args(at, at.Flags().Args()); word != nil {
				return word
			}
		}
		var unknown *pflag.NotExistError
		var empty *pflag.ValueRequiredError
		switch {
		case errors.As(err, &empty):
			return withLetter(err, empty.GetFlag(), empty.GetSpecifiedShortnames())
		case !errors.As(err, &unknown):
			return err
		}
		name := strings.ReplaceAll(unknown.GetSpecifiedName(), "_", "-")
		hint := hints[name]
		if at != cmd {
			hint = cmp.Or(hints[at.Name()+" "+name], hints["* "+name])
			if hint == "" && (cmd.Flags().Lookup(name) != nil ||
				len(name) == 1 && cmd.Flags().ShorthandLookup(name) != nil) {
				hint = fmt.Sprintf("only %s without %q has it", cmd.Name(), at.Name())
			}
		}
		if hint == "" && len(name) > 1 {
			var flags []string
			at.Flags().VisitAll(func(f *pflag.Flag) {
				if !f.Hidden {
					flags = append(flags, "--"+f.Name)
				}
			})
			return fmt.Errorf("%w%s", err, didYouMean("--"+name, flags))
		}
		if hint == "" {
			return err
		}
		return fmt.Errorf("%w: %s", err, hint)
	})
}
