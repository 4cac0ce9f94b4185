package main

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge/device/realman"
)

func TestSpeeds(t *testing.T) {
	for name, test := range map[string]struct {
		factor float64       // factor of the reported speeds
		pace   time.Duration // time between packets
		want   float64
		wrong  bool
	}{
		"right":                 {1, 5 * time.Millisecond, 1, false},
		"0.01rpm":               {1. / 6, 5 * time.Millisecond, 6, true},
		"0.02rpm":               {1. / 12, 10 * time.Millisecond, 12, true},
		"too slow":              {6, 5 * time.Millisecond, 1. / 6, true},
		"packets too far apart": {6, 200 * time.Millisecond, 0, false},
		"no speeds":             {0, 5 * time.Millisecond, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			var s speeds
			begin := time.Unix(1_700_000_000, 0)
			for at := time.Duration(0); at < 20*time.Second; at += test.pace {
				sin, cos := math.Sincos(at.Seconds())
				s.update(&realman.Update{Stamp: begin.Add(at), Joints: []float64{sin, 3},
					Speeds: []float64{cos * test.factor, 0}})
			}
			require.InDelta(t, test.want, s.ratio, 0.02*test.want)
			require.Equal(t, test.wrong, s.wrong())
			s.update(&realman.Update{Joints: []float64{9, 9}})
			require.Len(t, s.joints, 2, "a reply has no speeds")
		})
	}
}
