package hardware

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"
	"image/png"
	"math"
	"net"
	"sync"
	"time"

	"github.com/bluenviron/gomavlib/v3/pkg/dialect"
	"github.com/bluenviron/gomavlib/v3/pkg/dialects/ardupilotmega"
	"github.com/bluenviron/gomavlib/v3/pkg/frame"
	"github.com/bluenviron/gomavlib/v3/pkg/streamwriter"
	"github.com/stretchr/testify/require"

	"tapedeck/bridge/device/realman/realmantest"
)

// pictures is the number of different images of a camera.
const pictures = 20

// picture returns image i of a camera.
func picture(i int) image.Image {
	p := image.NewRGBA(image.Rect(0, 0, 16, 8))
	for x := range 16 {
		for y := range 8 {
			p.Set(x, y, color.RGBA{uint8(12 * i), uint8(8 * x), uint8(8 * y), 255})
		}
	}
	return p
}

// jpeg returns picture i as JPEG.
func (g *graph) jpeg(i int) []byte {
	var b bytes.Buffer
	require.NoError(g.t, jpeg.Encode(&b, picture(i), nil))
	return b.Bytes()
}

// png returns picture i as PNG.
func (g *graph) png(i int) []byte {
	var b bytes.Buffer
	require.NoError(g.t, png.Encode(&b, picture(i)))
	return b.Bytes()
}

// cameras writes the images of three cameras: a folder of JPEGs, a file of JPEGs, and a folder of PNGs.
func (g *graph) cameras() {
	var all bytes.Buffer
	for i := range pictures {
		g.write(fmt.Sprintf("jpegs/%d.jpg", i), string(g.jpeg(i)))
		g.write(fmt.Sprintf("pngs/%d.png", i), string(g.png(i)))
		all.Write(g.jpeg(i))
	}
	g.write("film.mjpeg", all.String())
}

func pixelsOf(p image.Image) []byte {
	all := image.NewRGBA(p.Bounds())
	draw.Draw(all, all.Bounds(), p, p.Bounds().Min, draw.Src)
	return all.Pix
}

// arm is a simulated arm. Its posture changes with each request and contains the number of the request.
type arm struct {
	realmantest.Arm
	joints int

	mu   sync.Mutex
	seen int
}

// startArm starts an arm on a loopback address.
func (g *graph) startArm(host string, generation, joints int) *arm {
	a := &arm{joints: joints}
	a.Generation, a.Pose = generation, a.next
	require.NoError(g.t, a.Start(host+":0"))
	g.t.Cleanup(a.Close)
	return a
}

func (a *arm) next(time.Duration) realmantest.Posture {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.seen++
	return a.posture(a.seen)
}

// stepOfJoint is the step of the first joint between postures, in 0.001°.
const stepOfJoint = 10

// posture returns posture n.
func (a *arm) posture(n int) realmantest.Posture {
	p := realmantest.Still
	p.Joints, p.Speeds = make([]int, a.joints), make([]int, a.joints)
	for i := range p.Joints {
		p.Joints[i] = (i + 1) * stepOfJoint * n
	}
	p.Position[0] = 10 * n
	p.Gripper = n % 1001
	return p
}

// hardware writes hardware.yaml for nodes of a namespace and the images of the cameras. It starts the vehicle, an arm
// that is polled and an arm that pushes.
func (g *graph) hardware(namespace string) []*arm {
	g.cameras()
	arms := []*arm{g.startArm("127.0.0.1", 2, 6), g.startArm("127.0.0.2", 4, 7)}
	g.write("hardware.yaml", fmt.Sprintf(`
%s:
 camera_publisher:
   ros__parameters:
     reliable: true
     loop: true
     rate: 50.0
     cameras:
       camera_0: {device: jpegs, model: Wrist}
       camera_1: {device: film.mjpeg, width: 16, height: 8, rate: 40.0}
       camera_2: {device: pngs, frame_id: overhead}
 arm_publisher:
   ros__parameters:
     arms:
       arm_0: {host: %s, port: %d, joints: 6, push: none}
       arm_1: {host: %s, port: %d, push: set, push_port: 0}
 mavlink_publisher:
   ros__parameters: {source: 'tcp://%s', reliable: true}
 recorder:
   ros__parameters:
     storage: session
     output: take
     robot: {task: pick up the cube}
`, namespace, arms[0].Host(), arms[0].Port(), arms[1].Host(), arms[1].Port(), g.startVehicle()))
	return arms
}

// headingStep is the angle by which the vehicle turns right between messages, in rad.
const headingStep = 0.001

// startVehicle starts a TCP server that sends the attitude of a turning vehicle, and returns its address.
func (g *graph) startVehicle() string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(g.t, err)
	g.t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				_ = fly(conn)
			}()
		}
	}()
	return listener.Addr().String()
}

// fly sends the messages of a flight until the connection closes.
func fly(conn net.Conn) error {
	rw := &dialect.ReadWriter{Dialect: ardupilotmega.Dialect}
	frames := &frame.Writer{ByteWriter: conn, DialectRW: rw}
	out := &streamwriter.Writer{FrameWriter: frames, Version: streamwriter.V2, SystemID: 1, ComponentID: 1}
	if err := errors.Join(rw.Initialize(), frames.Initialize(), out.Initialize()); err != nil {
		return err
	}
	for i := 0; ; i++ {
		if i%100 == 0 {
			if err := out.Write(&ardupilotmega.MessageHeartbeat{
				Type: ardupilotmega.MAV_TYPE_QUADROTOR, Autopilot: ardupilotmega.MAV_AUTOPILOT_PX4, MavlinkVersion: 3,
			}); err != nil {
				return err
			}
		}
		sin, cos := math.Sincos(headingStep * float64(i) / 2)
		m := &ardupilotmega.MessageAttitudeQuaternion{TimeBootMs: uint32(5000 + 5*i), Q1: float32(cos),
			Q4:       float32(sin),
			Yawspeed: 0.2}
		if err := out.Write(m); err != nil {
			return err
		}
		time.Sleep(5 * time.Millisecond)
	}
}
