package dial

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// dialer returns a dialer whose connections lead to the function that serves them.
func dialer(t *testing.T, serve func(net.Conn)) *Dialer {
	var serving sync.WaitGroup
	t.Cleanup(serving.Wait)
	d := New()
	d.Dial = func(context.Context, string, string) (net.Conn, error) {
		near, far := net.Pipe()
		serving.Go(func() {
			defer far.Close()
			serve(far)
		})
		return near, nil
	}
	return d
}

func connect(t *testing.T, d *Dialer) net.Conn {
	c, err := d.DialContext(t.Context(), "tcp", "store:80")
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

// The body of an answer may take long, as long as it goes on.
func TestSlowBody(t *testing.T) {
	for pause, want := range map[time.Duration]error{20 * time.Second: nil, time.Hour: ErrStalled} {
		synctest.Test(t, func(t *testing.T) {
			c := connect(t, dialer(t, func(far net.Conn) {
				for range 10 {
					time.Sleep(pause)
					if _, err := far.Write([]byte{0}); err != nil {
						return
					}
				}
			}))
			got, err := io.ReadAll(c)
			require.NoError(t, c.Close())
			if want != nil {
				require.Equal(t, want, err)
				return
			}
			require.NoError(t, err)
			require.Len(t, got, 10)
		})
	}
}

// A reader may take long between two parts of a body, as may whoever sends a request.
func TestSlowReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := connect(t, dialer(t, func(far net.Conn) {
			_, _ = far.Write(make([]byte, 2))
			_, _ = io.ReadFull(far, make([]byte, 2))
		}))
		for range 2 {
			time.Sleep(time.Hour)
			_, err := io.ReadFull(c, make([]byte, 1))
			require.NoError(t, err)
		}
		for range 2 {
			time.Sleep(time.Hour)
			_, err := c.Write(make([]byte, 1))
			require.NoError(t, err)
		}
	})
}

// While a large request is sent, its answer has time, even if reading of it began before.
func TestAnswer(t *testing.T) {
	for pause, want := range map[time.Duration]error{
		UploadTimeout - time.Second: nil, UploadTimeout + time.Second: ErrStalled,
	} {
		synctest.Test(t, func(t *testing.T) {
			c := connect(t, dialer(t, func(far net.Conn) {
				for range 10 {
					time.Sleep(writeTimeout - 1)
					if _, err := io.ReadFull(far, make([]byte, 10)); err != nil {
						return
					}
				}
				time.Sleep(pause)
				_, _ = far.Write(make([]byte, 1))
				time.Sleep(bodyTimeout + 1)
				_, _ = far.Write(make([]byte, 1))
			}).Uploading(0))
			failed := make(chan error)
			go func() {
				_, err := io.ReadFull(c, make([]byte, 1))
				failed <- err
			}()
			synctest.Wait()
			for range 10 {
				_, err := c.Write(make([]byte, 10))
				require.NoError(t, err)
			}
			require.Equal(t, want, <-failed)
			if want == nil { // what follows has less time
				_, err := io.ReadFull(c, make([]byte, 1))
				require.Equal(t, ErrStalled, err)
			}
		})
	}
}

// A request that the store does not take ends.
func TestStalledRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := connect(t, dialer(t, func(net.Conn) { time.Sleep(time.Hour) }).Uploading(0))

		began := time.Now()
		_, err := c.Write(make([]byte, 10))
		require.Equal(t, ErrStalled, err)
		require.Equal(t, writeTimeout, time.Since(began))
	})
}

// All connections together keep to the rate.
func TestRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const rate, connections = 1000, 4
		d := dialer(t, func(far net.Conn) { _, _ = io.Copy(io.Discard, far) }).Uploading(rate)
		began := time.Now()
		sent := make(chan error)
		for range connections {
			c := connect(t, d)
			go func() {
				n, err := c.Write(make([]byte, 5*rate))
				require.Equal(t, 5*rate, n)
				sent <- err
			}()
		}
		for range connections {
			require.NoError(t, <-sent)
		}
		require.Equal(t, 5*connections*time.Second, time.Since(began))
	})
}

// A store that never accepted a connection is absent if it refuses them for a while, or has no address.
func TestAbsent(t *testing.T) {
	unknown := &net.DNSError{Name: "no.such.host.invalid", IsNotFound: true}
	for down, patience := range map[error]time.Duration{syscall.ECONNREFUSED: 2 * time.Second, unknown: 0} {
		synctest.Test(t, func(t *testing.T) {
			d := dialer(t, func(net.Conn) {})
			up := d.Dial
			answers, answered := true, false
			d.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
				if !answers {
					return nil, &net.OpError{Op: "dial", Err: down}
				}
				return up(ctx, network, address)
			}
			for _, answers = range []bool{false, false, true, false} {
				began := time.Now()
				c, err := d.DialContext(t.Context(), "tcp", "store:80")
				if answers {
					require.NoError(t, err)
					require.NoError(t, c.Close())
					answered = true
					continue
				}
				require.ErrorIs(t, err, down)
				var final interface{ RetryableError() bool }
				require.Equal(t, !answered, errors.As(err, &final) && !final.RetryableError())
				require.LessOrEqual(t, time.Since(began), patience+time.Second/5)
				if !answered {
					require.GreaterOrEqual(t, time.Since(began), patience)
				}
				patience = 0 // which the first one had
			}
		})
	}
}

// A store may be starting when it is asked for the first time.
func TestStartingStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := dialer(t, func(net.Conn) {})
		up, attempts := d.Dial, 0
		d.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			attempts++
			if attempts < 10 {
				return nil, syscall.ECONNREFUSED
			}
			return up(ctx, network, address)
		}
		connect(t, d)
		require.Equal(t, 10, attempts)
	})
}

// Whoever waits for a store that is starting may give up.
func TestGivingUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := New()
		d.Dial = func(context.Context, string, string) (net.Conn, error) { return nil, syscall.ECONNREFUSED }
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := d.DialContext(ctx, "tcp", "store:80")
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
}
