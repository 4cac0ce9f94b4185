//go:build rcl

package rcl

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestInOrder(t *testing.T) {
	for _, test := range []struct {
		name                      string
		last, received, now, want int64
	}{
		{"the first", 0, 7, 9, 7},
		{"later", 5, 7, 9, 7},
		{"a part of it was sent again", 8, 7, 9, 8},
		{"the clock was set back", 100, 7, 9, 7},
	} {
		t.Run(test.name, func(t *testing.T) {
			require.Equal(t, test.want, inOrder(test.last, test.received, test.now))
		})
	}
}
