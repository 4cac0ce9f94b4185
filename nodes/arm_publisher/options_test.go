package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/config"
	"tapedeck/config/configtest"
	"tapedeck/nodes/internal/hardware"
)

func TestEveryOptionIsDocumented(t *testing.T) {
	o := defaultOptions()
	require.NoError(t, configtest.CheckFile("../../config/arm_publisher.yaml", &o))
	require.NoError(t, configtest.CheckTable("../../docs/reference/options.md", "arm_publisher", &o))
}

// entry returns the options of an arm after change.
func entry(host string, change func(*hardware.Arm)) *hardware.Arm {
	a := hardware.DefaultArm()
	a.Host = host
	if change != nil {
		change(&a)
	}
	return &a
}

func TestArms(t *testing.T) {
	o := defaultOptions()
	o.Rate = 100
	o.Arms = map[string]*hardware.Arm{"arm_0": entry("a", nil), "left": entry("b", nil)}
	arms, err := o.arms([]string{"192.168.1.19", "c:9000", "[fe80::1]:8081"})
	require.NoError(t, err)
	require.Len(t, arms, 5)
	require.Equal(t, "192.168.1.19", arms["arm_1"].Host)
	require.Equal(t, 8080, arms["arm_1"].Port)
	require.EqualValues(t, 100, arms["arm_1"].Rate)
	require.Equal(t, "c", arms["arm_2"].Host)
	require.Equal(t, 9000, arms["arm_2"].Port)
	require.Equal(t, "fe80::1", arms["arm_3"].Host)
	require.Len(t, o.Arms, 2)

	o = defaultOptions()
	o.Host = "a"
	arms, err = o.arms(nil)
	require.NoError(t, err)
	require.Contains(t, arms, "arm_0")
}

func TestOptionsAreChecked(t *testing.T) {
	for want, change := range map[string]func(*hardware.Arm){
		"":                                   func(a *hardware.Arm) { a.JointNames, a.Joints = make([]string, 7), 7 },
		"arm a: no host":                     func(a *hardware.Arm) { a.Host = "" },
		"joints: 5 is not allowed":           func(a *hardware.Arm) { a.Joints = 5 },
		"joint_names: 3 names":               func(a *hardware.Arm) { a.JointNames = make([]string, 3) },
		"joint_names: 6 names":               func(a *hardware.Arm) { a.JointNames, a.Joints = make([]string, 6), 7 },
		"neither queried nor does it push":   func(a *hardware.Arm) { a.Rate, a.Push = 0, "none" },
		"without a connection its push":      func(a *hardware.Arm) { a.Rate, a.Push = 0, "set" },
		"push_port: 0 needs":                 func(a *hardware.Arm) { a.PushPort = 0 },
		"closed and open are both at 5":      func(a *hardware.Arm) { a.GripperRange = "5:5.0" },
		"arms a and b push to the same port": func(a *hardware.Arm) { a.Host = "b" },
	} {
		o := defaultOptions()
		o.Arms = map[string]*hardware.Arm{"a": entry("a", change), "b": entry("b", nil)}
		_, err := o.arms(nil)
		if want == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorIs(t, err, config.ErrUsage, want)
		require.ErrorContains(t, err, want)
	}
	o := defaultOptions()
	_, err := o.arms(nil)
	require.ErrorContains(t, err, "name the host of an arm")
	o.Host, o.Arms = "c", map[string]*hardware.Arm{"a": entry("b", nil)}
	_, err = o.arms(nil)
	require.ErrorContains(t, err, "c is the host of no arm: give it to one of arms")
	o = defaultOptions()
	_, err = o.arms([]string{"host:http"})
	require.EqualError(t, err, `host:http: invalid port "http"`)
	o.Arms = map[string]*hardware.Arm{"a": entry("x", nil),
		"b": entry("x", func(a *hardware.Arm) { a.PushPort = 8090 }),
		"c": entry("x", func(a *hardware.Arm) { a.Push = "none" })}
	_, err = o.arms(nil)
	require.NoError(t, err)
}

func TestEveryOptionHasText(t *testing.T) {
	require.Empty(t, config.TextErrors(&options{}))
}

func TestHelp(t *testing.T) { configtest.Help(t, newCommand) }
