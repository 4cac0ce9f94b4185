package hardware

import (
	"errors"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tapedeck/bridge/device/v4l2"
)

// Camera describes a camera: an entry of camera_publisher's parameter cameras.
type Camera struct {
	Device      string        `param:"device" flag:"-" group:"Camera"`
	Serial      string        `param:"serial" flag:"-" group:"Camera"`
	Format      string        `param:"format" group:"Camera" value:"FOURCC"`
	Width       int           `param:"width" group:"Camera" min:"0"`
	Height      int           `param:"height" group:"Camera" min:"0"`
	Rate        float64       `param:"rate" group:"Camera" min:"0"`
	Controls    []string      `param:"controls" flag:"control" group:"Camera" value:"NAME=VALUE"`
	Encoding    string        `param:"encoding" group:"Camera" value:"NAME"`
	DepthScale  float64       `param:"depth_scale" group:"Camera" min:"0"`
	Silence     time.Duration `param:"silence" group:"Camera" min:"0"`
	Calibration string        `param:"calibration" group:"Camera" value:"FILE"`
	FrameID     string        `param:"frame_id" group:"Camera" value:"NAME"`
	Model       string        `param:"model" group:"Camera" value:"TEXT"`
}

// OptionTexts returns the help texts of the options.
func (*Camera) OptionTexts() string { return optionTexts }

// DefaultCamera returns the defaults of a camera.
func DefaultCamera() Camera {
	return Camera{Format: "MJPG", DepthScale: 1, Silence: 10 * time.Second, Model: "V4L2"}
}

// Topic returns the topic of a camera's pictures, relative to the namespace. It fails if the topic depends on the
// format that the camera chooses.
func (c *Camera) Topic(name string) (string, error) {
	compressed, err := c.compressed()
	if compressed {
		return path.Join(name, "image_raw", "compressed"), err
	}
	return path.Join(name, "image_raw"), err
}

// compressed reports whether the pictures are JPEGs, by the files of a folder or the options of a device. The pictures
// in a file always are.
func (c *Camera) compressed() (bool, error) {
	if files, err := Pictures(c.Device); err == nil && len(files) > 0 {
		return slices.ContainsFunc(files, IsJPEG), nil
	}
	if info, err := os.Stat(c.Device); err == nil && info.Mode().IsRegular() {
		return true, nil
	}
	switch {
	case c.Format == "" && c.Encoding != "":
		return false, nil // decoded JPEGs are also published as pixels
	case c.Format == "":
		return false, errors.New("the topic depends on the format that the camera chooses; set its format")
	}
	code, err := v4l2.ParseFourCC(c.Format)
	return code == v4l2.MJPG || code == v4l2.JPEG, err
}

// Pictures returns the names of the JPEG and PNG files in a folder.
func Pictures(folder string) ([]string, error) {
	entries, err := os.ReadDir(folder)
	var names []string
	for _, e := range entries {
		if name := e.Name(); !e.IsDir() && !strings.HasPrefix(name, ".") &&
			(IsJPEG(name) || strings.EqualFold(filepath.Ext(name), ".png")) {
			names = append(names, name)
		}
	}
	return names, err
}

// IsJPEG reports whether a file has the extension of a JPEG.
func IsJPEG(name string) bool {
	ext := strings.ToLower(filepath.Ext(name))
	return ext == ".jpg" || ext == ".jpeg"
}

// Metadata returns the metadata of the camera in sessions, with EasyTeleop's names.
func (c *Camera) Metadata() map[string]any {
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
