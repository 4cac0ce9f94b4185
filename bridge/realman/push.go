package realman

import (
	"encoding/json"
	"time"
)

// pushUnit is what the cycle of a push is counted in.
const pushUnit = 5 * time.Millisecond

// Push configures how an arm pushes its state. Nothing else of an arm is ever changed. The arm keeps the configuration
// until somebody changes it.
type Push struct {
	Cycle      time.Duration // in steps of 5 ms
	IP         string        // whom to; "" is this machine, as the arm sees it
	Port       int
	ForceFrame Frame // of Force.External
	// what else there is to be in packets: "joint_speed", "arm_current_status", "hand", "rm_plus_state"
	Fields []string
}

// line returns the command. own is the address of this machine.
func (p *Push) line(own string) []byte {
	custom := map[string]bool{}
	for _, field := range p.Fields {
		custom[field] = true
	}
	ip := p.IP
	if ip == "" {
		ip = own
	}
	text, err := json.Marshal(map[string]any{
		"command": "set_realtime_push", "cycle": max(1, int(p.Cycle.Round(pushUnit)/pushUnit)), "enable": true,
		"port":             p.Port,
		"force_coordinate": int(p.ForceFrame), "ip": ip, "custom": custom,
	})
	if err != nil {
		panic(err) // there is nothing in it that could not be written
	}
	return append(text, "\r\n"...)
}
