package main

import (
	"testing"

	"tapedeck/nodes/internal/othertools/othertoolstest"
)

func TestFlagsOfOtherTools(t *testing.T) { othertoolstest.Run(t, newCommand) }

func TestHintsAreForUnknownFlags(t *testing.T) { othertoolstest.Hints(t, newCommand(), hints) }
