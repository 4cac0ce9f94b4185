package player

import (
	"testing"

	"github.com/spf13/cobra"

	"tapedeck/nodes/internal/othertools/othertoolstest"
)

func TestFlagsOfOtherTools(t *testing.T) {
	othertoolstest.Run(t, func() *cobra.Command { return NewCommand(nil) })
}

func TestHintsAreForUnknownFlags(t *testing.T) { othertoolstest.Hints(t, NewCommand(nil), hints) }
