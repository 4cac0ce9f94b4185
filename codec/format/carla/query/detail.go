package query

import (
	"strings"

	"tapedeck/codec/format/carla"
)

// detail writes a packet that only the text of a whole log has, not the text of its events.
func (p *infoPrinter) detail(b carla.Body) {
	switch l := b.(type) {
	case *carla.PositionList:
		p.print(" Positions: ", len(*l), "\n")
		rotation := " Rotation: "
		if p.Style == V0913 {
			rotation = " Rotation "
		}
		for _, r := range *l {
			p.print("  Id: ", r.Actor, " Location: ", r.Location, rotation, r.Rotation, "\n")
		}
	case *carla.StateList:
		p.print(" State traffic lights: ", len(*l), "\n")
		for _, r := range *l {
			p.print("  Id: ", r.Actor, " state: ", string([]byte{'0' + byte(r.Colour)}), " frozen: ", r.Frozen,
				" elapsedTime: ", r.Elapsed, "\n")
		}
	case *carla.AnimVehicleList:
		p.print(" Vehicle animations: ", len(*l), "\n")
		brake := " Brake: "
		if p.Style == V0913 {
			brake = " Brake "
		}
		for _, r := range *l {
			p.print("  Id: ", r.Actor, " Steering: ", r.Steering, " Throttle: ", r.Throttle, brake, r.Brake,
				" Handbrake: ", r.HandBrake, " Gear: ", r.Gear, "\n")
		}
	case *carla.AnimWalkerList:
		p.print(" Walker animations: ", len(*l), "\n")
		for _, r := range *l {
			p.print("  Id: ", r.Actor, " speed: ", r.Speed, "\n")
		}
	case *carla.VehicleLightList:
		p.print(" Vehicle light animations: ", len(*l), "\n")
		for _, r := range *l {
			p.print("  Id: ", r.Actor, " ", formatLights(r.Lights), "\n")
		}
	case *carla.SceneLightList:
		p.print(" Scene light changes: ", len(*l), "\n")
		for _, r := range *l {
			p.print("  Id: ", r.Light, " enabled: ", map[bool]string{true: "True", false: "False"}[r.On],
				" intensity: ", r.Intensity, " RGB_color: (", r.R, ", ", r.G, ", ", r.B, ")\n")
		}
	case *carla.KinematicsList:
		p.print(" Dynamic actors: ", len(*l), "\n")
		for _, r := range *l {
			p.print("  Id: ", r.Actor, " linear_velocity: ", r.LinearVelocity, " angular_velocity: ", r.AngularVelocity,
				"\n")
		}
	case *carla.BoundingBoxList:
		p.print(" Actor bounding boxes: ", len(*l), "\n")
		for _, r := range *l {
			p.box(r)
		}
	case *carla.TriggerVolumeList:
		p.print(" Actor trigger volumes: ", len(*l), "\n")
		for _, r := range *l {
			p.box(carla.BoundingBox(r))
		}
	case *carla.PlatformTime:
		p.print(" Current platform time: ", l.Seconds, "\n")
	case *carla.PhysicsControlList:
		p.print(" Physics Control events: ", len(*l), "\n")
		for i := range *l {
			p.physics(&(*l)[i])
		}
	case *carla.TrafficLightTimeList:
		p.print(" Traffic Light time events: ", len(*l), "\n")
		for _, r := range *l {
			p.print("  Id: ", r.Actor, " green_time: ", r.Green, " yellow_time: ", r.Yellow, " red_time: ", r.Red, "\n")
		}
	default:
		if p.Style == Newest {
			p.newDetail(b)
		}
	}
}

// newDetail writes a packet that the texts of 0.9.13 lack.
func (p *infoPrinter) newDetail(b carla.Body) {
	switch l := b.(type) {
	case *carla.FrameEnd:
		if !p.ue5 {
			p.print("\n")
		}
	case *carla.VehicleDoorList:
		p.print(" Vehicle door animations: ", len(*l), "\n")
		for _, r := range *l {
			p.print("  Id: ", r.Actor, "\n  Doors opened: ")
			if int(r.Door) < len(doorNames) {
				p.print(" ", doorNames[r.Door], " \n")
			}
		}
	case *carla.WalkerBonesList:
		p.print(" Walkers Bones: ", len(*l), "\n")
		for _, r := range *l {
			p.print("  Id: ", r.Actor, "\n")
			for _, b := range r.Bones {
				p.print(`     Bone: "`, escape(b.Name), `" relative: Loc`, b.Location, " Rot", b.Rotation, "\n")
			}
		}
		if p.ue5 {
			p.print("\n")
		}
	case *carla.ChaosPhysicsList:
		p.print(" Physics Control events: ", len(*l), "\n")
		for i := range *l {
			p.chaosPhysics(&(*l)[i])
		}
	}
}

// doorNames are indexed by carla.Door.
var doorNames = []string{"Front Left", "Front Right", "Rear Left", "Rear Right", "Hood", "Trunk", "All"}

// lightNames are in the order in which CARLA writes them.
var lightNames = []struct {
	light carla.VehicleLights
	name  string
}{
	{carla.LightPosition, "Position"}, {carla.LightLowBeam, "LowBeam"}, {carla.LightHighBeam, "HighBeam"},
	{carla.LightBrake, "Brake"},
	{carla.LightRightBlinker, "RightBlinker"}, {carla.LightLeftBlinker, "LeftBlinker"}, {carla.LightReverse, "Reverse"},
	{carla.LightInterior, "Interior"}, {carla.LightFog, "Fog"}, {carla.LightSpecial1, "Special1"},
	{carla.LightSpecial2, "Special2"},
}

func formatLights(l carla.VehicleLights) string {
	var names []string
	for _, n := range lightNames {
		if l&n.light != 0 {
			names = append(names, n.name)
		}
	}
	if names == nil {
		return "None"
	}
	return strings.Join(names, " ")
}

func (p *infoPrinter) box(r carla.BoundingBox) {
	p.print("  Id: ", r.Actor, " origin: ", r.Origin, " extension: ", r.Extension, "\n")
}

// gearSwitchTime is the time in s that CARLA prints for every vehicle. Logs do not contain gear switch times.
const gearSwitchTime = 0.5

func (p *infoPrinter) physics(r *carla.PhysicsControl) {
	p.print("  Id: ", r.Actor, "\n   max_rpm = ", r.MaxRPM, "\n   MOI = ", r.MOI,
		"\n   damping_rate_full_throttle = ", r.DampingRateFullThrottle,
		"\n   damping_rate_zero_throttle_clutch_engaged = ", r.DampingRateZeroThrottleClutchEngaged,
		"\n   damping_rate_zero_throttle_clutch_disengaged = ", r.DampingRateZeroThrottleClutchDisengaged,
		"\n   use_gear_auto_box = ", map[bool]string{true: "true", false: "false"}[r.UseGearAutobox],
		"\n   gear_switch_time = ", gearSwitchTime, "\n   clutch_strength = ", r.ClutchStrength, "\n   final_ratio = ",
		r.FinalRatio,
		"\n   mass = ", r.Mass, "\n   drag_coefficient = ", r.DragCoefficient, "\n   center_of_mass = ", r.CenterOfMass)
	p.print("\n   torque_curve =")
	p.curve(r.TorqueCurve)
	p.print("\n   steering_curve =")
	p.curve(r.SteeringCurve)
	p.print("\n   forward_gears:\n")
	for i, g := range r.ForwardGears {
		p.print("    gear ", i, ": ratio ", g.Ratio, " down_ratio ", g.DownRatio, " up_ratio ", g.UpRatio, "\n")
	}
	p.print("   wheels:\n")
	for i, w := range r.Wheels {
		p.print("    wheel ", i, ": tire_friction ", w.TireFriction, " damping_rate ", w.DampingRate,
			" max_steer_angle ", w.MaxSteerAngle, " radius ", w.Radius, " max_brake_torque ", w.MaxBrakeTorque,
			" max_handbrake_torque ", w.MaxHandbrakeTorque, " position ", w.Position, "\n")
	}
}

func (p *infoPrinter) curve(points []carla.CurvePoint) {
	for _, c := range points {
		p.print(" (", c.X, ", ", c.Y, ")")
	}
}
