package query

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// sampleFrames are frames of real logs as CARLA 0.9.13 tells them, but for attributes and all actors and lights whose
// ids are not given.
var sampleFrames = []struct {
	log    string
	ids    []string
	frames []string
}{
	{"scenario_runner_DistanceToLaneCenter.log", []string{"1", "3", "234", "243"}, []string{
		`Frame 1 at 0 seconds
 Create 1: spectator (0) at (542.481, 4236.74, 490.868)
 Create 3: traffic.traffic_light (3) at (10272, 5285, 10.3262)
 Create 234: vehicle.lincoln.mkz_2017 (1) at (39250, 19500, 60.7062)
 Positions: 120
  Id: 1 Location: (542.481, 4236.74, 490.868) Rotation (0, 0, -131.802)
  Id: 234 Location: (39250, 19500, 58.3181) Rotation (0, 0, 90)
 State traffic lights: 36
  Id: 3 state: 0 frozen: 0 elapsedTime: 0
 Vehicle animations: 1
  Id: 234 Steering: 0 Throttle: 0 Brake 0 Handbrake: 0 Gear: 0
 Walker animations: 0
 Vehicle light animations: 1
  Id: 234 None
 Dynamic actors: 1
  Id: 234 linear_velocity: (0, 0, -1.47278) angular_velocity: (0, 0, 0)
 Actor bounding boxes: 121
  Id: 1 origin: (-nan, -nan, -nan) extension: (-inf, -inf, -inf)
  Id: 234 origin: (0.404297, 5.96046e-08, 71.886) extension: (245.084, 106.416, 75.5373)
 Current platform time: 0.004622
 Physics Control events: 1
  Id: 234
   max_rpm = 6500
   MOI = 1
   damping_rate_full_throttle = 0.05
   damping_rate_zero_throttle_clutch_engaged = 2
   damping_rate_zero_throttle_clutch_disengaged = 0.35
   use_gear_auto_box = true
   gear_switch_time = 0.5
   clutch_strength = 10
   final_ratio = 3.21
   mass = 1696
   drag_coefficient = 0.3
   center_of_mass = (0.6, 0, -0.3)
   torque_curve = (1000, 347) (1500, 523) (2000, 606) (3000, 695) (4000, 677) (5300, 607) (6500, 466)
   steering_curve = (0, 1) (20, 0.9) (60, 0.8) (120, 0.7)
   forward_gears:
    gear 0: ratio 4.584 down_ratio 0.23 up_ratio 0.54
    gear 1: ratio 2.964 down_ratio 0.23 up_ratio 0.5
    gear 2: ratio 1.912 down_ratio 0.23 up_ratio 0.46
    gear 3: ratio 1.446 down_ratio 0.23 up_ratio 0.46
    gear 4: ratio 1 down_ratio 0.23 up_ratio 0.46
    gear 5: ratio 0.746 down_ratio 0.23 up_ratio 0.46
   wheels:
    wheel 0: tire_friction 3.5 damping_rate 0.25 max_steer_angle 70 radius 35.5 max_brake_torque 800 max_handbrake_torque 0 position (39328.5, 19647.8, 86.4026)
    wheel 1: tire_friction 3.5 damping_rate 0.25 max_steer_angle 70 radius 35.5 max_brake_torque 800 max_handbrake_torque 0 position (39171.5, 19647.8, 86.4026)
    wheel 2: tire_friction 3.5 damping_rate 0.25 max_steer_angle 0 radius 35.5 max_brake_torque 800 max_handbrake_torque 1600 position (39328.5, 19360.6, 86.4026)
    wheel 3: tire_friction 3.5 damping_rate 0.25 max_steer_angle 0 radius 35.5 max_brake_torque 800 max_handbrake_torque 1600 position (39171.5, 19360.6, 86.4026)
 Traffic Light time events: 36
  Id: 3 green_time: 10 yellow_time: 3 red_time: 2`,
		`Frame 241 at 4.00273 seconds
 Create 243: sensor.camera.rgb (5) at (-590.168, 0, 251.075)
 Parenting 243 with 234 (parent)
 Positions: 120
  Id: 1 Location: (542.481, 4236.74, 490.868) Rotation (0, 0, -131.802)
  Id: 234 Location: (39250, 19500, 3.36166) Rotation (-0.000366211, 0.000252717, 90)
 State traffic lights: 36
  Id: 3 state: 0 frozen: 0 elapsedTime: 0
 Vehicle animations: 1
  Id: 234 Steering: 0 Throttle: 0 Brake 0 Handbrake: 0 Gear: 0
 Walker animations: 0
 Vehicle light animations: 1
  Id: 234 None
 Dynamic actors: 1
  Id: 234 linear_velocity: (0, 0, 0) angular_velocity: (0, 0, 0)
 Actor bounding boxes: 1
  Id: 243 origin: (-nan, -nan, -nan) extension: (-inf, -inf, -inf)
 Current platform time: 4.00935`,
		`Frame 432 at 12.5282 seconds
 Destroy 234
 Destroy 235
 Destroy 236
 Destroy 237
 Positions: 116
  Id: 1 Location: (542.481, 4236.74, 490.868) Rotation (0, 0, -131.802)
 State traffic lights: 36
  Id: 3 state: 0 frozen: 0 elapsedTime: 0
 Vehicle animations: 0
 Walker animations: 0
 Vehicle light animations: 0
 Actor bounding boxes: 0
 Current platform time: 12.5337`,
	}},
	{"sr2020_DistanceToLaneCenter.log", []string{"-1", "88", "259", "268"}, []string{
		`Frame 1 at 0 seconds
 Create 88: traffic.traffic_light (3) at (10272, 5285, 10.3262)
 Create 259: vehicle.lincoln.mkz2017 (1) at (39250, 19500, 15.43)
 Positions: 1
  Id: 259 Location: (39250, 19500, 10.1713) Rotation (0, 0, 90)
 State traffic lights: 36
  Id: 88 state: 1 frozen: 0 elapsedTime: 0
 Vehicle animations: 1
  Id: 259 Steering: 0 Throttle: 0 Brake 0 Handbrake: 0 Gear: 0
 Walker animations: 0
 Vehicle light animations: 1
  Id: 259 None
 Scene light changes: 216
  Id: -1 enabled: True intensity: 500000 RGB_color: (0.955974, 0.814847, 0.527115)
  Id: 88 enabled: True intensity: 1e+07 RGB_color: (0.956863, 0.815686, 0.52549)
 Dynamic actors: 1
  Id: 259 linear_velocity: (1.72368e-08, 4.29436e-08, -2.91658) angular_velocity: (-9.61667e-06, 2.11987e-05, 3.51806e-09)
 Actor bounding boxes: 121
  Id: 259 origin: (6.06449, 0, 74.7342) extension: (245.235, 103.033, 73.9199)
 Current platform time: 0.017619
 Physics Control events: 1
  Id: 259
   max_rpm = 5800
   MOI = 1
   damping_rate_full_throttle = 0.15
   damping_rate_zero_throttle_clutch_engaged = 2
   damping_rate_zero_throttle_clutch_disengaged = 0.35
   use_gear_auto_box = true
   gear_switch_time = 0.5
   clutch_strength = 10
   final_ratio = 4
   mass = 2404
   drag_coefficient = 0.3
   center_of_mass = (0.6, 0, -0.25)
   torque_curve = (0, 400) (1890.76, 500) (5729.58, 400)
   steering_curve = (0, 1) (20, 0.9) (60, 0.8) (120, 0.7)
   forward_gears:
    gear 0: ratio 3.59 down_ratio 0.2 up_ratio 0.35
    gear 1: ratio 2.19 down_ratio 0.2 up_ratio 0.35
    gear 2: ratio 1.41 down_ratio 0.2 up_ratio 0.35
    gear 3: ratio 1 down_ratio 0.2 up_ratio 0.35
    gear 4: ratio 0.83 down_ratio 0.2 up_ratio 0.35
   wheels:
    wheel 0: tire_friction 3.5 damping_rate 0.25 max_steer_angle 70 radius 35.8 max_brake_torque 1500 max_handbrake_torque 0 position (39328.2, 19647.8, 40.7834)
    wheel 1: tire_friction 3.5 damping_rate 0.25 max_steer_angle 70 radius 35.8 max_brake_torque 1500 max_handbrake_torque 0 position (39171.8, 19647.8, 40.7834)
    wheel 2: tire_friction 3.5 damping_rate 0.25 max_steer_angle 0 radius 35.8 max_brake_torque 1500 max_handbrake_torque 3000 position (39328.2, 19360.6, 40.7834)
    wheel 3: tire_friction 3.5 damping_rate 0.25 max_steer_angle 0 radius 35.8 max_brake_torque 1500 max_handbrake_torque 3000 position (39171.8, 19360.6, 40.7834)
 Traffic Light time events: 36
  Id: 88 green_time: 10 yellow_time: 3 red_time: 2`,
		`Frame 245 at 4.48472 seconds
 Create 268: sensor.camera.rgb (0) at (-550, 0, 250)
 Parenting 268 with 259 (parent)
 Positions: 1
  Id: 259 Location: (39250, 19500, 3.63861) Rotation (-0.00012207, 1.36604e-05, 90)
 State traffic lights: 36
  Id: 88 state: 0 frozen: 0 elapsedTime: 1.48244
 Vehicle animations: 1
  Id: 259 Steering: 0 Throttle: 0 Brake 0 Handbrake: 0 Gear: 0
 Walker animations: 0
 Vehicle light animations: 1
  Id: 259 None
 Dynamic actors: 1
  Id: 259 linear_velocity: (0, 0, 0) angular_velocity: (0, 0, 0)
 Actor bounding boxes: 1
  Id: 268 origin: (0, 0, 0) extension: (0, 0, 0)
 Current platform time: 4.50491`,
		`Frame 461 at 15.8809 seconds
 Destroy 259
 Destroy 260
 Destroy 261
 Destroy 262
 Positions: 0
 State traffic lights: 36
  Id: 88 state: 0 frozen: 0 elapsedTime: 0
 Vehicle animations: 0
 Walker animations: 0
 Vehicle light animations: 0
 Actor bounding boxes: 0
 Current platform time: 16.2236`,
	}},
}

// excerpt returns a frame of a text likewise.
func excerpt(text, frame string, ids []string) string {
	row := regexp.MustCompile(`^(?:  Id: (-?\d+)| Create (\d+):|  \w+ = )`)
	lines := slices.DeleteFunc(strings.Split(frameText(text, frame, ""), "\n"), func(line string) bool {
		m := row.FindStringSubmatch(line)
		return m != nil && !slices.Contains(ids, m[1]+m[2])
	})
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}

func TestFramesOfSamples(t *testing.T) {
	for _, s := range sampleFrames {
		t.Run(s.log, func(t *testing.T) {
			r := openSample(t, s.log)
			old, _, _ := strings.Cut(info(t, r, true, V0913), "\n\nFrames: ")
			newest, _, _ := strings.Cut(info(t, r, true, Newest), "\n\nFrames: ")
			for _, want := range s.frames {
				number := strings.Join(strings.SplitAfter(want, " ")[:3], "")
				require.Equal(t, want, excerpt(old, number, s.ids))
				want = strings.NewReplacer(") Rotation (", ") Rotation: (", " Brake ", " Brake: ").Replace(want)
				require.Equal(t, want, excerpt(newest, number, s.ids))
			}
		})
	}
}
