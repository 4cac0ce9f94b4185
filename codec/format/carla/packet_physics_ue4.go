package carla

// PhysicsControlList lists the physics of the vehicles that appeared in a frame, in UE4; only with additional data.
type PhysicsControlList = List[PhysicsControl, *PhysicsControl]

// PhysicsControl is the physics of a vehicle in UE4: the values of carla.VehiclePhysicsControl.
type PhysicsControl struct {
	Actor                                   uint32
	MaxRPM                                  float32
	MOI                                     float32 // moment of inertia of the engine, kg m^2
	DampingRateFullThrottle                 float32
	DampingRateZeroThrottleClutchEngaged    float32
	DampingRateZeroThrottleClutchDisengaged float32
	UseGearAutobox                          bool
	ClutchStrength                          float32
	FinalRatio                              float32
	Mass                                    float32 // kg
	DragCoefficient                         float32
	CenterOfMass                            Vector // m, from the vehicle
	TorqueCurve                             []CurvePoint
	ForwardGears                            []Gear
	SteeringCurve                           []CurvePoint
	Wheels                                  []WheelPhysics
}

func (*PhysicsControl) packet(Profile) (uint8, int) { return IDPhysicsControl, 65 }

func (r *PhysicsControl) code(c *coder) {
	c.uint32(&r.Actor)
	c.float32(&r.MaxRPM, &r.MOI, &r.DampingRateFullThrottle, &r.DampingRateZeroThrottleClutchEngaged,
		&r.DampingRateZeroThrottleClutchDisengaged)
	c.bool(&r.UseGearAutobox)
	c.float32(&r.ClutchStrength, &r.FinalRatio, &r.Mass, &r.DragCoefficient)
	c.vector32(&r.CenterOfMass)
	codeList32(c, &r.TorqueCurve, 8)
	codeList32(c, &r.ForwardGears, 12)
	codeList32(c, &r.SteeringCurve, 8)
	codeList32(c, &r.Wheels, c.profile.WheelSize)
}

// CurvePoint is a point of a curve: torque over speed of rotation, steering over speed.
type CurvePoint struct{ X, Y float32 }

func (r *CurvePoint) code(c *coder) { c.float32(&r.X, &r.Y) }

// Gear is a gear of a vehicle in UE4.
type Gear struct{ Ratio, DownRatio, UpRatio float32 }

func (r *Gear) code(c *coder) { c.float32(&r.Ratio, &r.DownRatio, &r.UpRatio) }

// WheelPhysics is the physics of a wheel in UE4: the values of carla.WheelPhysicsControl.
type WheelPhysics struct {
	TireFriction       float32
	DampingRate        float32
	MaxSteerAngle      float32 // degrees
	Radius             float32 // cm
	MaxBrakeTorque     float32 // N m
	MaxHandbrakeTorque float32 // N m
	LatStiffMaxLoad    float32 // LatStiffMaxLoad, LatStiffValue and LongStiffValue are 0 up to 0.9.11
	LatStiffValue      float32
	LongStiffValue     float32
	Position           Vector // cm, in the world
}

func (r *WheelPhysics) code(c *coder) {
	c.float32(&r.TireFriction, &r.DampingRate, &r.MaxSteerAngle, &r.Radius, &r.MaxBrakeTorque, &r.MaxHandbrakeTorque)
	if c.profile.WheelSize != oldWheelSize {
		c.float32(&r.LatStiffMaxLoad, &r.LatStiffValue, &r.LongStiffValue)
	}
	c.vector32(&r.Position)
}
