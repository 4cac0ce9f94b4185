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
