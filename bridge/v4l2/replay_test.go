package v4l2_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"tapedeck/bridge/v4l2"
	"tapedeck/bridge/v4l2/v4l2test"
)

// replay returns a recording, which has to be at its end when the test is.
func replay(t *testing.T, name string) *v4l2test.Replay {
	recording, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(t, err)
	r, err := v4l2test.NewReplay(string(recording))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Finish()) })
	return r
}

// untilWaiting returns a context that ends when a recording waits.
func untilWaiting(t *testing.T, r *v4l2test.Replay) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	go func() {
		<-r.Waiting()
		cancel()
	}()
	return ctx
}

// picture is what a test compares of a frame.
type picture struct {
	sequence        uint32
	data            string
	stamp, received int64 // in ms
	clock           v4l2.StampClock
}

func collect(pictures *[]picture) func(*v4l2.Frame) {
	return func(f *v4l2.Frame) {
		*pictures = append(*pictures, picture{f.Sequence, string(f.Data), f.Stamp / 1e6, f.Received / 1e6, f.Clock})
	}
}

func TestReplayWebcam(t *testing.T) {
	r := replay(t, "webcam.txt")
	c, err := v4l2.Open(r, "/dev/video0")
	require.NoError(t, err)
	require.Equal(t, "HD Pro Webcam C920", c.Card())

	formats, err := c.Formats()
	require.NoError(t, err)
	require.Equal(t, []v4l2.PixelFormat{
		{FourCC: v4l2.YUYV, Description: "YUYV 4:2:2"},
		{FourCC: v4l2.H264, Description: "H.264"},
		{FourCC: v4l2.MJPG, Description: "Motion-JPEG"},
	}, formats)
	sizes, err := c.Sizes(v4l2.MJPG)
	require.NoError(t, err)
	require.Len(t, sizes, 3)
	require.Equal(t, "1280x720", sizes[1].String())
	rates, err := c.Rates(v4l2.MJPG, 1280, 720)
	require.NoError(t, err)
	require.Equal(t, []v4l2.Rates{{Min: 30, Max: 30}, {Min: 24, Max: 24}, {Min: 7.5, Max: 7.5}}, rates)
	require.Equal(t, "7.5", rates[2].String())

	format, err := c.SetFormat(v4l2.MJPG, 1280, 720)
	require.NoError(t, err)
	require.Equal(t, v4l2.Format{FourCC: v4l2.MJPG, Width: 1280, Height: 720, Size: 1843789}, format)
	rate, err := c.SetRate(30)
	require.NoError(t, err)
	require.EqualValues(t, 30, rate)
	require.NoError(t, c.Set([]v4l2.Setting{
		{Control: "exposure_time_absolute", Value: "157"},
		{Control: "auto_exposure", Value: "Manual Mode"},
		{Control: "Pan, Absolute", Value: "-7200"},
		{Control: "0x0098090c", Value: "false"},
	}))

	s, err := c.Stream(4)
	require.NoError(t, err)
	var pictures []picture
	require.ErrorIs(t, s.Run(untilWaiting(t, r), 0, collect(&pictures)), context.Canceled)
	require.Equal(t, []picture{
		{0, "\xff\xd8\xff\xda\x00\x02\x01\x02\x03\xff\xd9", 1700000000100, 1700000000141, v4l2.StartOfExposure},
		{3, "\xff\xd8\xff\xda\x00\x02\xaa\xbb", 1699996400200, 1699996400241, v4l2.StartOfExposure},
		{7, "\xff\xd8\xff\xff\xff\xd9", 1699996400333, 1699996400374, v4l2.StartOfExposure},
	}, pictures)
	stats := s.Stats()
	require.EqualValues(t, 3, stats.Frames)
	require.EqualValues(t, 1, stats.Dropped)
	require.EqualValues(t, 4, stats.Damaged)
	require.EqualValues(t, 1, stats.Errors)
	require.NoError(t, c.Close())
}

func TestReplayRealSense(t *testing.T) {
	r := replay(t, "realsense.txt")
	var pictures []picture
	var events []string
	camera := &v4l2.Camera{
		System: r, Device: "823623052810", FourCC: v4l2.YUYV, Width: 4, Height: 2, Buffers: 2, Retry: time.Millisecond,
		Frame: collect(&pictures),
		Event: func(s v4l2.Status) {
			switch {
			case s.Err != nil:
				events = append(events, s.Err.Error())
			default:
				require.Equal(t, "823623052810", s.Serial)
				events = append(events, s.Path+" "+s.Format.String()+" "+(v4l2.Rates{Min: s.Rate, Max: s.Rate}).String())
			}
		},
	}
	require.ErrorIs(t, camera.Run(untilWaiting(t, r)), context.Canceled)
	require.Equal(t, []picture{
		{3, "\x01\x02\x03\x04\x05\x06\x07\x08\xff\xff\xff\xff\x11\x12\x13\x14\x15\x16\x17\x18\xee\xee\xee\xee",
			1700000000400, 1700000000500, v4l2.StartOfExposure},
		{0, "!\"#$%&'(!\"#$%&'(", 1700000200400, 1700000200500, v4l2.EndOfFrame},
	}, pictures)
	require.Equal(t, []string{
		"/dev/video4 YUYV 4x2 30",
		"/dev/video4: get a frame from the driver: no such device; it was unplugged or its driver gave it up",
		"/dev/video9 YUYV 4x2 0",
		"/dev/video9: give buffer 2 to the driver: no such device; it was unplugged or its driver gave it up",
		"/dev/video9: open: permission denied; cameras are for the members of a group, mostly video: usermod -aG video USER and log in anew",
		"/dev/video9 YUYV 4x2 29.97",
	}, events)
	stats := camera.Stats()
	require.EqualValues(t, 2, stats.Frames)
	require.EqualValues(t, 1, stats.Damaged)
	require.EqualValues(t, 1, stats.Errors)
	require.EqualValues(t, 3, stats.Opened)
	require.Zero(t, stats.Dropped)
	require.Equal(t, 100*time.Millisecond, stats.Window.MinLatency)
	require.Equal(t, 100*time.Millisecond, stats.Window.MeanLatency)
	require.Equal(t, 100*time.Millisecond, stats.Window.MaxLatency)
}

func TestReplayPlanar(t *testing.T) {
	r := replay(t, "planar.txt")
	c, err := v4l2.Open(r, "/dev/video11")
	require.NoError(t, err)
	formats, err := c.Formats()
	require.NoError(t, err)
	require.Len(t, formats, 2)
	sizes, err := c.Sizes(v4l2.NV12)
	require.NoError(t, err)
	require.Equal(t, []v4l2.Sizes{{32, 3840, 8, 16, 2160, 2}}, sizes)
	require.Equal(t, "32x16 to 3840x2160 in steps of 8x2", sizes[0].String())
	separate, err := v4l2.ParseFourCC("NM12")
	require.NoError(t, err)
	sizes, err = c.Sizes(separate)
	require.NoError(t, err)
	require.Equal(t, "32x16 to 3840x2160", sizes[0].String())
	rates, err := c.Rates(v4l2.NV12, 32, 16)
	require.NoError(t, err)
	require.Equal(t, []v4l2.Rates{{Min: 0.5, Max: 60}}, rates)
	require.Equal(t, "0.5 to 60", rates[0].String())

	_, err = c.SetFormat(separate, 32, 16)
	require.EqualError(t, err,
		"/dev/video11: frames of NM12 32x16 are in 2 separate planes, but only one can be captured; ask for a format such as NV12, not NM12")
	format, err := c.SetFormat(v4l2.NV12, 32, 16)
	require.NoError(t, err)
	require.Equal(t, v4l2.Format{FourCC: v4l2.NV12, Width: 32, Height: 16, BytesPerLine: 64, Size: 1536}, format)
	rate, err := c.SetRate(29.97)
	require.NoError(t, err)
	require.Zero(t, rate)
	require.EqualError(t, c.Set([]v4l2.Setting{{Control: "gain", Value: "1"}}), "/dev/video11: no control gain: the camera has none")

	s, err := c.Stream(0)
	require.NoError(t, err)
	var pictures []picture
	require.EqualError(t, s.Run(t.Context(), 0, collect(&pictures)), "/dev/video11: wait for a frame: input/output error")
	require.Len(t, pictures, 1)
	require.Len(t, pictures[0].data, 1536)
	pictures[0].data = pictures[0].data[:4]
	require.Equal(t, picture{0, "\x0a\x0b\x0c\x00", 1700000000020, 1700000000050, v4l2.EndOfFrame}, pictures[0])
	require.EqualValues(t, 1, s.Stats().Damaged)
	require.NoError(t, c.Close())
}

func TestReplayOld(t *testing.T) {
	c, err := v4l2.Open(replay(t, "old.txt"), "/dev/video0")
	require.NoError(t, err)
	controls, err := c.Controls()
	require.NoError(t, err)
	require.Equal(t, []v4l2.Control{
		{ID: 0x00980900, Name: "brightness", Label: "Brightness", Type: v4l2.IntegerControl, Min: -10, Max: 10, Step: 5},
	}, controls)

	_, err = c.SetFormat(0, 600, 0)
	require.EqualError(t, err, "/dev/video0: the camera has no YU12 600x480")
	var missing *v4l2.FormatError
	require.ErrorAs(t, err, &missing)
	require.Equal(t, 600, missing.Wanted.Width)
	format, err := c.SetFormat(v4l2.YU12, 4, 2)
	require.NoError(t, err)
	require.Equal(t, v4l2.Format{FourCC: v4l2.YU12, Width: 4, Height: 2, BytesPerLine: 4, Size: 12}, format)

	_, err = c.Stream(2)
	require.EqualError(t, err, "/dev/video0: map buffer 0 of 4096 bytes: cannot allocate memory")
	s, err := c.Stream(2)
	require.NoError(t, err)
	var pictures []picture
	err = s.Run(t.Context(), time.Second, collect(&pictures))
	require.EqualError(t, err, "/dev/video0: capture: no frame came for 1s")
	data := string(make([]byte, 12))
	require.Equal(t, []picture{
		{0, data, 1700000000000, 1700000000000, v4l2.Receive},
		{0, data, 1700000000100, 1700000000100, v4l2.Receive},
		{0, data, 1700000000150, 1700000000200, v4l2.EndOfFrame},
		{0, data, 1700000090300, 1700000090300, v4l2.Receive},
	}, pictures)
	stats := s.Stats()
	require.Zero(t, stats.Dropped)
	require.EqualValues(t, 1, stats.Damaged)
	require.Equal(t, v4l2.Receive, stats.Clock)
	require.Equal(t, 50*time.Millisecond, stats.Window.MaxLatency)
	require.NoError(t, c.Close())
}

func TestOpenErrors(t *testing.T) {
	for _, test := range []struct {
		name, recording, want string
		is                    error
	}{
		{"not there", "open /dev/video0 = ENOENT", "/dev/video0: open: no such file or directory; it is not plugged in, or has another name: " +
			"ls -l /dev/v4l/by-id shows those that are", unix.ENOENT},
		{"denied", "open /dev/video0 = EACCES", "/dev/video0: open: permission denied; cameras are for the members of a group, mostly video: " +
			"usermod -aG video USER and log in anew", unix.EACCES},
		{"busy", "open /dev/video0 = EBUSY", "/dev/video0: open: device or resource busy; another program uses the camera: " +
			"fuser -v /dev/video0 tells which", unix.EBUSY},
		{"not video", "open /dev/video0\nQUERYCAP = ENOTTY\nclose", "/dev/video0 is not a video device: inappropriate ioctl for device", unix.ENOTTY},
		{"gone", "open /dev/video0\nQUERYCAP = ENODEV\nclose",
			"/dev/video0: ask what it can do: no such device; it was unplugged or its driver gave it up", unix.ENODEV},
		{"output", "open /dev/video0\nQUERYCAP = capabilities=0x84000002 device_caps=0x04000002\nclose",
			"/dev/video0 does not capture video: not a capture device; its capabilities are 0x04000002", nil},
		{"no streaming", "open /dev/video0\nQUERYCAP = capabilities=0x81000001 device_caps=0x01000001\nclose",
			"/dev/video0 cannot stream: not a capture device; its capabilities are 0x01000001", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			r, err := v4l2test.NewReplay(test.recording)
			require.NoError(t, err)
			_, err = v4l2.Open(r, "/dev/video0")
			require.EqualError(t, err, test.want)
			if test.is != nil {
				require.ErrorIs(t, err, test.is)
			}
			require.NoError(t, r.Finish())
		})
	}
}

// opened returns a webcam that a recording goes on with.
func opened(t *testing.T, recording string) *v4l2.Capture {
	r, err := v4l2test.NewReplay("open /dev/video0\nQUERYCAP = card=Cam capabilities=0x04000001\n" + recording)
	require.NoError(t, err)
	c, err := v4l2.Open(r, "/dev/video0")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Finish()) })
	return c
}

func TestSetFormatErrors(t *testing.T) {
	const before = "G_FMT = pix.pixelformat=YUYV pix.width=640 pix.height=480\n"
	const formats = "ENUM_FMT index=0 = pixelformat=YUYV\nENUM_FMT index=1 = pixelformat=MJPG\nENUM_FMT index=2 = EINVAL\n"
	for _, test := range []struct{ name, recording, want string }{
		{"other pixel format", before + "S_FMT = pix.pixelformat=YUYV\n" + formats, "/dev/video0: the camera has no GREY; it has YUYV and MJPG"},
		{"other size, of a driver that does not tell", before + "S_FMT pix.pixelformat=GREY pix.width=8 = pix.width=16\nENUM_FMT = EINVAL\n",
			"/dev/video0: the camera has no GREY 8x4; its driver offers GREY 16x4"},
		{"busy", before + "S_FMT = EBUSY", "/dev/video0: set the format GREY 8x4: device or resource busy" +
			"; another program uses the camera: fuser -v /dev/video0 tells which"},
		{"short rows", before + "S_FMT = pix.bytesperline=7", "/dev/video0: the driver says that pictures are GREY 8x4 with rows of 7 bytes, which cannot be"},
		{"long rows", before + "S_FMT = pix.bytesperline=600000",
			"/dev/video0: the driver says that pictures are GREY 8x4 with rows of 600000 bytes, which cannot be"},
		{"unasked", "G_FMT = EIO", "/dev/video0: get the format: input/output error"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := opened(t, test.recording).SetFormat(v4l2.GREY, 8, 4)
			require.EqualError(t, err, test.want)
		})
	}
	// What is not asked for, the driver chooses.
	format, err := opened(t, before+"S_FMT pix.pixelformat=MJPG pix.width=640 pix.height=480 = pix.width=1280 pix.height=720").SetFormat(v4l2.MJPG, 0, 0)
	require.NoError(t, err)
	require.Equal(t, v4l2.Format{FourCC: v4l2.MJPG, Width: 1280, Height: 720}, format)
	_, err = opened(t, "G_FMT = pix.pixelformat=YUYV\nS_FMT").SetFormat(0, 0, 0)
	require.EqualError(t, err, "/dev/video0: the driver says that pictures are YUYV 0x0, 0 bytes a row, 0 in all, which cannot be")
}

func TestSetRate(t *testing.T) {
	for _, test := range []struct {
		recording string
		rate      float64
		want      float64
		err       string
	}{
		{"S_PARM parm.capture.timeperframe.numerator=1 parm.capture.timeperframe.denominator=25 = parm.capture.capability=0x1000 " +
			"parm.capture.timeperframe.denominator=20", 25, 20, ""},
		{"S_PARM parm.capture.timeperframe.numerator=1001 parm.capture.timeperframe.denominator=60000 = parm.capture.capability=0x1000", 59.94,
			60000.0 / 1001, ""},
		{"S_PARM parm.capture.timeperframe.numerator=5 parm.capture.timeperframe.denominator=1 = parm.capture.capability=0x1000", 0.2, 0.2, ""},
		{"S_PARM parm.capture.timeperframe.numerator=1000 parm.capture.timeperframe.denominator=7500 = parm.capture.capability=0x1000", 7.5, 7.5, ""},
		{"S_PARM = parm.capture.capability=0", 30, 0, ""},
		{"S_PARM = parm.capture.capability=0x1000 parm.capture.timeperframe.numerator=0", 30, 0, ""},
		{"S_PARM = ENOTTY", 30, 0, ""},
		{"S_PARM = EIO", 30, 0, "/dev/video0: set the rate 30: input/output error"},
		{"G_PARM = EINVAL", 0, 0, ""},
		{"", -3, 0, "/dev/video0: -3 frames per second cannot be; want a number such as 30"},
	} {
		rate, err := opened(t, test.recording).SetRate(test.rate)
		if test.err != "" {
			require.EqualError(t, err, test.err)
			continue
		}
		require.NoError(t, err)
		require.InDelta(t, test.want, rate, 1e-9)
	}
}

func TestStreamErrors(t *testing.T) {
	const format = "G_FMT = pix.pixelformat=GREY pix.width=8 pix.height=8\nS_FMT = pix.bytesperline=8 pix.sizeimage=64\n"
	const freed = "\nREQBUFS count=0"
	const streaming = "REQBUFS\nQUERYBUF index=0 = length=64\nmmap 0 64\nQUERYBUF index=1 = length=64 m=4096\nmmap 4096 64\nQBUF\nQBUF\n"
	for _, test := range []struct{ name, recording, want string }{
		{"busy", "REQBUFS = EBUSY" + freed,
			"/dev/video0: request 2 buffers: device or resource busy; another program uses the camera: fuser -v /dev/video0 tells which"},
		{"too few", "REQBUFS = count=1" + freed, "/dev/video0: the driver has 1 buffers where 2 were requested"},
		{"too many", "REQBUFS = count=4000000000" + freed, "/dev/video0: the driver has 4000000000 buffers where 2 were requested"},
		{"too small", "REQBUFS\nQUERYBUF = length=63" + freed, "/dev/video0: the driver's buffer 0 has 63 bytes, where a picture of GREY 8x8 has 64"},
		{"no bandwidth", streaming + "STREAMON = ENOSPC\nmunmap\nmunmap" + freed,
			"/dev/video0: start the stream of GREY 8x8: no space left on device; the USB bus has no bandwidth left: " +
				"ask for a lower size or rate, or for MJPG, or plug the camera in elsewhere"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := opened(t, format+test.recording)
			_, err := c.SetFormat(0, 0, 0)
			require.NoError(t, err)
			_, err = c.Stream(2)
			require.EqualError(t, err, test.want)
		})
	}
	_, err := opened(t, "").Stream(2)
	require.EqualError(t, err, "/dev/video0: set a format before capturing, and capture once")

	t.Run("unknown buffer", func(t *testing.T) {
		c := opened(t, format+streaming+"STREAMON\npoll = ready\nDQBUF = index=2")
		_, err := c.SetFormat(0, 0, 0)
		require.NoError(t, err)
		s, err := c.Stream(2)
		require.NoError(t, err)
		require.EqualError(t, s.Run(t.Context(), 0, nil), "/dev/video0: the driver filled buffer 2, which it does not have")
	})
}

// TestStampsOfWhatWaited believes the driver's stamps of frames that waited for long, as use did not return.
func TestStampsOfWhatWaited(t *testing.T) {
	c := opened(t, `clock 100 2000
G_FMT = pix.pixelformat=GREY pix.width=2 pix.height=1
S_FMT = pix.bytesperline=2 pix.sizeimage=2
REQBUFS
QUERYBUF index=0 = length=2
mmap 0 2
QUERYBUF index=1 = length=2 m=4096
mmap 4096 2
QBUF
QBUF
STREAMON
poll = ready
clock 100.1 2000.1
DQBUF = index=0 bytesused=2 flags=0x2000 timestamp=100.05
QBUF index=0
poll = ready
clock 130 2030
DQBUF = index=1 bytesused=2 flags=0x2000 timestamp=100.1 sequence=1
QBUF index=1
poll = ready
# The buffer was the driver's since 100.1.
DQBUF = index=0 bytesused=2 flags=0x2000 timestamp=90 sequence=2
QBUF index=0
poll = EIO`)
	_, err := c.SetFormat(0, 0, 0)
	require.NoError(t, err)
	s, err := c.Stream(2)
	require.NoError(t, err)
	var pictures []picture
	require.ErrorIs(t, s.Run(t.Context(), 0, collect(&pictures)), unix.EIO)
	require.Len(t, pictures, 3)
	for i, want := range []picture{{stamp: 2000_050, clock: v4l2.EndOfFrame}, {stamp: 2000_100, clock: v4l2.EndOfFrame}, {stamp: 2030_000, clock: v4l2.Receive}} {
		require.Equal(t, want.stamp, pictures[i].stamp, i)
		require.Equal(t, want.clock, pictures[i].clock, i)
	}
}

func TestListsOfDrivers(t *testing.T) {
	c := opened(t, "ENUM_FMT = EIO")
	_, err := c.Formats()
	require.EqualError(t, err, "/dev/video0: list pixel formats: input/output error")
	c = opened(t, "QUERY_EXT_CTRL = EIO")
	_, err = c.Controls()
	require.EqualError(t, err, "/dev/video0: list controls: input/output error")
	c = opened(t, "QUERY_EXT_CTRL = id=1 type=3 name=Menu\nQUERYMENU = EIO")
	_, err = c.Controls()
	require.EqualError(t, err, "/dev/video0: list the menu menu: input/output error")
	require.True(t, errors.Is(err, unix.EIO))
}
