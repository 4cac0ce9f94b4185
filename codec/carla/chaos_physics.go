package carla

// ChaosPhysicsList is the physics of the vehicles that appeared in a frame, in UE5; only with additional data.
type ChaosPhysicsList []ChaosPhysics

// ID implements Body.
func (*ChaosPhysicsList) ID(Profile) (uint8, bool) { return IDPhysicsControl, true }

// Code implements Body.
func (l *ChaosPhysicsList) Code(c *Coder) { codeList(c, (*[]ChaosPhysics)(l), 127) }

// ChaosPhysics is the physics of a vehicle in UE5.
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

func (r *ChaosPhysics) code(c *Coder) {
	c.Uint32(&r.Actor)
	c.Float32(&r.MaxTorque, &r.MaxRPM, &r.IdleRPM, &r.BrakeEffect, &r.RevUpMOI, &r.RevDownRate)
	c.Uint8(&r.DifferentialType)
	c.Float32(&r.FrontRearSplit)
	c.Bool(&r.UseAutomaticGears)
	c.Float32(&r.GearChangeTime, &r.FinalRatio, &r.ChangeUpRPM, &r.ChangeDownRPM, &r.TransmissionEfficiency, &r.Mass, &r.DragCoefficient)
	c.Vector32(&r.CenterOfMass)
	c.Float32(&r.ChassisWidth, &r.ChassisHeight, &r.DownforceCoefficient, &r.DragArea)
	c.Vector32(&r.InertiaTensorScale)
	c.Float32(&r.SleepThreshold, &r.SleepSlopeLimit)
	c.Bool(&r.SweepWheelCollision)
	codeList32(c, &r.TorqueCurve, 8)
	codeList32(c, &r.ForwardGearRatios, 4)
	codeList32(c, &r.ReverseGearRatios, 4)
	codeList32(c, &r.SteeringCurve, 8)
	codeList32(c, &r.Wheels, chaosWheel)
}

// Ratio is the ratio of a gear in UE5.
type Ratio float32

func (r *Ratio) code(c *Coder) { c.Float32((*float32)(r)) }
