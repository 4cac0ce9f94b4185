package realman

// part is a set of what arms tell and can be asked for.
type part uint16

const (
	partJoints part = 1 << iota
	partCurrents
	partVoltages
	partTemperatures
	partJointErrors
	partEnabled
	partPose
	partErrors
	partForce
	partGripper
	partController
	partModel
)

// without takes what is in p out of u.
func (u *Update) without(p part) {
	drop := func(bits part) bool { return p&u.has&bits != 0 }
	if drop(partJoints) {
		u.Joints, u.Speeds = nil, nil
	}
	if drop(partCurrents) {
		u.Currents = nil
	}
	if drop(partVoltages) {
		u.Voltages = nil
	}
	if drop(partTemperatures) {
		u.Temperatures = nil
	}
	if drop(partJointErrors) {
		u.JointErrors = nil
	}
	if drop(partEnabled) {
		u.Enabled = nil
	}
	if drop(partPose) {
		u.Pose = nil
	}
	if drop(partErrors) {
		u.Errors = nil
	}
	if drop(partForce) {
		u.Force = nil
	}
	if drop(partGripper) {
		u.Gripper = nil
	}
	u.has &^= p
}
