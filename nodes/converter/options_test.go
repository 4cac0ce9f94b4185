package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/config"
)

func TestEveryOptionIsDocumented(t *testing.T) {
	require.NoError(t, config.CheckFile("../../config/converter.yaml", defaultConvertOptions()))
	text, err := os.ReadFile("../../docs/options.md")
	require.NoError(t, err)
	service := defaultNodeOptions()
	for _, o := range []any{&service, defaultConvertOptions(), defaultInfoOptions(), &recoverOptions{}, &diffOptions{Limit: 10, As: viewAuto}} {
		require.Contains(t, string(text), config.Table(o))
	}
}
