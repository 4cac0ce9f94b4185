package main

import (
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"

	"tapedeck/bridge/device/realman"
	"tapedeck/codec/text/human"
	"tapedeck/config"
	"tapedeck/nodes/internal/graph"
	"tapedeck/nodes/internal/hardware"
)

//go:generate env UPDATE_REFERENCE=1 go test -count=1 -run ^TestEveryOption .

// optionTexts are the help texts of options: see config.Described.
//
//go:embed options.txt
var optionTexts string

// options are the node's parameters. Each is a flag, a ROS parameter and a line of config/arm_publisher.yaml.
type options struct {
	hardware.Arm
	Arms map[string]*hardware.Arm `param:"arms" group:"Arm"`
	graph.Options
}

func (*options) OptionTexts() string { return optionTexts }

func defaultOptions() options { return options{Arm: hardware.DefaultArm()} }

// Values of the option push.
const (
	pushNone = "none"
	pushSet  = "set"
)

// arms returns the arms to publish by name: the entries of Arms, and the hosts on the command line. Errors wrap
// config.ErrUsage.
func (o *options) arms(hosts []string) (map[string]*hardware.Arm, error) {
	arms := maps.Clone(o.Arms)
	if arms == nil {
		arms = map[string]*hardware.Arm{}
	}
	for i := 0; len(hosts) > 0; i++ {
		name := fmt.Sprint("arm_", i)
		if arms[name] != nil {
			continue
		}
		a := o.Arm
		if err := setHost(&a, hosts[0]); err != nil {
			return nil, err
		}
		arms[name], hosts = &a, hosts[1:]
	}
	if len(arms) == 0 && o.Host != "" {
		arms["arm_0"] = &o.Arm
	}
	if len(o.Arms) > 0 && o.Host != "" {
		return nil, config.Usagef("%s is the host of no arm: give it to one of arms", o.Host)
	}
	if len(arms) == 0 {
		return nil, config.Usagef("name the host of an arm, such as 192.168.1.18, or configure arms in a parameter " +
			"file")
	}
	pushed := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(arms)) {
		a := arms[name]
		if err := check(a); err != nil {
			return nil, config.Usagef("arm %s: %w", name, err)
		}
		if a.Push == pushNone {
			continue
		}
		key := fmt.Sprint(a.Host, " ", a.PushPort)
		if other, taken := pushed[key]; taken {
			return nil, config.Usagef("arms %s and %s push to the same port from the same host; give them different "+
				"hosts or push_ports, or --push none", other, name)
		}
		pushed[key] = name
	}
	return arms, nil
}

// setHost sets host and port from "host" or "host:port".
func setHost(a *hardware.Arm, text string) error {
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		a.Host = text
		return nil
	}
	a.Port, err = strconv.Atoi(port)
	if err != nil || a.Port < 1 || a.Port > 65535 {
		return config.Usagef("%s: invalid port %q", text, port)
	}
	a.Host = host
	return nil
}

// check returns an error for options that are invalid together.
func check(a *hardware.Arm) error {
	positions := a.Positions()
	switch n := len(a.JointNames); {
	case a.Host == "":
		return errors.New("no host")
	case a.Joints != 0 && (a.Joints < realman.MinJoints || a.Joints > realman.MaxJoints):
		return fmt.Errorf("joints: %d is not allowed, want %d to %d, or 0 (as many as the arm reports)", a.Joints,
			realman.MinJoints, realman.MaxJoints)
	case n > 0 && (n < realman.MinJoints || n > realman.MaxJoints || a.Joints > 0 && n != a.Joints):
		return fmt.Errorf("joint_names: %s, want one for each joint", human.Count(n, "name"))
	case a.Rate == 0 && a.Push == pushNone:
		return errors.New("rate, push: the arm is neither queried nor does it push")
	case a.Rate == 0 && a.Push == pushSet:
		return errors.New("rate, push: without a connection its push cannot be configured; use --push listen")
	case a.PushPort == 0 && a.Push == "listen":
		return errors.New("push_port: 0 needs --push set")
	case positions[0] == positions[1]:
		return fmt.Errorf("gripper_range: closed and open are both at %v", positions[0])
	}
	return nil
}
