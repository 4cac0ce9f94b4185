package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec/format/hdf5/hdf5test"
	"tapedeck/config"
	"tapedeck/config/configtest"
)

func TestMain(m *testing.M) {
	hdf5test.Main()
	os.Exit(m.Run())
}

func TestEveryOptionIsDocumented(t *testing.T) {
	o := defaultNodeOptions()
	require.NoError(t, configtest.CheckTable("../../docs/reference/options.md", "converter_node", &o))
}

func TestEveryOptionHasText(t *testing.T) {
	require.Empty(t, config.TextErrors(&options{}, &requestOptions{}))
}

func TestFlagsOfOtherTools(t *testing.T) { configtest.OtherTools(t, newCommand) }

func TestHelp(t *testing.T) { configtest.Help(t, newCommand) }
