package hardware

import "path"

// Camera says which device a camera is and what is wanted of it: an entry of camera_publisher's parameter cameras.
type Camera struct {
	Device      string   `param:"device" flag:"-" group:"Camera" help:"path of a V4L2 device, of a folder with pictures or of a file with JPEGs one behind the other"`
	Serial      string   `param:"serial" flag:"-" group:"Camera" help:"serial number of a USB camera, instead of a path"`
	Format      string   `param:"format" group:"Camera" value:"FOURCC" help:"pixel format: MJPG, YUYV, RGB3, GREY, Z16 or another that the camera has"`
	Width       int      `param:"width" group:"Camera" min:"0" help:"columns; 0 is the camera's choice"`
	Height      int      `param:"height" group:"Camera" min:"0" help:"rows; 0 is the camera's choice"`
	Rate        float64  `param:"rate" group:"Camera" min:"0" help:"pictures a second; 0 is the camera's choice"`
	Controls    []string `param:"controls" flag:"control" group:"Camera" value:"NAME=VALUE" help:"set a control of the camera, such as brightness=128"`
	Calibration string   `param:"calibration" group:"Camera" value:"FILE" help:"YAML FILE of a calibration"`
	FrameID     string   `param:"frame_id" group:"Camera" value:"NAME" help:"coordinate frame of the pictures; by default the name of the camera and _optical_frame"`
	Model       string   `param:"model" group:"Camera" value:"TEXT" help:"what camera it is, for the metadata of sessions"`
}

// DefaultCamera returns what holds for a camera of which nothing else is said.
func DefaultCamera() Camera { return Camera{Format: "MJPG", Model: "V4L2"} }

// Topic returns the topic of a camera's pictures: relative, as they are published.
func (c *Camera) Topic(name string) string {
	if c.Format == "MJPG" {
		return path.Join(name, "image_raw", "compressed")
	}
	return path.Join(name, "image_raw")
}

// metadata returns what sessions tell of the camera, under the names that EasyTeleop has for it.
func (c *Camera) metadata() map[string]any {
	m := map[string]any{"type": c.Model}
	for key, value := range map[string]string{"device": c.Device, "serial": c.Serial} {
		if value != "" {
			m[key] = value
		}
	}
	if c.Width > 0 && c.Height > 0 {
		m["width"], m["height"] = c.Width, c.Height
	}
	if c.Rate > 0 {
		m["fps"] = c.Rate
	}
	return m
}
