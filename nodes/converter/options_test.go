package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/config"
)

func TestEveryOptionIsDocumented(t *testing.T) {
	require.NoError(t, config.CheckFile("../../config/converter.yaml", defaultConvertOptions()))
	service := defaultNodeOptions()
	for _, o := range []any{&service, defaultConvertOptions(), defaultInfoOptions(), &recoverOptions{},
		&diffOptions{Limit: 10, As: viewAuto}} {
		require.NoError(t, config.CheckTable("../../docs/reference/options.md", o))
	}
}
