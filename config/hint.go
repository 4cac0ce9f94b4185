package config

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Hint adds to errors about unknown flags of a command what hints has for them, by name ("lz4") or letter ("j"): what
// to use instead of a flag of another program. An error of a subcommand says so if cmd itself has the flag.
func Hint(cmd *cobra.Command, hints map[string]string) {
	cmd.SetFlagErrorFunc(func(at *cobra.Command, err error) error {
		var unknown *pflag.NotExistError
		if !errors.As(err, &unknown) {
			return err
		}
		name := unknown.GetSpecifiedName()
		hint := hints[strings.ReplaceAll(name, "_", "-")]
		switch {
		case at == cmd:
		case cmd.Flags().Lookup(name) != nil || len(name) == 1 && cmd.Flags().ShorthandLookup(name) != nil:
			hint = fmt.Sprintf("only %s without %q has it", cmd.Name(), at.Name())
		default:
			hint = ""
		}
		if hint == "" {
			return err
		}
		return fmt.Errorf("%w: %s", err, hint)
	})
}
