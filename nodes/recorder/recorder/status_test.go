package recorder

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/nodes/internal/progress"
	"tapedeck/nodes/recorder/internal/diskguard"
	"tapedeck/nodes/recorder/internal/subscription"
)

func TestTableShowsTroubleFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newTestRecorder(t, testOptions("record"), "/quiet", "/loud", "/lossy")
		for _, topic := range []string{"/quiet", "/loud", "/lossy"} {
			d.publish(d.advertise(topic, codec.DefaultQoS()), 1)
		}
		require.NoError(t, d.end()) // stops measuring
		list := d.topics.Topics()
		for _, rec := range list {
			rec.Measured.Store(nil)
			switch rec.Channel.Load().Topic {
			case "/loud":
				rec.Measured.Store(&subscription.Rate{Messages: 100, Bytes: 5e6})
			case "/lossy":
				rec.Dropped.Add(3)
			}
		}
		table := d.table(list)
		require.Len(t, table.Columns, 7)
		require.Equal(t, []string{"/lossy", "0.0", "0.00", "1", "3", "0"}, table.Rows[0][:6])
		require.Equal(t, []string{"/loud", "100.0", "5.00", "1", "0", "0"}, table.Rows[1][:6])
		require.Equal(t, "/quiet", table.Rows[2][0])
	})
}

func TestTroubleIsShownFirst(t *testing.T) {
	many := []string{"/a", "/b", "/c", "/d"}
	for _, c := range []struct {
		totals
		waiting []string
		want    string
	}{
		{totals{messages: 5, throttled: 2}, nil, ""},
		{totals{dropped: 3, lost: 2}, nil, "3 dropped, 2 lost in transport"},
		{totals{}, []string{"/imuu"}, "waiting for /imuu"},
		{totals{lost: 1}, many[:3], "1 lost in transport, waiting for /a and /b and /c"},
		{totals{}, many, "waiting for /a and /b and 2 more"},
	} {
		require.Equal(t, c.want, c.trouble(c.waiting))
	}
	require.Equal(t, []string{"/a", "/b", "/c", "/d"}, many)
}

func TestState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newTestRecorder(t, testOptions("record"), "/n")
		require.Equal(t, "RECORDING", d.state())
		d.pause()
		require.Equal(t, "PAUSED", d.state())
		require.Eventually(t, func() bool { // the guard may overwrite the value
			d.session.Load().guard.Low.Store(true)
			return d.state() == "NO SPACE"
		}, patient, time.Millisecond)
		require.NoError(t, d.stop(""))
		require.Equal(t, "STOPPED", d.state())

		for left, want := range map[time.Duration]string{
			diskguard.NotInSight: "", 90 * time.Minute: "disk full in 1h30m", 61 * time.Second: "disk full in 0h01m",
			40*time.Second + 1: "disk full in 40s",
		} {
			d.session.Load().guard.Left.Store(int64(left))
			require.Equal(t, want, d.untilFull())
		}
	})
}

// TestStoppedTerminal checks that the owner does not wait for a terminal that is stopped.
func TestStoppedTerminal(t *testing.T) {
	s := status{tables: make(chan *progress.Table, 1)}
	require.True(t, s.show(&progress.Table{}))
	require.False(t, s.show(nil))
	<-s.tables
	require.True(t, s.show(nil))
}
