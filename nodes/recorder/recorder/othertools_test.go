package recorder

import (
	"testing"

	"github.com/spf13/cobra"

	"tapedeck/codec"
	"tapedeck/nodes/internal/othertools/othertoolstest"
)

func command() *cobra.Command { return NewCommand(codec.OS{}) }

func TestFlagsOfOtherTools(t *testing.T) { othertoolstest.Run(t, command) }

func TestHintsAreForUnknownFlags(t *testing.T) {
	othertoolstest.Hints(t, command(), hints)
}
