package realman

import (
	"encoding/json"
	"time"
)

// pushUnit is the unit of Push.Cycle on the wire.
const pushUnit = 5 * time.Millisecond

// Push configures how an arm pushes its state. No other setting of an arm is ever changed. The arm keeps the
// configuration until the next one.
type Push struct {
	Cycle      time.Duration // in steps of 5 ms
	IP         string        // destination; "": this machine, as the arm sees it
	Port       int
	ForceFrame Frame // of Force.External
	// Optional fields of packets: "joint_speed", "arm_current_status", "hand", "rm_plus_state".
	Fields []string
}

// line returns the command. own is this machine's address.
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
		"port": p.Port, "force_coordinate": int(p.ForceFrame), "ip": ip, "custom": custom,
	})
	if err != nil {
		panic(err) // all values can be marshalled
	}
	return append(text, "\r\n"...)
}
