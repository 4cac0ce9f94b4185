package carla

// ChaosWheel is the physics of a wheel in UE5. A log has it as it was in the memory of an x86-64, with gaps and a std::vector for the
// slip, whose pointers mean nothing; they are written as zeros.
type ChaosWheel struct {
	AxleType               uint8
	Offset                 Vector
	WheelRadius            float32 // cm
	WheelWidth             float32 // cm
	WheelMass              float32 // kg
	CorneringStiffness     float32
	FrictionForce          float32
	SideSlip               float32
	SlipThreshold          float32
	SkidThreshold          float32
	MaxSteerAngle          float32 // degrees
	AffectedBySteering     bool
	AffectedByBrake        bool
	AffectedByHandbrake    bool
	AffectedByEngine       bool
	ABS                    bool
	TractionControl        bool
	MaxWheelspinRotation   float32
	ExternalTorqueCombine  uint8
	SuspensionAxis         Vector
	SuspensionForceOffset  Vector
	SuspensionMaxRaise     float32
	SuspensionMaxDrop      float32
	SuspensionDampingRatio float32
	WheelLoadRatio         float32
	SpringRate             float32
	SpringPreload          float32
	SuspensionSmoothing    int32
	RollbarScaling         float32
	SweepShape             uint8
	SweepType              uint8
	MaxBrakeTorque         float32 // N m
	MaxHandBrakeTorque     float32 // N m
	WheelIndex             int32
	Location               Vector // cm
	OldLocation            Vector // cm
	Velocity               Vector
}

func (r *ChaosWheel) code(c *Coder) {
	c.Uint8(&r.AxleType)
	c.Padding(3)
	c.Vector32(&r.Offset)
	c.Float32(&r.WheelRadius, &r.WheelWidth, &r.WheelMass, &r.CorneringStiffness, &r.FrictionForce, &r.SideSlip,
		&r.SlipThreshold, &r.SkidThreshold, &r.MaxSteerAngle)
	c.Bool(&r.AffectedBySteering)
	c.Bool(&r.AffectedByBrake)
	c.Bool(&r.AffectedByHandbrake)
	c.Bool(&r.AffectedByEngine)
	c.Bool(&r.ABS)
	c.Bool(&r.TractionControl)
	c.Padding(2)
	c.Float32(&r.MaxWheelspinRotation)
	c.Uint8(&r.ExternalTorqueCombine)
	c.Padding(7 + 24) // the std::vector
	c.Vector32(&r.SuspensionAxis)
	c.Vector32(&r.SuspensionForceOffset)
	c.Float32(&r.SuspensionMaxRaise, &r.SuspensionMaxDrop, &r.SuspensionDampingRatio, &r.WheelLoadRatio, &r.SpringRate, &r.SpringPreload)
	c.Int32(&r.SuspensionSmoothing)
	c.Float32(&r.RollbarScaling)
	c.Uint8(&r.SweepShape)
	c.Uint8(&r.SweepType)
	c.Padding(2)
	c.Float32(&r.MaxBrakeTorque, &r.MaxHandBrakeTorque)
	c.Int32(&r.WheelIndex)
	c.Vector32(&r.Location)
	c.Vector32(&r.OldLocation)
	c.Vector32(&r.Velocity)
	c.Padding(4)
}
