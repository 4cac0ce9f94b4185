package recorder

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/config"
	diag "tapedeck/msgs/diagnostic_msgs"
)

// optionsWithContract returns options with a contract.
func optionsWithContract(t *testing.T, text string) options {
	o := testOptions("mcap")
	o.Expect, o.Require, o.Regex = filepath.Join(t.TempDir(), "drive.expect.yaml"), true, "^/n"
	require.NoError(t, os.WriteFile(o.Expect, []byte(text), 0o644))
	return o
}

// Missing and silent topics are reported during the recording, and in its events.
func TestContractIsNotMet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newTestRecorder(t, optionsWithContract(t,
			"topics: {/n: {gap: 0.5, type: std_msgs/msg/UInt32}, /absent: {}}"))
		status := make(chan diag.DiagnosticStatus, 100)
		_, err := d.peer.Subscribe("/diagnostics", "diagnostic_msgs/msg/DiagnosticArray", codec.DefaultQoS(),
			func(samples []bridge.Sample) {
				for _, s := range samples {
					var list diag.DiagnosticArray
					require.NoError(t, cdr.Unmarshal(s.Data, &list))
					for _, s := range list.Status {
						if strings.HasSuffix(s.Name, ": contract") {
							status <- s
						}
					}
				}
			})
		require.NoError(t, err)
		p := d.advertise("/n", codec.DefaultQoS())
		for i := range 20 {
			d.publish(p, uint32(i))
			time.Sleep(300 * time.Millisecond)
		}
		require.Equal(t, "/absent: missing: expected messages, seen none", d.session.Load().contractTrouble())
		time.Sleep(3 * time.Second)
		require.Contains(t, d.session.Load().contractTrouble(), ", and 1 finding more")
		d.publish(p, 20)
		time.Sleep(700 * time.Millisecond)
		var got diag.DiagnosticStatus
		for len(status) > 0 {
			got = <-status
		}
		require.Equal(t, diag.DiagnosticStatus_ERROR, got.Level)
		require.Contains(t, got.Message, "not met: /absent: missing")
		err = d.end()
		require.ErrorContains(t, err, "the recording does not meet drive.expect.yaml: 2 findings, first /n: gap")
		require.Equal(t, config.Exit(3, errors.New(err.Error())), d.failed)
		list := events(t, "drive")
		require.Contains(t, list, "check /absent 0 missing: expected messages, seen none")
		require.Contains(t, list[len(list)-1], "check  0 does not meet drive.expect.yaml: 2 findings, first /n: gap: ")
	})
}

func TestContractIsMet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := optionsWithContract(t, "topics: {/n: {gap: 0.5, rate: {min: 3, max: 4}}, /other: {optional: true}}")
		d := newTestRecorder(t, o)
		p := d.advertise("/n", codec.DefaultQoS())
		for i := range 40 {
			d.publish(p, uint32(i))
			time.Sleep(300 * time.Millisecond)
		}
		require.Equal(t, "RECORDING", d.state())
		require.Empty(t, d.session.Load().contractTrouble())
		require.NoError(t, d.end())
		require.Contains(t, events(t, "drive"), "check  0 meets drive.expect.yaml")
	})
}

func TestContractOptions(t *testing.T) {
	o := testOptions("mcap")
	o.Require = true
	require.ErrorContains(t, o.check([]string{"/n"}), "require: needs --expect FILE")
	o = optionsWithContract(t, "topics: {/n: {hz: 3}}")
	require.ErrorContains(t, o.check(nil), "drive.expect.yaml: line 1: hz is not an expectation")
}

// A short recording has no findings about topics that it received.
func TestContractOfShortRecording(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newTestRecorder(t, optionsWithContract(t, "topics: {/n: {messages: 2}}"))
		d.publish(d.advertise("/n", codec.DefaultQoS()), 1, 2)
		require.NoError(t, d.end())
	})
}
