package codec

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPlain(t *testing.T) {
	for _, text := range []string{"proto:\u00a0cannot parse it", "proto: cannot parse it", "cannot parse it"} {
		err := errors.New(text)
		require.EqualError(t, Plain(err), "cannot parse it")
		require.ErrorIs(t, Plain(err), err)
	}
	require.NoError(t, Plain(nil))
}
