package config

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Hint adds to errors about unknown flags of a command what hints has for them, by name ("lz4") or letter ("j"): what
// to use instead of a flag of another program.
func Hint(cmd *cobra.Command, hints map[string]string) {
	cmd.SetFlagErrorFunc(func(at *cobra.Command, err error) error {
		var unknown *pflag.NotExistError
		if at == cmd && errors.As(err, &unknown) {
			if hint := hints[strings.ReplaceAll(unknown.GetSpecifiedName(), "_", "-")]; hint != "" {
				return fmt.Errorf("%w: %s", err, hint)
			}
		}
		return err
	})
}
