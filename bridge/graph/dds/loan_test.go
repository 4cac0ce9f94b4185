package dds

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/bridge/bridgetest"
	"tapedeck/codec"
)

const (
	lentCount = 60
	lentSize  = 300_000
)

// lenderRole lends payloads, two in each buffer, and overwrites a buffer as soon as it is unused.
func lenderRole() error {
	n, err := Open(bridge.Options{Name: "other", Namespace: "/test", Domain: -1})
	if err != nil {
		return err
	}
	defer n.Close()
	p, err := n.Advertise("bytes", bridgetest.BytesType, bridgetest.KeepAll())
	if err != nil {
		return err
	}
	for p.Subscribers() == 0 {
		time.Sleep(time.Millisecond)
	}
	spare := make(chan []byte, lentCount)
	made := 0
	for i := 0; i < lentCount; i += 2 {
		var memory []byte
		select {
		case memory = <-spare:
		default:
			made++
			memory = make([]byte, 2*lentSize)
		}
		buffer := codec.NewBuffer(memory, func(b []byte) {
			clear(b)
			spare <- b
		})
		for j := range 2 {
			data := memory[j*lentSize:][:lentSize]
			copy(data, bridgetest.Pattern(lentSize, i+j))
			if err := p.Lend(data, buffer); err != nil {
				return err
			}
		}
		buffer.Release()
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := p.Flush(ctx); err != nil {
		return err
	}
	if made == lentCount/2 {
		return errors.New("no buffer came back")
	}
	bridgetest.UntilEOF()
	return nil
}

func TestLendToOtherProcess(t *testing.T) {
	t.Parallel()
	n := newNode(t, "receiver")
	received := make(chan []byte, lentCount)
	_, err := n.Subscribe("bytes", bridgetest.BytesType, bridgetest.KeepAll(), func(batch []bridge.Sample) {
		for _, sample := range batch {
			received <- append([]byte(nil), sample.Data...)
		}
	})
	require.NoError(t, err)
	start(t, "lender")
	for i := range lentCount {
		select {
		case data := <-received:
			require.Equal(t, bridgetest.Pattern(lentSize, i), data)
		case <-time.After(patience):
			require.FailNow(t, "samples are missing", "%d", i)
		}
	}
}

// TestLend looks which payloads are lent, to a subscriber in this process, which has them without a copy.
func TestLend(t *testing.T) {
	t.Parallel()
	latched := bridgetest.KeepAll()
	latched.Durability = codec.TransientLocal
	for name, test := range map[string]struct {
		qos  codec.QoS
		size int
		lent bool
	}{
		"large":                      {bridgetest.KeepAll(), lentSize, true},
		"small":                      {bridgetest.KeepAll(), leastLoan - 4, false},
		"no multiple of 4":           {bridgetest.KeepAll(), lentSize + 1, false},
		"kept for later subscribers": {latched, lentSize, false},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t, "both")
			received := make(chan bridge.Payload, 2)
			_, err := n.Subscribe("bytes", bridgetest.BytesType, test.qos, func(batch []bridge.Sample) {
				for _, sample := range batch {
					received <- sample.Retain()
				}
			})
			require.NoError(t, err)
			p, err := n.Advertise("bytes", bridgetest.BytesType, test.qos)
			require.NoError(t, err)
			await(t, func() bool { return p.Subscribers() == 1 })
			data := bridgetest.Pattern(test.size, 1)
			unused := make(chan bool, 1)
			buffer := codec.NewBuffer(data, func([]byte) { unused <- true })
			require.NoError(t, p.Lend(data, buffer))
			buffer.Release()
			payload := <-received
			require.Equal(t, bridgetest.Pattern(test.size, 1), payload.Data)
			require.Equal(t, test.lent, &data[0] == &payload.Data[0])
			if test.lent {
				require.Empty(t, unused, "the subscriber has it")
			}
			payload.Release()
			other := make([]byte, lentSize)
			await(t, func() bool { // the next one finds out
				require.NoError(t, p.Lend(other, codec.NewBuffer(other, func([]byte) {})))
				next := <-received
				next.Release()
				return len(unused) == 1
			})
		})
	}
}
