package realman

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec/training/align"
)

// pushed is a packet of an RM65 with software v1.7.0.
const pushed = `{"err":[0],"joint_status":{"joint_current":[-79000,0,0,0,0,1000],"joint_en_flag":[1,1,1,1,1,0],` +
	`"joint_err_code":[0,0,0,0,0,9],` +
	`"joint_position":[-1968,-35327,62138,165412,-9854,-293299],"joint_speed":[0,0,0,0,0,1],` +
	`"joint_temperature":[35000,35000,35000,35000,35000,36500],` +
	`"joint_voltage":[23000,23000,23000,23000,23000,22900]},"state":"realtime_arm_joint_state",` +
	`"waypoint":{"euler":[-447,551,2325],"position":[-86608,11750,820234],"quat":[316706,-328490,-90433,885218]}}`

func near(t *testing.T, want, got []float64, what string) {
	t.Helper()
	require.Len(t, got, len(want), what)
	for i := range want {
		require.InDelta(t, want[i], got[i], 1e-9, "%s[%d]", what, i)
	}
}

func degrees(list ...float64) []float64 {
	for i := range list {
		list[i] *= math.Pi / 180
	}
	return list
}

func quaternion(roll, pitch, yaw float64) (q [4]float64) {
	q[0], q[1], q[2], q[3] = align.ToQuaternion(roll, pitch, yaw)
	return q
}

func newDecoder() *decoder { return &decoder{speed: CentidegreesPerSecond} }

func TestPush(t *testing.T) {
	u, err := newDecoder().decode([]byte(pushed))
	require.NoError(t, err)
	require.Equal(t, "realtime_arm_joint_state", u.Name)
	near(t, degrees(-1.968, -35.327, 62.138, 165.412, -9.854, -293.299), u.Joints, "joints")
	near(t, degrees(0, 0, 0, 0, 0, 0.01), u.Speeds, "speeds")
	near(t, []float64{-0.079, 0, 0, 0, 0, 0.001}, u.Currents, "currents")
	near(t, []float64{23, 23, 23, 23, 23, 22.9}, u.Voltages, "voltages")
	near(t, []float64{35, 35, 35, 35, 35, 36.5}, u.Temperatures, "temperatures")
	require.Equal(t, []int{0, 0, 0, 0, 0, 9}, u.JointErrors)
	require.Equal(t, []bool{true, true, true, true, true, false}, u.Enabled)
	require.Equal(t, []int{}, u.Errors)
	near(t, []float64{-0.086608, 0.01175, 0.820234}, u.Pose.Position[:], "position")
	// The angles and the quaternion of the packet agree, which proves the order of their elements.
	q, fromAngles := u.Pose.Quaternion, quaternion(-0.447, 0.551, 2.325)
	for i := range q {
		require.InDelta(t, fromAngles[i], q[i], 1e-3, "quaternion[%d]", i)
	}
	require.InDelta(t, 0.316706, q[3], 1e-6)
	require.InDelta(t, 1, q[0]*q[0]+q[1]*q[1]+q[2]*q[2]+q[3]*q[3], 1e-12)
	require.Nil(t, u.Gripper)
	require.Nil(t, u.Force)
	require.Equal(t, fieldJoints|fieldCurrents|fieldVoltages|fieldTemperatures|fieldJointErrors|fieldEnabled|fieldPose|
		fieldErrors,
		u.has)
}

// with returns the packet with something replaced in it.
func with(old, replacement string) string {
	if !strings.Contains(pushed, old) {
		panic(old)
	}
	return strings.Replace(pushed, old, replacement, 1)
}

// more returns the packet with more fields.
func more(fields string) string { return with(`{"err"`, "{"+fields+`,"err"`) }

func TestPushVariants(t *testing.T) {
	seven := strings.NewReplacer("-293299]", "-293299,7000]", "0,0,0,0,0,9]", "0,0,0,0,0,9,0]", "0,0,0,0,0,1]",
		"0,0,0,0,0,1,0]", "1,1,1,1,1,0]", "1,1,1,1,1,0,1]",
		"0,0,0,0,1000]", "0,0,0,0,1000,0]", "36500]", "36500,1]", "22900]", "22900,1]").Replace(pushed)
	for name, test := range map[string]struct {
		packet string
		check  func(*testing.T, *Update)
	}{
		"seven joints": {seven, func(t *testing.T, u *Update) {
			require.Len(t, u.Joints, 7)
			require.InDelta(t, 7*math.Pi/180, u.Joints[6], 1e-12)
			require.Len(t, u.JointErrors, 7)
		}},
		"errors of the second generation": {with(`"err":[0]`, `"arm_err":4109,"sys_err":20483`),
			func(t *testing.T, u *Update) {
				require.Equal(t, []int{0x100D, 0x5003}, u.Errors)
			}},
		"no errors of the second generation": {with(`"err":[0]`, `"arm_err":0,"sys_err":0`),
			func(t *testing.T, u *Update) { require.Equal(t, []int{}, u.Errors) }},
		"errors in a list": {with(`"err":[0]`, `"err":[4097,0,8193]`),
			func(t *testing.T, u *Update) { require.Equal(t, []int{0x1001, 0x2001}, u.Errors) }},
		"errors in an empty list": {with(`"err":[0]`, `"err":[]`),
			func(t *testing.T, u *Update) { require.Equal(t, []int{}, u.Errors) }},
		"errors as strings": {with(`"err":[0]`, `"err":["0","0x1001"]`),
			func(t *testing.T, u *Update) { require.Equal(t, []int{0x1001}, u.Errors) }},
		"an error alone": {with(`"err":[0]`, `"err":4097`),
			func(t *testing.T, u *Update) { require.Equal(t, []int{0x1001}, u.Errors) }},
		"errors in an object": {with(`"err":[0]`, `"err":{"err_len":1,"err_code":[4097,99]}`),
			func(t *testing.T, u *Update) {
				require.Equal(t, []int{0x1001}, u.Errors, "err_len of them")
			}},
		"errors in an object, as RM_API2 calls them": {with(`"err":[0]`, `"err":{"err_len":2,"err":[4097,4098]}`),
			func(t *testing.T, u *Update) {
				require.Equal(t, []int{0x1001, 0x1002}, u.Errors)
			}},
		"no errors in an object": {with(`"err":[0]`, `"err":{"err_len":0}`),
			func(t *testing.T, u *Update) { require.Equal(t, []int{}, u.Errors) }},
		"nothing about errors": {with(`"err":[0],`, ``), func(t *testing.T, u *Update) { require.Nil(t, u.Errors) }},
		"position by name": {with("[-86608,11750,820234]", `{"x":-86608,"y":11750,"z":820234}`),
			func(t *testing.T, u *Update) {
				near(t, []float64{-0.086608, 0.01175, 0.820234}, u.Pose.Position[:], "position")
			}},
		"position by name, mixed": {with("[-86608,11750,820234]", ` { "z" : 820234, "x":-86608,"y":"11750"}`),
			func(t *testing.T, u *Update) {
				near(t, []float64{-0.086608, 0.01175, 0.820234}, u.Pose.Position[:], "position")
			}},
		"orientation by name": {with("[316706,-328490,-90433,885218]",
			`{"w":316706,"x":-328490,"y":-90433,"z":885218}`),
			func(t *testing.T, u *Update) { require.InDelta(t, 0.316706, u.Pose.Quaternion[3], 1e-6) }},
		"angles, no quaternion": {with(`,"quat":[316706,-328490,-90433,885218]`, ``),
			func(t *testing.T, u *Update) { require.Equal(t, quaternion(-0.447, 0.551, 2.325), u.Pose.Quaternion) }},
		"angles by name": {with(`[-447,551,2325],`, `{"rx":-447,"ry":551,"rz":2325},"nothing":`+"0,"),
			func(t *testing.T, u *Update) { require.NotNil(t, u.Pose) }},
		"a zero quaternion": {with("[316706,-328490,-90433,885218]", "[0,0,0,0]"), func(t *testing.T, u *Update) {
			require.Equal(t, quaternion(-0.447, 0.551, 2.325), u.Pose.Quaternion, "the angles are used")
		}},
		"no angles": {with(`"euler":[-447,551,2325],`, ``),
			func(t *testing.T, u *Update) { require.InDelta(t, 0.316706, u.Pose.Quaternion[3], 1e-6) }},
		"no waypoint": {with(`"waypoint":`, `"x":`), func(t *testing.T, u *Update) { require.Nil(t, u.Pose) }},
		"no speeds": {with(`"joint_speed":[0,0,0,0,0,1],`, ``),
			func(t *testing.T, u *Update) { require.Nil(t, u.Speeds) }},
		"numbers with points": {with(`-1968`, `-1968.5`),
			func(t *testing.T, u *Update) { require.InDelta(t, -1.9685*math.Pi/180, u.Joints[0], 1e-12) }},
		"numbers as strings": {with(`[1,1,1,1,1,0]`, `["1",true,1,1,1,false]`), func(t *testing.T, u *Update) {
			require.Equal(t, []bool{true, true, true, true, true, false}, u.Enabled)
		}},
		"motion": {more(`"arm_current_status":"move_J"`),
			func(t *testing.T, u *Update) { require.Equal(t, "move_J", u.Motion) }},
		"fields of the future": {more(`"later":{"a":[[1],{}]}`),
			func(t *testing.T, u *Update) { require.NotNil(t, u.Joints) }},
		"six forces": {more(`"six_force_sensor":{"force":[-13000,3799,-22393,-216,-408,481],"zero_force":[17476,` +
			`10415,30827,5,2,2],"coordinate":1}`), func(t *testing.T, u *Update) {
			near(t, []float64{-13, 3.799, -22.393, -0.216, -0.408, 0.481}, u.Force.Raw[:], "raw")
			near(t, []float64{17.476, 10.415, 30.827, 0.005, 0.002, 0.002}, u.Force.External[:], "external")
			require.Equal(t, WorkFrame, u.Force.Frame)
		}},
		"one force": {more(`"one_force_sensor":{"force":[1200],"zero_force":100,"coordinate":2}`),
			func(t *testing.T, u *Update) {
				near(t, []float64{0, 0, 1.2, 0, 0, 0}, u.Force.Raw[:], "raw")
				near(t, []float64{0, 0, 0.1, 0, 0, 0}, u.Force.External[:], "external")
				require.Equal(t, ToolFrame, u.Force.Frame)
			}},
		"a lift": {more(`"lift_state":{"height":1250,"pos":5,"current":2554,"err_flag":"0","en_flag":"1"}`),
			func(t *testing.T, u *Update) {
				require.Equal(t, &Lift{Height: 1.25}, u.Lift)
			}},
		"a handle": {more(`"aloha_state":{"io1_state":0,"io2_state":1}`),
			func(t *testing.T, u *Update) { require.Equal(t, &Handle{false, true}, u.Handle) }},
		"a gripper of the fourth generation": {
			more(`"rm_plus_state":{"pos":[250,0,0,0,0,0],"force":[1500,0,0,0,0,0],"dof_state":[1,0,0,0,0,0],` +
				`"sys_err":0},"rm_plus_base":{"type":1,"dof":1,"force":true,"hv":"V1.27"}`),
			func(t *testing.T, u *Update) {
				require.True(t, u.Gripper.Online)
				require.Equal(t, []float64{250}, u.Gripper.Positions)
				require.Equal(t, []float64{1.5}, u.Gripper.Forces)
				require.Equal(t, "closing", GripperMode(u.Gripper.Mode))
			},
		},
		"a gripper with one position": {more(`"rm_plus_state":{"pos":250,"sys_err":3}`), func(t *testing.T, u *Update) {
			require.Equal(t, []float64{250}, u.Gripper.Positions)
			require.Equal(t, "error 3", u.Gripper.Fault)
		}},
		"an offline device": {more(`"rm_plus_state":"offline","rm_plus_base":"offline"`),
			func(t *testing.T, u *Update) {
				require.Nil(t, u.Gripper)
				require.Zero(t, u.has&fieldGripper, "the gripper is still queried")
			}},
		"words": {more(`"rm_plus_state":"disable","hand":"offline","lift_state":0,"aloha_state":null,` +
			`"six_force_sensor":[]`),
			func(t *testing.T, u *Update) {
				require.NotNil(t, u.Joints, "the other fields are decoded")
				require.Nil(t, u.Lift)
			}},
		"a hand": {more(`"hand":{"hand_pos":[1,2,3,4,5,6],"hand_force":[1000,0,0,0,0,0],"hand_err":1}`),
			func(t *testing.T, u *Update) {
				require.Equal(t, []float64{1, 2, 3, 4, 5, 6}, u.Gripper.Positions)
				require.Equal(t, []float64{1, 0, 0, 0, 0, 0}, u.Gripper.Forces)
				require.Equal(t, "error 1", u.Gripper.Fault)
			}},
		"a hand, called otherwise": {more(`"hand":{"pos":[1,2,3,4,5,6]}`),
			func(t *testing.T, u *Update) { require.Equal(t, []float64{1, 2, 3, 4, 5, 6}, u.Gripper.Positions) }},
	} {
		t.Run(name, func(t *testing.T) {
			u, err := newDecoder().decode([]byte(test.packet))
			require.NoError(t, err)
			test.check(t, u)
		})
	}
}

// The packets of the documentation. Its angles and quaternions do not agree.
func TestDocumentedPackets(t *testing.T) {
	for _, packet := range []string{
		`{"aloha_state":{"io1_state":0,"io2_state":0},"arm_current_status":"idle","arm_err":0,` +
			`"joint_status":{"joint_current":[43000,2085000,1020000,1000,257000,-57000,1000],"joint_en_flag":[1,1,1,` +
			`1,1,1,1],"joint_err_code":[0,0,0,0,0,0,0],"joint_position":[13434,-69764,2926,-4742,-45721,-223,-223],` +
			`"joint_temperature":[33000,35000,37000,36000,37000,39000,37000],"joint_voltage":[22000,22000,22000,` +
			`22000,22000,22000,22000]},"six_force_sensor":{"force":[-13000,3799,-22393,-216,-408,481],` +
			`"zero_force":[17476,10415,30827,5,2,2],"coordinate":1},"state":"realtime_arm_joint_state","sys_err":0,` +
			`"waypoint":{"euler":[2935,2935,2935],"position":[578568,127709,345856],"quat":[-23405,824245,106348,` +
			`555663]}}`,
		`{"rm_plus_state":{"angle":[0,0,0,0,0,0],"current":[0,0,0,0,0,0],"dof_err":[0,0,0,0,0,0],"dof_state":[0,0,0,` +
			`0,0,0],"normal_force":[65535,65535,65535,65535,65535,65535,65535,65535,65535,65535,65535,65535,65535],` +
			`"pos":[0,0,0,0,0,0],"speed":[0,0,0,0,0,0],"sys_state":0,"sys_err":0,"tma":[4294967295,4294967295,` +
			`4294967295]},"rm_plus_base":{"angle_low":[0,0,0,0,0,0],"angle_up":[5500,7000,7000,7000,7000,9000],` +
			`"bee":0,"bv":1286,"check":0,"dof":6,"force":false,"force_low":[0,0,0,0,0,0],"hand":1,"hv":256,"id":1,` +
			`"manu":"QN","type":2},"aloha_state":{"io1_state":0,"io2_state":0},"arm_current_status":"idle","err":0,` +
			`"joint_status":{"joint_current":[43000,2085000,1020000,1000,257000,-57000],"joint_en_flag":[1,1,1,1,1,` +
			`1],"joint_err_code":[0,0,0,0,0,0],"joint_position":[13434,-69764,2926,-4742,-45721,-223],` +
			`"joint_temperature":[33000,35000,37000,36000,37000,39000],"joint_voltage":[22000,22000,22000,22000,` +
			`22000,22000]},"state":"realtime_arm_joint_state","waypoint":{"euler":[2935,2935,2935],` +
			`"position":[578568,127709,345856],"quat":[-23405,824245,106348,555663]}}`,
	} {
		u, err := newDecoder().decode([]byte(packet))
		require.NoError(t, err)
		require.InDelta(t, 13.434*math.Pi/180, u.Joints[0], 1e-12)
		require.InDelta(t, 2.085, u.Currents[1], 1e-12)
		require.InDelta(t, -0.023405, u.Pose.Quaternion[3], 1e-5)
		require.Equal(t, "idle", u.Motion)
		require.Equal(t, &Handle{}, u.Handle)
	}
}

func TestSpeeds(t *testing.T) {
	for unit, want := range map[float64]float64{CentidegreesPerSecond: math.Pi / 18000,
		CentiRPM:    0.01 * 2 * math.Pi / 60,
		FiftiethRPM: 0.02 * 2 * math.Pi / 60} {
		u, err := (&decoder{speed: unit}).decode([]byte(pushed))
		require.NoError(t, err)
		require.InDelta(t, want, u.Speeds[5], 1e-15)
	}
}

func TestReplies(t *testing.T) {
	for name, test := range map[string]struct {
		reply string
		check func(*testing.T, *Update)
	}{
		"state of the second generation": {
			`{"state":"current_arm_state","arm_state":{"joint":[100,200,300,400,500,600],"pose":[100000,200000,30000,` +
				`400,500,600],"arm_err":0,"sys_err":0}}`,
			func(t *testing.T, u *Update) {
				near(t, degrees(0.1, 0.2, 0.3, 0.4, 0.5, 0.6), u.Joints, "joints")
				near(t, []float64{0.1, 0.2, 0.03}, u.Pose.Position[:], "position")
				require.Equal(t, quaternion(0.4, 0.5, 0.6), u.Pose.Quaternion)
				require.Equal(t, []int{}, u.Errors)
				require.Equal(t, fieldJoints|fieldPose|fieldErrors, u.has)
			},
		},
		"state of newer software": {
			`{"arm_state":{"err":[0],"joint":[107149,-84991,112484,-130772,64784,85805],"pose":[150269,-219514,` +
				`597973,782,409,1043]},"state":"current_arm_state"}`,
			func(t *testing.T, u *Update) {
				require.InDelta(t, 107.149*math.Pi/180, u.Joints[0], 1e-12)
				require.InDelta(t, -0.219514, u.Pose.Position[1], 1e-12)
				require.Equal(t, []int{}, u.Errors)
			},
		},
		"state of an arm with seven joints": {
			`{"state":"current_arm_state","arm_state":{"joint":[100,200,300,400,500,600,700],"pose":[100000,200000,` +
				`30000,400,500,600],"err":{"err_len":1,"err_code":[4110]}}}`,
			func(t *testing.T, u *Update) {
				require.Len(t, u.Joints, 7)
				require.Equal(t, []int{0x100E}, u.Errors)
			},
		},
		"joints": {`{"state":"joint_degree","joint":[10,20,30,40,50,60]}`, func(t *testing.T, u *Update) {
			near(t, degrees(0.01, 0.02, 0.03, 0.04, 0.05, 0.06), u.Joints, "joints")
		}},
		"enabled": {`{"state":"joint_en_state","en_state":[1,1,1,1,1,0]}`, func(t *testing.T, u *Update) {
			require.Equal(t, []bool{true, true, true, true, true, false}, u.Enabled)
		}},
		"errors": {`{"state":"joint_err_flag","err_flag":[0,0,0,0,0,61440],"brake_state":[0,0,0,0,0,1]}`,
			func(t *testing.T, u *Update) { require.Equal(t, []int{0, 0, 0, 0, 0, 0xF000}, u.JointErrors) }},
		"heat": {`{"state":"current_joint_temperature","joint_temperature":[27500,28000,26800,26800,28900,30100]}`,
			func(t *testing.T, u *Update) {
				near(t, []float64{27.5, 28, 26.8, 26.8, 28.9, 30.1}, u.Temperatures, "temperatures")
			}},
		"currents": {`{"state":"current_joint_current","joint_current":[65,-200,170,200,-300,168,178]}`,
			func(t *testing.T, u *Update) {
				near(t, []float64{65e-6, -200e-6, 170e-6, 200e-6, -300e-6, 168e-6, 178e-6}, u.Currents, "currents")
			}},
		"voltages": {`{"state":"current_joint_voltage","joint_voltage":[27500,28000,26800,26800,28900,30100]}`,
			func(t *testing.T, u *Update) {
				near(t, []float64{27.5, 28, 26.8, 26.8, 28.9, 30.1}, u.Voltages, "voltages")
			}},
		"controller": {`{"state":"controller_state","voltage":24000,"current":1500,"temperature":42000,"err_flag":0}`,
			func(t *testing.T, u *Update) {
				require.Equal(t, &Controller{Voltage: 24, Current: 1.5, Temperature: 42}, u.Controller)
			}},
		"gripper": {
			`{"command":"get_gripper_state","enable":1,"status":1,"error":5,"mode":6,"current_force":100,` +
				`"temperature":40,"actpos":150}`,
			func(t *testing.T, u *Update) {
				require.Equal(t, &Gripper{Online: true, Positions: []float64{150}, Forces: u.Gripper.Forces, Mode: 6,
					Fault: "blocked, current too high"}, u.Gripper)
				near(t, []float64{0.980665}, u.Gripper.Forces, "forces")
			},
		},
		"no gripper": {`{"command":"get_gripper_state","enable":0,"status":0,"error":0,"mode":0,"current_force":0,` +
			`"temperature":0,"actpos":0}`, func(t *testing.T, u *Update) { require.False(t, u.Gripper.Online) }},
		"six forces": {`{"command":"get_force_data","force_data":[1000,2000,3000,400,500,600],"zero_force_data":[500,` +
			`1000,1500,200,250,300],"work_zero_force_data":[0,0,0,0,0,0]}`, func(t *testing.T, u *Update) {
			near(t, []float64{0.5, 1, 1.5, 0.2, 0.25, 0.3}, u.Force.External[:], "external")
			require.Equal(t, SensorFrame, u.Force.Frame)
		}},
		"software": {`{"Product_version":"RM65-BI","algorithm_info":{"version":"1.2.3"},` +
			`"command":"arm_software_info","ctrl_info":{"build_time":"2023/12/13 20:58:10","version":"V1.4.6"}}`,
			func(t *testing.T, u *Update) { require.Equal(t, "RM65-BI V1.4.6", u.Model) }},
		"software, before": {`{"state":"arm_software_version","Ctrl_version":7014147,"Product_version":"RM65-BI"}`,
			func(t *testing.T, u *Update) { require.Equal(t, "RM65-BI", u.Model) }},
		"push is set": {`{"command":"set_realtime_push","state":true}`,
			func(t *testing.T, u *Update) { require.True(t, *u.PushSet) }},
		"push is not set": {`{"command":"set_realtime_push","state":false}`,
			func(t *testing.T, u *Update) { require.False(t, *u.PushSet); require.False(t, u.Refused) }},
		"refused": {`{"command":"get_gripper_state","state":false}`,
			func(t *testing.T, u *Update) { require.True(t, u.Refused) }},
		"refused, get_state": {`{"command":"get_force_data","get_state":false}`,
			func(t *testing.T, u *Update) { require.True(t, u.Refused) }},
		"reply to another client": {`{"command":"movej","receive_state":true}`,
			func(t *testing.T, u *Update) { require.Zero(t, u.has); require.Equal(t, "movej", u.Name) }},
		"at the end of a path": {`{"state":"current_trajectory_state","trajectory_state":true,"device":1}`,
			func(t *testing.T, u *Update) { require.Zero(t, u.has) }},
	} {
		t.Run(name, func(t *testing.T) {
			u, err := newDecoder().decode([]byte(test.reply))
			require.NoError(t, err)
			require.NotEmpty(t, u.Name)
			test.check(t, u)
		})
	}
}

func TestBadObjects(t *testing.T) {
	six := func(joint string) string { return `{"state":"joint_degree","joint":` + joint + `}` }
	for want, text := range map[string]string{
		`there is neither a state nor a command: "{}"`:                                   `{}`,
		`there is neither a state nor a command: "{\"state\":null}"`:                     `{"state":null}`,
		`invalid character '}' looking for beginning of object key string: "{\"a\":1,}"`: `{"a":1,}`,
		`"joint_degree": joint has 5 numbers, want 6 to 7`:                               six(`[1,2,3,4,5]`),
		`"joint_degree": joint has 8 numbers, want 6 to 7`:                               six(`[1,2,3,4,5,6,7,8]`),
		`"joint_degree": joint has more than 24 numbers`: six(`[` + strings.Repeat("1,",
			30) + `1]`),
		`"joint_degree": joint has 1 number, want 6 to 7`:  six(`5`),
		`"joint_degree": joint has "\"a\"", want a number`: six(`["a",2,3,4,5,6]`),
		`"joint_degree": joint has "null", want a number`:  six(`[null,2,3,4,5,6]`),
		`"joint_degree": joint has "\"NaN\"", want a finite ` +
			`number`: six(`["NaN",2,3,4,5,6]`),
		`"joint_degree": joint has "1e999", want a finite ` +
			`number`: six(`[1e999,2,3,4,5,6]`),
		`"joint_degree": joint has 9e+12, which is implausible`: six(`[9000000000000,` +
			`2,3,4,5,6]`),
		`"joint_degree": joint is a list of lists or objects, want numbers: "[[1],2,3,4,5,6]"`: six(`[[1],2,3,4,5,6]`),
		`"joint_degree": joint is "{\"a\":1}", want numbers`:                                   six(`{"a":1}`),
		`"joint_degree": joint is "{\"x\":[1,2]}", want one number for each coordinate`:        six(`{"x":[1,2]}`),
		`"current_arm_state": arm_state.joint is missing`:                                      `{"state":"current_arm_state"}`,
		`current_arm_state": arm_state.joint is missing`:                                       `{"state":"current_arm_state","arm_state":5}`,
		`"current_arm_state": arm_state.pose is missing`:                                       `{"state":"current_arm_state","arm_state":{"joint":[1,2,3,4,5,6]}}`,
		`"current_arm_state": arm_state.pose has 5 numbers, want 6`:                            `{"state":"current_arm_state","arm_state":{"joint":[1,2,3,4,5,6],"pose":[1,2,3,4,5]}}`,
		`"current_arm_state": arm_state.pose has 1e+09, which is implausible`:                  `{"state":"current_arm_state","arm_state":{"joint":[1,2,3,4,5,6],"pose":[1000000000,2,3,4,5,6]}}`,
		`"realtime_arm_joint_state": joint_status.joint_position is missing`:                   `{"state":"realtime_arm_joint_state"}`,
		`"realtime_arm_joint_state": joint_status.joint_current has 5 numbers, want 6`: with(`[-79000,0,`,
			`[-79000,`),
		`"realtime_arm_joint_state": joint_status.joint_err_code has 0.5, want a whole number`: with(`0,9]`, `0.5,9]`),
		`"realtime_arm_joint_state": waypoint.quat has the length 0.0001, want 1`:              with(`[316706,-328490,-90433,885218]`, `[100,0,0,0]`),
		`"realtime_arm_joint_state": waypoint.quat has 3 numbers, want 4`:                      with(`[316706,`, `[`),
		`"realtime_arm_joint_state": waypoint.quat is missing`:                                 with(`"euler":[-447,551,2325],"position":[-86608,11750,820234],"quat":[316706,-328490,-90433,885218]`, `"position":[1,2,3]`),
		`"realtime_arm_joint_state": err is "{\"a\":1}", want codes`: with(`"err":[0]`,
			`"err":{"a":1}`),
		`"realtime_arm_joint_state": err has an err_len that does not match its 1 codes`: with(`"err":[0]`,
			`"err":{"err_len":2,"err_code":[1]}`),
		`"realtime_arm_joint_state": arm_err has 1e+20, which is implausible`: with(`"err":[0]`,
			`"arm_err":1e20`),
		`"realtime_arm_joint_state": rm_plus_state.pos has "\"x\"", want a number`:  more(`"rm_plus_state":{"pos":["x"]}`),
		`"realtime_arm_joint_state": six_force_sensor.force has 3 numbers, want 6`:  more(`"six_force_sensor":{"force":[1,2,3],"zero_force":[1,2,3,4,5,6]}`),
		`"realtime_arm_joint_state": six_force_sensor.zero_force is missing`:        more(`"six_force_sensor":{"force":[1,2,3,4,5,6]}`),
		`"realtime_arm_joint_state": six_force_sensor.coordinate is 7, want 0 to 2`: more(`"six_force_sensor":{"force":[1,2,3,4,5,6],"zero_force":[1,2,3,4,5,6],"coordinate":7}`),
		`"get_gripper_state": actpos is missing`:                                    `{"command":"get_gripper_state"}`,
		`"get_gripper_state": actpos has 1e+07, which is implausible`:               `{"command":"get_gripper_state","actpos":10000000}`,
		`"controller_state": voltage is missing`:                                    `{"state":"controller_state"}`,
	} {
		d := newDecoder()
		_, err := d.decode([]byte(text))
		require.ErrorContains(t, err, want, text)
		_, err = d.decode([]byte(pushed))
		require.NoError(t, err, "after %s", text)
	}
}

func TestNumberOfJoints(t *testing.T) {
	d := &decoder{joints: 7}
	_, err := d.decode([]byte(pushed))
	require.EqualError(t, err, `"realtime_arm_joint_state": joint_status.joint_position has 6 numbers, want 7`)
}

func TestDescriptions(t *testing.T) {
	require.Equal(t, "it collided", SystemError(0x100D))
	require.Equal(t, "unknown error", SystemError(0x1FFF))
	require.Empty(t, JointError(0))
	require.Equal(t, "motor control failed, too hot", JointError(9))
	require.Equal(t, "communication failed", JointError(0xF000))
	require.Equal(t, "turns were lost, error 0x10000", JointError(0x18000))
	require.Equal(t, "error -1", JointError(-1))
	require.Equal(t, "stopped by force", GripperMode(6))
	require.Equal(t, "mode 9", GripperMode(9))
}

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		pushed, more(`"rm_plus_state":{"pos":[1]},"rm_plus_base":{"dof":1},"hand":{"pos":[1]},"six_force_sensor":{"force":[1,2,3,4,5,6],"zero_force":[1,2,3,4,5,6],"coordinate":1}`),
		`{"arm_state":{"err":{"err_len":1,"err_code":[1]},"joint":[107149,-84991,112484,-130772,64784,85805],"pose":[150269,-219514,597973,782,409,1043]},"state":"current_arm_state"}`,
		`{"command":"get_gripper_state","enable":1,"status":1,"error":5,"mode":6,"current_force":100,"temperature":40,"actpos":150}`,
		`{"command":"get_force_data","force_data":[1000,2000,3000,400,500,600],"zero_force_data":[500,1000,1500,200,250,300]}`,
		`{"current":2554,"err_flag":"0","height":730,"state":"lift_state"}`,
		`{"command":"set_realtime_push","state":true}` + "\r\n{",
	} {
		f.Add([]byte(seed))
	}
	d := newDecoder()
	f.Fuzz(func(t *testing.T, data []byte) {
		s := splitter{bad: func(err error) { require.NotEmpty(t, err.Error()) }}
		s.object = func(object []byte) {
			u, err := d.decode(object)
			if err != nil {
				require.Less(t, len(err.Error()), 500)
				return
			}
			require.NotEmpty(t, u.Name)
			for _, list := range [][]float64{u.Joints, u.Speeds, u.Currents, u.Voltages, u.Temperatures} {
				require.True(t, list == nil || len(list) == 6 || len(list) == 7)
				for _, x := range list {
					require.False(t, math.IsNaN(x) || math.Abs(x) > 1e4, fmt.Sprint(x))
				}
			}
			if u.Pose != nil {
				q := u.Pose.Quaternion
				require.InDelta(t, 1, q[0]*q[0]+q[1]*q[1]+q[2]*q[2]+q[3]*q[3], 1e-9)
			}
		}
		s.add(data)
		require.LessOrEqual(t, len(s.buf), maxObject)
	})
}

func BenchmarkDecode(b *testing.B) {
	d := newDecoder()
	data := []byte(pushed)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := d.decode(data); err != nil {
			b.Fatal(err)
		}
	}
}
