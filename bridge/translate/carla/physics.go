package carla

import (
	"tapedeck/codec/format/carla"
	"tapedeck/msgs/carla_msgs"
	"tapedeck/msgs/geometry_msgs"
)

// vehicleInfo returns the properties of a vehicle, with its physics if they are known.
func vehicleInfo(a *carla.Actor) *carla_msgs.CarlaEgoVehicleInfo {
	info := &carla_msgs.CarlaEgoVehicleInfo{Id: a.Actor, Type: a.BlueprintID, Rolename: a.Attribute("role_name")}
	at := pose(a.Location, a.Rotation)
	if p := a.Physics; p != nil {
		info.MaxRpm, info.Moi, info.UseGearAutobox, info.ClutchStrength = p.MaxRPM, p.MOI, p.UseGearAutobox,
			p.ClutchStrength
		info.DampingRateFullThrottle = p.DampingRateFullThrottle
		info.DampingRateZeroThrottleClutchEngaged = p.DampingRateZeroThrottleClutchEngaged
		info.DampingRateZeroThrottleClutchDisengaged = p.DampingRateZeroThrottleClutchDisengaged
		info.Mass, info.DragCoefficient, info.CenterOfMass = p.Mass, p.DragCoefficient, Velocity(p.CenterOfMass)
		for _, w := range p.Wheels {
			info.Wheels = append(info.Wheels, carla_msgs.CarlaEgoVehicleInfoWheel{
				TireFriction: w.TireFriction, DampingRate: w.DampingRate, MaxSteerAngle: radians(w.MaxSteerAngle),
				Radius: w.Radius / metre, MaxBrakeTorque: w.MaxBrakeTorque, MaxHandbrakeTorque: w.MaxHandbrakeTorque,
				Position: relativeTo(at, w.Position),
			})
		}
	}
	if p := a.ChaosPhysics; p != nil {
		info.MaxRpm, info.Moi, info.UseGearAutobox, info.GearSwitchTime = p.MaxRPM, p.RevUpMOI, p.UseAutomaticGears,
			p.GearChangeTime
		info.Mass, info.DragCoefficient, info.CenterOfMass = p.Mass, p.DragCoefficient, Velocity(p.CenterOfMass)
		for _, w := range p.Wheels {
			info.Wheels = append(info.Wheels, carla_msgs.CarlaEgoVehicleInfoWheel{
				TireFriction: w.FrictionForce, MaxSteerAngle: radians(w.MaxSteerAngle), Radius: w.WheelRadius / metre,
				MaxBrakeTorque: w.MaxBrakeTorque, MaxHandbrakeTorque: w.MaxHandBrakeTorque,
				Position: relativeTo(at, w.Location),
			})
		}
	}
	return info
}

// hasPhysics reports whether a message has the physics of a vehicle.
func hasPhysics(info *carla_msgs.CarlaEgoVehicleInfo) bool {
	return info.MaxRpm != 0 || info.Mass != 0 || len(info.Wheels) > 0
}

// Default curves of CARLA's VehiclePhysicsControl.
var (
	torqueCurve   = []carla.CurvePoint{{X: 0, Y: 500}, {X: 5000, Y: 500}}
	steeringCurve = []carla.CurvePoint{{X: 0, Y: 1}, {X: 10, Y: 0.5}}
)

// physicsOf is the inverse of vehicleInfo, for UE4. Fields that the message does not have get the defaults of CARLA's
// VehiclePhysicsControl.
func physicsOf(e *carla.EventAdd, info *carla_msgs.CarlaEgoVehicleInfo) carla.PhysicsControl {
	p := carla.PhysicsControl{
		Actor: e.Actor, MaxRPM: info.MaxRpm, MOI: info.Moi, DampingRateFullThrottle: info.DampingRateFullThrottle,
		DampingRateZeroThrottleClutchEngaged:    info.DampingRateZeroThrottleClutchEngaged,
		DampingRateZeroThrottleClutchDisengaged: info.DampingRateZeroThrottleClutchDisengaged,
		UseGearAutobox:                          info.UseGearAutobox, ClutchStrength: info.ClutchStrength,
		FinalRatio:      4,
		Mass:            info.Mass,
		DragCoefficient: info.DragCoefficient, CenterOfMass: LinearVelocity(info.CenterOfMass),
		TorqueCurve:   torqueCurve,
		SteeringCurve: steeringCurve,
	}
	for _, w := range info.Wheels {
		p.Wheels = append(p.Wheels, carla.WheelPhysics{
			TireFriction: w.TireFriction, DampingRate: w.DampingRate, MaxSteerAngle: degrees(w.MaxSteerAngle),
			Radius: radius(w.Radius), MaxBrakeTorque: w.MaxBrakeTorque, MaxHandbrakeTorque: w.MaxHandbrakeTorque,
			LatStiffMaxLoad: 2, LatStiffValue: 17, LongStiffValue: 1000, Position: wheelPlace(e, w.Position),
		})
	}
	return p
}

// chaosPhysicsOf is physicsOf for UE5.
func chaosPhysicsOf(e *carla.EventAdd, info *carla_msgs.CarlaEgoVehicleInfo) carla.ChaosPhysics {
	p := carla.ChaosPhysics{
		Actor: e.Actor, MaxTorque: 300, MaxRPM: info.MaxRpm, IdleRPM: 1, BrakeEffect: 1, RevUpMOI: info.Moi,
		RevDownRate:       600,
		FrontRearSplit:    0.5,
		UseAutomaticGears: info.UseGearAutobox, GearChangeTime: info.GearSwitchTime, FinalRatio: 4, ChangeUpRPM: 4500,
		ChangeDownRPM:          2000,
		TransmissionEfficiency: 0.9, Mass: info.Mass, DragCoefficient: info.DragCoefficient,
		CenterOfMass: LinearVelocity(info.CenterOfMass),
		ChassisWidth: 180, ChassisHeight: 140, DownforceCoefficient: 0.3,
		InertiaTensorScale: carla.Vector{X: 1, Y: 1, Z: 1},
		SleepThreshold:     10,
		SleepSlopeLimit:    0.866, TorqueCurve: torqueCurve,
		ForwardGearRatios: []carla.Ratio{2.85, 2.02, 1.35, 1, 2.85, 2.02, 1.35, 1},
		ReverseGearRatios: []carla.Ratio{2.86, 2.86}, SteeringCurve: steeringCurve,
	}
	for _, w := range info.Wheels {
		p.Wheels = append(p.Wheels, carla.ChaosWheel{
			WheelRadius: radius(w.Radius), WheelWidth: 30, WheelMass: 30, CorneringStiffness: 1000,
			FrictionForce: w.TireFriction, SideSlip: 1, SlipThreshold: 20, SkidThreshold: 20,
			MaxSteerAngle: degrees(w.MaxSteerAngle), AffectedBySteering: true, AffectedByBrake: true,
			AffectedByHandbrake: true, AffectedByEngine: true, MaxWheelspinRotation: 30,
			SuspensionAxis: carla.Vector{Z: -1}, SuspensionMaxRaise: 10, SuspensionMaxDrop: 10,
			SuspensionDampingRatio: 0.5, WheelLoadRatio: 0.5, SpringRate: 250, SpringPreload: 50, RollbarScaling: 0.15,
			MaxBrakeTorque: w.MaxBrakeTorque, MaxHandBrakeTorque: w.MaxHandbrakeTorque, WheelIndex: -1,
			Location: wheelPlace(e, w.Position),
		})
	}
	return p
}

func radians(degrees float32) float32 { return float32(float64(degrees) / radian) }

func degrees(radians float32) float32 { return float32(float64(radians) * radian) }

// radius returns the radius of a wheel in cm. carla_msgs has m, but CARLA's ROS bridge sends cm: a radius of 3 or more
// is in cm.
func radius(r float32) float32 {
	if r < 3 {
		return r * metre
	}
	return r
}

// wheelPlace returns the location of a wheel in the world.
func wheelPlace(e *carla.EventAdd, in geometry_msgs.Vector3) carla.Vector {
	return Location(compose(pose(e.Location, e.Rotation),
		geometry_msgs.Pose{Position: geometry_msgs.Point(in)}).Position)
}
