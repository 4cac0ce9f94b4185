package recorder

import (
	"testing"

	"github.com/spf13/cobra"

	"tapedeck/codec"
	"tapedeck/config/configtest"
)

func command() *cobra.Command { return NewCommand(System{Disk: codec.OS{}}) }

func TestFlagsOfOtherTools(t *testing.T) { configtest.OtherTools(t, command) }

func TestHintsAreForUnknownFlags(t *testing.T) {
	configtest.Hints(t, command(), hints)
}
