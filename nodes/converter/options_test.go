package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/config/configtest"
)

func TestEveryOptionIsDocumented(t *testing.T) {
	require.NoError(t, configtest.CheckFile("../../config/converter.yaml", defaultConvertOptions()))
	service := defaultNodeOptions()
	for _, o := range []any{&service, defaultConvertOptions(), defaultInfoOptions(), &recoverOptions{},
		&diffOptions{Limit: 10, As: viewAuto}} {
		require.NoError(t, configtest.CheckTable("../../docs/reference/options.md", o))
	}
}
