package hardware

// Arm says where an arm is and what it has: an entry of arm_publisher's parameter arms.
type Arm struct {
	Host   string  `param:"host" flag:"-" group:"Arm" help:"name or address of the arm's controller"`
	Port   int     `param:"port" group:"Arm" min:"1" max:"65535" help:"TCP port of the arm's controller"`
	Rate   float64 `param:"rate" group:"Arm" min:"0.1" max:"200" help:"how often a second the arm is asked for its state"`
	Joints int     `param:"joints" group:"Arm" min:"0" max:"7" help:"how many joints the arm has; 0: as many as it tells of"`
}

// DefaultArm returns what holds for an arm of which nothing else is said.
func DefaultArm() Arm { return Arm{Port: 8080, Rate: 50} }

// metadata returns what sessions tell of the arm, under the names that EasyTeleop has for it.
func (a *Arm) metadata() map[string]any {
	m := map[string]any{"type": "RealMan", "ip": a.Host, "port": a.Port}
	if a.Joints > 0 {
		m["joints"] = a.Joints
	}
	return m
}
