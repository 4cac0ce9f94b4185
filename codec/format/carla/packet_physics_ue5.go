package carla

// ChaosPhysicsList lists the physics of the vehicles that appeared in a frame, in UE5; only with additional data.
type ChaosPhysicsList = List[ChaosPhysics, *ChaosPhysics]

// ChaosPhysics is the physics of a vehicle in UE5: the values of carla.VehiclePhysicsControl.
type ChaosPhysics struct {
	Actor                  uint32
	MaxTorque              float32
	MaxRPM                 float32
	IdleRPM                float32
	BrakeEffect            float32
	RevUpMOI               float32
	RevDownRate            float32
	DifferentialType       uint8
	FrontRearSplit         float32
	UseAutomaticGears      bool
	GearChangeTime         float32 // s
	FinalRatio             float32
	ChangeUpRPM            float32
	ChangeDownRPM          float32
	TransmissionEfficiency float32
	Mass                   float32 // kg
	DragCoefficient        float32
	CenterOfMass           Vector
	ChassisWidth           float32
	ChassisHeight          float32
	DownforceCoefficient   float32
	DragArea               float32
	InertiaTensorScale     Vector
	SleepThreshold         float32
	SleepSlopeLimit        float32
	SweepWheelCollision    bool
	TorqueCurve            []CurvePoint
	ForwardGearRatios      []Ratio
	ReverseGearRatios      []Ratio
	SteeringCurve          []CurvePoint
	Wheels                 []ChaosWheel
}

func (*ChaosPhysics) packet(Profile) (uint8, int) { return IDPhysicsControl, 127 }

func (r *ChaosPhysics) code(c *coder) {
	c.uint32(&r.Actor)
	c.float32(&r.MaxTorque, &r.MaxRPM, &r.IdleRPM, &r.BrakeEffect, &r.RevUpMOI, &r.RevDownRate)
	c.uint8(&r.DifferentialType)
	c.float32(&r.FrontRearSplit)
	c.bool(&r.UseAutomaticGears)
	c.float32(&r.GearChangeTime, &r.FinalRatio, &r.ChangeUpRPM, &r.ChangeDownRPM, &r.TransmissionEfficiency, &r.Mass,
		&r.DragCoefficient)
	c.vector32(&r.CenterOfMass)
	c.float32(&r.ChassisWidth, &r.ChassisHeight, &r.DownforceCoefficient, &r.DragArea)
	c.vector32(&r.InertiaTensorScale)
	c.float32(&r.SleepThreshold, &r.SleepSlopeLimit)
	c.bool(&r.SweepWheelCollision)
	codeList32(c, &r.TorqueCurve, 8)
	codeList32(c, &r.ForwardGearRatios, 4)
	codeList32(c, &r.ReverseGearRatios, 4)
	codeList32(c, &r.SteeringCurve, 8)
	codeList32(c, &r.Wheels, chaosWheelSize)
}

// Ratio is the ratio of a gear in UE5.
type Ratio float32

func (r *Ratio) code(c *coder) { c.float32((*float32)(r)) }

// ChaosWheel is the physics of a wheel in UE5: the values of carla.WheelPhysicsControl. A log has a copy of a C++
// struct in the memory of an x86-64 process, with padding and with a std::vector for the lateral slip graph. The
// pointers of the std::vector mean nothing in a file, and are written as zeros.
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

func (r *ChaosWheel) code(c *coder) {
	c.uint8(&r.AxleType)
	c.padding(3)
	c.vector32(&r.Offset)
	c.float32(&r.WheelRadius, &r.WheelWidth, &r.WheelMass, &r.CorneringStiffness, &r.FrictionForce, &r.SideSlip,
		&r.SlipThreshold, &r.SkidThreshold, &r.MaxSteerAngle)
	c.bool(&r.AffectedBySteering)
	c.bool(&r.AffectedByBrake)
	c.bool(&r.AffectedByHandbrake)
	c.bool(&r.AffectedByEngine)
	c.bool(&r.ABS)
	c.bool(&r.TractionControl)
	c.padding(2)
	c.float32(&r.MaxWheelspinRotation)
	c.uint8(&r.ExternalTorqueCombine)
	c.padding(7 + 24) // the std::vector
	c.vector32(&r.SuspensionAxis)
	c.vector32(&r.SuspensionForceOffset)
	c.float32(&r.SuspensionMaxRaise, &r.SuspensionMaxDrop, &r.SuspensionDampingRatio, &r.WheelLoadRatio, &r.SpringRate,
		&r.SpringPreload)
	c.int32(&r.SuspensionSmoothing)
	c.float32(&r.RollbarScaling)
	c.uint8(&r.SweepShape)
	c.uint8(&r.SweepType)
	c.padding(2)
	c.float32(&r.MaxBrakeTorque, &r.MaxHandBrakeTorque)
	c.int32(&r.WheelIndex)
	c.vector32(&r.Location)
	c.vector32(&r.OldLocation)
	c.vector32(&r.Velocity)
	c.padding(4)
}
