package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/config"
)

func TestEveryOptionIsDocumented(t *testing.T) {
	o := defaultOptions()
	require.NoError(t, config.CheckFile("../../config/mavlink_publisher.yaml", &o))
	text, err := os.ReadFile("../../docs/options.md")
	require.NoError(t, err)
	require.Contains(t, string(text), config.Table(&o))
}
