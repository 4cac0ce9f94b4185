package player

import (
	"testing"

	"github.com/spf13/cobra"

	"tapedeck/config/configtest"
)

func TestFlagsOfOtherTools(t *testing.T) {
	configtest.OtherTools(t, func() *cobra.Command { return NewCommand(System{}) })
}

func TestHintsAreForUnknownFlags(t *testing.T) { configtest.Hints(t, NewCommand(System{}), hints) }
