package subscription

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestRate(t *testing.T) {
	var m Rate
	at := time.Unix(1000, 0)
	for i := range uint64(50) {
		m.Update(at.Add(time.Duration(i)*500*time.Millisecond), i*50, i*5000)
	}
	require.InDelta(t, 100, m.Messages, 1)
	require.InDelta(t, 10000, m.Bytes, 100)
	m.Update(at.Add(35*time.Second), 50*50, 50*5000)
	require.Less(t, m.Messages, 10.)
}
