package query

import "tapedeck/codec/format/carla"

// chaosPhysics writes the physics of a vehicle of UE5. CARLA prints numbers of one byte as characters.
func (p *infoPrinter) chaosPhysics(r *carla.ChaosPhysics) {
	p.line("  Id: ", r.Actor, "\n   max_torque = ", r.MaxTorque, "\n   max_rpm = ", r.MaxRPM, "\n   MOI = ", r.RevUpMOI,
		"\n   rev_down_rate = ", r.RevDownRate, "\n   differential_type = ", character(r.DifferentialType),
		"\n   front_rear_split = ", r.FrontRearSplit, "\n   use_gear_auto_box = ",
		map[bool]string{true: "true", false: "false"}[r.UseAutomaticGears], "\n   gear_change_time = ",
		r.GearChangeTime, "\n   final_ratio = ", r.FinalRatio, "\n   change_up_rpm = ", r.ChangeUpRPM,
		"\n   change_down_rpm = ", r.ChangeDownRPM, "\n   transmission_efficiency = ", r.TransmissionEfficiency,
		"\n   mass = ", r.Mass, "\n   drag_coefficient = ", r.DragCoefficient, "\n   center_of_mass = ", r.CenterOfMass)
	p.line("\n   torque_curve =")
	p.curve(r.TorqueCurve)
	p.line("\n   steering_curve =")
	p.curve(r.SteeringCurve)
	p.line("\n")
	p.ratios("forward_gear_ratios", r.ForwardGearRatios)
	p.ratios("reverse_gear_ratios", r.ReverseGearRatios)
	p.line("   wheels:")
	for i := range r.Wheels {
		p.line("\nwheel #", i, ":\n")
		p.chaosWheel(&r.Wheels[i])
	}
	p.line("\n")
}

func (p *infoPrinter) ratios(title string, ratios []carla.Ratio) {
	p.line("   ", title, ":\n")
	for i, r := range ratios {
		p.line("    gear ", i, ": ratio ", float32(r), "\n")
	}
}

func (p *infoPrinter) chaosWheel(w *carla.ChaosWheel) {
	p.line(" axle_type: ", character(w.AxleType), " offset: ", decimals(w.Offset), " wheel_radius: ", w.WheelRadius,
		" wheel_width: ", w.WheelWidth, " wheel_mass: ", w.WheelMass, " cornering_stiffness: ", w.CorneringStiffness,
		" friction_force_multiplier: ", w.FrictionForce, " side_slip_modifier: ", w.SideSlip, " slip_threshold: ",
		w.SlipThreshold, " skid_threshold: ", w.SkidThreshold, " max_steer_angle: ", w.MaxSteerAngle,
		" affected_by_steering: ", w.AffectedBySteering, " affected_by_brake: ", w.AffectedByBrake,
		" affected_by_handbrake: ", w.AffectedByHandbrake, " affected_by_engine: ", w.AffectedByEngine,
		" abs_enabled: ", w.ABS, " traction_control_enabled: ", w.TractionControl, " max_wheelspin_rotation: ",
		w.MaxWheelspinRotation, " external_torque_combine_method: ", character(w.ExternalTorqueCombine),
		" lateral_slip_graph: [] suspension_axis: ", decimals(w.SuspensionAxis), " suspension_force_offset: ",
		decimals(w.SuspensionForceOffset), " suspension_max_raise: ", w.SuspensionMaxRaise, " suspension_max_drop: ",
		w.SuspensionMaxDrop, " suspension_damping_ratio: ", w.SuspensionDampingRatio, " wheel_load_ratio: ",
		w.WheelLoadRatio, " spring_rate: ", w.SpringRate, " spring_preload: ", w.SpringPreload,
		" suspension_smoothing: ", w.SuspensionSmoothing, " rollbar_scaling: ", w.RollbarScaling, " sweep_shape: ",
		character(w.SweepShape), " sweep_type: ", character(w.SweepType), " max_brake_torque: ", w.MaxBrakeTorque,
		" max_hand_brake_torque: ", w.MaxHandBrakeTorque, " wheel_index: ", w.WheelIndex, " location: ",
		decimals(w.Location), " old_location: ", decimals(w.OldLocation), " velocity: ", decimals(w.Velocity))
}

// character returns the character with a number.
func character(n uint8) string { return string([]byte{n}) }

// decimals returns a vector as C's printf writes it with %f.
func decimals(v carla.Vector) string {
	b := appendNumber([]byte{'('}, v.X, 'f', 6)
	b = appendNumber(append(b, ", "...), v.Y, 'f', 6)
	b = appendNumber(append(b, ", "...), v.Z, 'f', 6)
	return string(append(b, ')'))
}
