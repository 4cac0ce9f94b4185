package report

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A drive of two minutes on a bent road, with all kinds of data.
const length = 120.0

var start = time.Date(2026, 5, 4, 9, 30, 15, 250_000_000, time.UTC)

func richDrive(t *testing.T) *Data {
	d := &Data{
		Name: "drive_2026_05_04", Format: "rosbag2 (mcap)", Size: 4_812_345_678, Files: 3,
		Start: start, Duration: length,
		Verdict: []string{
			"/camera/front/image/compressed is silent for 4.2 s at 61 s",
			"120 messages of /lidar/top/points were dropped by the recorder",
		},
		Metadata: map[string]string{"vehicle": "shuttle 7", "route": "depot – harbour", "parameters": "a: 1\nb: 2"},
		Omitted:  []string{"/radar/raw: its type radar_msgs/msg/Raw is not in the recording"},
		Events: []Event{
			{Kind: "drop", Topic: "/lidar/top/points", From: 30, Until: 34, Count: 120, Text: "the queue was full"},
			{Kind: "gap", Topic: "/camera/front/image/compressed", From: 61, Until: 65.2},
			{Kind: "lost", Topic: "/imu/data", From: 92, Until: 92, Count: 3},
			{Kind: "split", From: 40, Until: 40, Text: "drive_1.mcap"},
			{Kind: "split", From: 80, Until: 80, Text: "drive_2.mcap"},
			{Kind: "pause", From: 100, Until: 104, Text: "on request"},
			{Kind: "snapshot", From: 47, Until: 47, Text: "hard braking"},
			{Kind: "check", Topic: "/odom", From: 70, Until: 70, Text: "x is NaN"},
		},
	}
	for _, topic := range []struct {
		name, kind string
		rate, size float64
	}{
		{"/camera/front/image/compressed", "sensor_msgs/msg/CompressedImage", 20, 120_000},
		{"/camera/rear/image/compressed", "sensor_msgs/msg/CompressedImage", 10, 90_000},
		{"/lidar/top/points", "sensor_msgs/msg/PointCloud2", 10, 1_900_000},
		{"/imu/data", "sensor_msgs/msg/Imu", 200, 324}, {"/odom", "nav_msgs/msg/Odometry", 50, 712},
		{"/gps/fix", "sensor_msgs/msg/NavSatFix", 5, 128}, {"/tf", "tf2_msgs/msg/TFMessage", 100, 230},
		{"/tf_static", "tf2_msgs/msg/TFMessage", 0.02, 2100}, {"/joint_states", "sensor_msgs/msg/JointState", 50, 410},
		{"/battery_state", "sensor_msgs/msg/BatteryState", 1, 180},
		{"/diagnostics", "diagnostic_msgs/msg/DiagnosticArray", 1, 5200},
		{"/rosout", "rcl_interfaces/msg/Log", 0.7, 210},
		{"/perception/objects", "vision_msgs/msg/Detection3DArray", 10, 3800},
		{"/planning/trajectory", "nav_msgs/msg/Path", 5, 20_400}, {"/cmd_vel", "geometry_msgs/msg/Twist", 20, 48},
	} {
		n := uint64(topic.rate * length)
		row := Topic{Name: topic.name, Type: topic.kind, QoS: "reliable, volatile, keep last 10", Messages: n,
			Rate:  topic.rate,
			Bytes: n * uint64(topic.size), Gap: 1.4 / topic.rate, Density: make([]float32, Bins)}
		for i := range n {
			at := (float64(i) + 0.3*math.Sin(float64(i)*12.9898)) / topic.rate
			silent := row.Name == "/camera/front/image/compressed" && at > 61 && at < 65.2 || at > 100 && at < 104
			if at >= 0 && at < length && !silent && !(row.Name == "/perception/objects" && at < 18) {
				row.Density[int(at/length*Bins)] += float32(Bins / length)
			}
		}
		d.Messages += n
		d.Topics = append(d.Topics, row)
	}
	d.Topics[0].Gap, d.Topics[0].Gaps = 4.2, [][2]float64{{61, 65.2}}
	d.Topics[2].Dropped, d.Topics[3].Lost = 120, 3
	for i := range 6 {
		d.Topics[i].Latency = &[2]float64{0.0004 * float64(int(1)<<i), 0.003 * float64(int(1)<<i)}
	}

	d.Cameras = []Camera{
		roadCamera(t, "/camera/front/image/compressed", 0, length, 80, 210),
		roadCamera(t, "/camera/rear/image/compressed", 0, length, 60, 30),
	}
	d.Cameras[0].Thumbs[10].JPEG = nil
	curve := func(topic, path, unit string, f func(s float64) (float64, float64)) {
		s := Signal{Topic: topic, Path: path, Unit: unit, Group: topic + path[:strings.LastIndex(path, ".")+1]}
		for i := range Bins {
			low, high := f(float64(i) / Bins * length)
			s.Low, s.High = append(s.Low, float32(low)), append(s.High, float32(high))
		}
		d.Signals = append(d.Signals, s)
		d.Fields = append(d.Fields, Field{Topic: topic, Path: path, Drawn: true})
	}
	wave := func(a, period, phase, noise float64) func(float64) (float64, float64) {
		return func(s float64) (float64, float64) {
			v, n := a*math.Sin(s/period+phase), noise*(1.1+math.Sin(s*37)*math.Sin(s*11))
			return v - n, v + n
		}
	}
	curve("/imu/data", "linear_acceleration.x", "m/s²", wave(1.2, 4, 0, 0.25))
	curve("/imu/data", "linear_acceleration.y", "m/s²", wave(0.8, 7, 1, 0.2))
	curve("/imu/data", "linear_acceleration.z", "m/s²", func(s float64) (float64, float64) {
		_, n := wave(0, 1, 0, 0.3)(s)
		return 9.81 - n, 9.81 + n
	})
	curve("/imu/data", "angular_velocity.z", "rad/s", wave(0.3, 7, 1, 0.02))
	curve("/odom", "twist.twist.linear.x", "m/s", func(s float64) (float64, float64) { v := speed(s); return v, v })
	curve("/battery_state", "voltage", "V", func(s float64) (float64, float64) { // 1 Hz
		if int(s/length*Bins)%17 != 0 {
			return math.NaN(), math.NaN()
		}
		return 48.2 - s/100, 48.2 - s/100
	})
	for i := range 9 {
		curve("/joint_states", fmt.Sprintf("position[%d].", i)[:11], "rad",
			wave(0.3+0.1*float64(i), 3+float64(i), float64(i), 0))
		d.Signals[len(d.Signals)-1].Group = "/joint_states position"
	}
	for i := range 40 {
		d.Fields = append(d.Fields, Field{Topic: "/odom", Path: fmt.Sprintf("pose.covariance[%d]", i)})
	}

	odometry := Track{Topic: "/odom", Frame: "map", Origin: &[2]float64{48.1351, 11.5820}}
	fixes := Track{Topic: "/gps/fix", Frame: "map", Origin: odometry.Origin}
	x, y, heading := 0.0, 0.0, 0.3
	for i := range 1200 {
		s := float64(i) / 10
		heading += 0.012*math.Sin(s/9) + 0.004
		x, y = x+0.1*speed(s)*math.Cos(heading), y+0.1*speed(s)*math.Sin(heading)
		odometry.Points = append(odometry.Points, [4]Number{Number(s), Number(x), Number(y), 519})
		odometry.Speed = append(odometry.Speed, float32(speed(s)))
		if i%5 == 0 {
			fixes.Points = append(fixes.Points,
				[4]Number{Number(s), Number(x + 4*math.Sin(s)), Number(y + 5 + 2*math.Cos(s*3)), 520})
			fixes.Speed = append(fixes.Speed, float32(speed(s)))
		}
	}
	d.Tracks = []Track{odometry, fixes}
	for i := range 6 {
		d.Clouds = append(d.Clouds, streetCloud(float64(i)*20+5, float64(i)))
	}
	d.LogLines = []LogLine{
		{At: 18.2, Level: "warn", From: "/perception", Text: "model loaded late: 17.9 s"},
		{At: 31, Level: "error", From: "/recorder", Text: "queue full: messages of /lidar/top/points are dropped"},
		{At: 61.4, Level: "error", From: "/camera_front", Text: "no frame for 400 ms\nreconnecting"},
		{At: 65.3, Level: "info", From: "/camera_front", Text: "reconnected"},
		{At: 88, Level: "warn", From: "battery: cell 3", Text: "temperature 52 °C"},
	}
	d.Parameters = []Parameter{{"/planner", "max_speed", "12.5", 1, 44}, {"/planner", "frame", `"map"`, 0, 0},
		{"/camera_front", "exposure", "8000", 3, 66}}
	return d
}

func speed(s float64) float64 { return math.Max(0, 7+5*math.Sin(s/14)-3*math.Cos(s/5)) }

// roadCamera returns n pictures of a road.
func roadCamera(t *testing.T, topic string, from, until float64, n int, hue uint8) Camera {
	c := Camera{Topic: topic, Width: 1920, Height: 1200, Kind: "jpeg"}
	for i := range n {
		m := image.NewRGBA(image.Rect(0, 0, 160, 100))
		part := float64(i) / float64(n)
		for y := range 100 {
			for x := range 160 {
				p := color.RGBA{hue / 2, 90 + uint8(y), 255 - hue/3 - uint8(y), 255} // sky
				if y > 45 {
					p = color.RGBA{70, 110 - uint8(y)/2, 60, 255}
					middle := 80 + 30*math.Sin(part*9)*float64(100-y)/55
					if math.Abs(float64(x)-middle) < float64(y-44) {
						p = color.RGBA{95, 95, 100, 255}
					}
				}
				m.SetRGBA(x, y, p)
			}
		}
		var b bytes.Buffer
		require.NoError(t, jpeg.Encode(&b, m, &jpeg.Options{Quality: 60}))
		c.Thumbs = append(c.Thumbs, Thumb{At: from + (until-from)*part, JPEG: b.Bytes()})
	}
	return c
}

// streetCloud returns a street with walls and cars.
func streetCloud(at, phase float64) Cloud {
	c := Cloud{Topic: "/lidar/top/points", At: at, Points: 131_072, Scale: 0.005, Boxes: [][7]int{
		{2000, 700, -200, 900, 380, 320, 100}, {-1600, -640, -220, 860, 360, 300, 3100},
		{3600, -500, -120, 240, 220, 500, 700},
	}}
	point := func(x, y, z float64) {
		for _, v := range []float64{x, y, z} {
			c.XYZ = binary.LittleEndian.AppendUint16(c.XYZ, uint16(int16(v/c.Scale)))
		}
		c.Shade = append(c.Shade, uint8(120+100*math.Sin(x)*math.Cos(y)))
	}
	for ring := range 16 {
		for k := range 200 {
			a, r := float64(k)/200*2*math.Pi, 4+float64(ring*ring)*0.16
			x, y := r*math.Cos(a), r*math.Sin(a)
			if wall := 12 + math.Sin(x/6+phase); math.Abs(y) > wall {
				x, y = x*wall/math.Abs(y), math.Copysign(wall, y)
				point(x, y, -1.8+float64(ring)*0.45)
				continue
			}
			point(x, y, -1.8+0.05*math.Sin(x+phase))
		}
	}
	for _, b := range c.Boxes {
		for k := range 120 {
			u, v := float64(k%12)/12-0.5, float64(k/12)/10-0.5
			point((float64(b[0])+u*float64(b[3]))*c.Scale, (float64(b[1])+float64(b[4])/2)*c.Scale,
				(float64(b[2])+v*float64(b[5]))*c.Scale)
		}
	}
	return c
}

// armSession returns a data set of an arm's episodes.
func armSession(t *testing.T) *Data {
	d := &Data{Name: "fold_towel", Format: "session", Size: 320_000_000, Files: 9, Start: start, Duration: 90,
		Messages: 27_000, Good: true,
		Verdict: []string{"All 3 episodes can be trained on."}}
	for i := range 3 {
		from := float64(i) * 30
		e := Episode{Name: fmt.Sprintf("episode_%d", i), Task: "fold the towel", From: from, Until: from + 25,
			Good: i != 1,
			Rows: 700, Points: 750,
			Verdict: []string{"all rows are aligned"}}
		if i < 2 {
			e.Success = new(bool)
			*e.Success = i == 0
		}
		if i == 1 {
			e.Verdict = []string{"50 of 750 rows lack the wrist camera", "the gripper was silent for 1.2 s"}
			e.Dropped = [][2]float64{{from + 10, from + 11.6}}
		}
		e.Cameras = []Camera{roadCamera(t, "camera_top", from, from+25, 20, 90),
			roadCamera(t, "camera_wrist", from, from+25, 20, 160)}
		for _, name := range []string{"left arm", "gripper"} {
			panel := Panel{Name: name, Unit: "rad", Gaps: [][2]float64{{from + 20, from + 21}}}
			for j := range 3 {
				for _, kind := range []string{"state", "command"} {
					c := Column{Name: fmt.Sprintf("joint %d, %s", j, kind)}
					for k := range 400 {
						v := math.Sin(float64(k)/40+float64(j)) * float64(j+1) / 2
						if kind == "command" {
							v = math.Sin(float64(k+6)/40+float64(j)) * float64(j+1) / 2
						}
						c.Low, c.High = append(c.Low, float32(v)), append(c.High, float32(v))
					}
					panel.Columns = append(panel.Columns, c)
				}
			}
			e.Panels = append(e.Panels, panel)
		}
		d.Episodes = append(d.Episodes, e)
	}
	return d
}
