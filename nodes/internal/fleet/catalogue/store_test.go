package catalogue

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec/store/s3"
	"tapedeck/codec/store/storetest"
	"tapedeck/nodes/internal/filter/condition"
)

// A catalogue in a store needs few requests for each recording.
func TestRequests(t *testing.T) {
	s := storetest.New(t)
	path := random(t, rand.New(rand.NewPCG(1, 1)))
	cond, err := condition.Parse("/imu linear_acceleration.z > 5")
	require.NoError(t, err)
	c, err := Create(t.Context(), s.Files(), s3.New(), s.URL("catalogue"))
	require.NoError(t, err)
	for _, step := range []struct {
		name     string
		requests int
		do       func() error
	}{
		{"add", 8, func() error { index(t, c, path, nil); return nil }}, // two for each table
		{"replace", 8, func() error { index(t, c, path, nil); return nil }},
		{"look up", 1, func() error { _, err := c.Recording(path); return err }},
		{"list", 2, func() error { _, err := c.Recordings(); return err }},
		{"search", 2, func() error { _, err := c.Search(path, cond); return err }},
	} {
		s.Reset()
		require.NoError(t, step.do(), step.name)
		n, _ := s.Count()
		require.Equal(t, step.requests, n, step.name)
	}
}
