package query

import "tapedeck/codec/format/carla"

// chaosPhysics writes the physics of one vehicle of UE5. CARLA prints integers of one byte as characters.
func (p *infoPrinter) chaosPhysics(r *carla.ChaosPhysics) {
	p.print("  Id: ", r.Actor, "\n   max_torque = ", r.MaxTorque, "\n   max_rpm = ", r.MaxRPM,
		"\n   MOI = ", r.RevUpMOI, "\n   rev_down_rate = ", r.RevDownRate,
		"\n   differential_type = ", character(r.DifferentialType), "\n   front_rear_split = ", r.FrontRearSplit,
		"\n   use_gear_auto_box = ", map[bool]string{true: "true", false: "false"}[r.UseAutomaticGears],
		"\n   gear_change_time = ", r.GearChangeTime, "\n   final_ratio = ", r.FinalRatio,
		"\n   change_up_rpm = ", r.ChangeUpRPM, "\n   change_down_rpm = ", r.ChangeDownRPM,
		"\n   transmission_efficiency = ", r.TransmissionEfficiency, "\n   mass = ", r.Mass,
		"\n   drag_coefficient = ", r.DragCoefficient, "\n   center_of_mass = ", r.CenterOfMass)
	p.print("\n   torque_curve =")
	p.curve(r.TorqueCurve)
	p.print("\n   steering_curve =")
	p.curve(r.SteeringCurve)
	p.print("\n")
	p.ratios("forward_gear_ratios", r.ForwardGearRatios)
	p.ratios("reverse_gear_ratios", r.ReverseGearRatios)
	p.print("   wheels:")
	for i := range r.Wheels {
		p.print("\nwheel #", i, ":\n")
		p.chaosWheel(&r.Wheels[i])
	}
	p.print("\n")
}

func (p *infoPrinter) ratios(title string, ratios []carla.Ratio) {
	p.print("   ", title, ":\n")
	for i, r := range ratios {
		p.print("    gear ", i, ": ratio ", float32(r), "\n")
	}
}

func (p *infoPrinter) chaosWheel(w *carla.ChaosWheel) {
	p.print(" axle_type: ", character(w.AxleType), " offset: ", formatVector(w.Offset),
		" wheel_radius: ", w.WheelRadius, " wheel_width: ", w.WheelWidth, " wheel_mass: ", w.WheelMass,
		" cornering_stiffness: ", w.CorneringStiffness, " friction_force_multiplier: ", w.FrictionForce,
		" side_slip_modifier: ", w.SideSlip, " slip_threshold: ", w.SlipThreshold,
		" skid_threshold: ", w.SkidThreshold, " max_steer_angle: ", w.MaxSteerAngle,
		" affected_by_steering: ", w.AffectedBySteering, " affected_by_brake: ", w.AffectedByBrake,
		" affected_by_handbrake: ", w.AffectedByHandbrake, " affected_by_engine: ", w.AffectedByEngine,
		" abs_enabled: ", w.ABS, " traction_control_enabled: ", w.TractionControl,
		" max_wheelspin_rotation: ", w.MaxWheelspinRotation,
		" external_torque_combine_method: ", character(w.ExternalTorqueCombine),
		" lateral_slip_graph: [] suspension_axis: ", formatVector(w.SuspensionAxis),
		" suspension_force_offset: ", formatVector(w.SuspensionForceOffset),
		" suspension_max_raise: ", w.SuspensionMaxRaise, " suspension_max_drop: ", w.SuspensionMaxDrop,
		" suspension_damping_ratio: ", w.SuspensionDampingRatio, " wheel_load_ratio: ", w.WheelLoadRatio,
		" spring_rate: ", w.SpringRate, " spring_preload: ", w.SpringPreload,
		" suspension_smoothing: ", w.SuspensionSmoothing, " rollbar_scaling: ", w.RollbarScaling,
		" sweep_shape: ", character(w.SweepShape), " sweep_type: ", character(w.SweepType),
		" max_brake_torque: ", w.MaxBrakeTorque, " max_hand_brake_torque: ", w.MaxHandBrakeTorque,
		" wheel_index: ", w.WheelIndex, " location: ", formatVector(w.Location),
		" old_location: ", formatVector(w.OldLocation), " velocity: ", formatVector(w.Velocity))
}

// character returns one byte as text.
func character(n uint8) string { return string([]byte{n}) }

// formatVector formats a vector as C's printf does with %f.
func formatVector(v carla.Vector) string {
	b := appendNumber([]byte{'('}, v.X, 'f', 6)
	b = appendNumber(append(b, ", "...), v.Y, 'f', 6)
	b = appendNumber(append(b, ", "...), v.Z, 'f', 6)
	return string(append(b, ')'))
}
