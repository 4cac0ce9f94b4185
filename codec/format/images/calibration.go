package images

import (
	"fmt"
	"math"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/codec/internal/stamped"
	"tapedeck/msgs/sensor_msgs"
)

// calibration writes a CameraInfo into the folders of all cameras in the namespace of the topic. Without such cameras,
// it writes into a folder for the topic. It skips a folder whose last calibration is equal.
func (w *writer) calibration(m *stamped.Message) error {
	var info sensor_msgs.CameraInfo
	if err := cdr.Unmarshal(m.Data, &info); err != nil {
		return err
	}
	space := path.Dir(m.Channel.Topic)
	var cameras []*stamped.Target[camera]
	for _, c := range w.topics.List {
		if c.State.images && namespace(c.Topic) == space && path.Base(m.Channel.Topic) == "camera_info" {
			cameras = append(cameras, c)
		}
	}
	if cameras == nil {
		cameras = append(cameras, w.topics.Add(m.Channel.Topic))
	}
	text := marshalYAML(&info, strings.ReplaceAll(strings.Trim(space, "/."), "/", "_"))
	for _, c := range cameras {
		if text == c.State.info {
			continue
		}
		name := "camera_info.yaml"
		if c.State.infos > 0 {
			name = fmt.Sprintf("camera_info_%s_%d.yaml", stamped.Seconds(m.Time(m.Stamp)), c.State.infos)
		}
		folder := filepath.Join(w.path, c.Name)
		err := os.MkdirAll(folder, 0o777)
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, name), []byte(text), 0o666)
		}
		if err != nil {
			return &codec.MissingError{Path: filepath.Join(folder, name), Err: codec.Pathless(err)}
		}
		c.State.info = text
		c.State.infos++
	}
	if info.BinningX > 1 || info.BinningY > 1 || info.Roi != (sensor_msgs.RegionOfInterest{}) {
		w.lost.Add(m.Channel.Topic, "binning and region of interest of a camera", 1)
	}
	return nil
}

// namespace returns the namespace in which image_transport expects camera_info for a topic with images.
func namespace(topic string) string {
	topic = strings.TrimSuffix(strings.TrimSuffix(topic, "/compressedDepth"), "/compressed")
	return path.Dir(topic)
}

// plainText matches texts that need no quotes in YAML.
var plainText = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{4,}$`)

// marshalYAML returns a calibration in the format of camera_calibration_parsers of ROS.
func marshalYAML(info *sensor_msgs.CameraInfo, name string) string {
	var b strings.Builder
	text := func(key, value string) {
		if !plainText.MatchString(value) || strings.EqualFold(value, "false") {
			value = strconv.QuoteToASCII(value)
		}
		fmt.Fprintf(&b, "%s: %s\n", key, value)
	}
	matrix := func(key string, rows int, values []float64) {
		fmt.Fprintf(&b, "%s:\n  rows: %d\n  cols: %d\n  data: [", key, rows, len(values)/rows)
		for i, v := range values {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(yamlNumber(v))
		}
		b.WriteString("]\n")
	}
	fmt.Fprintf(&b, "image_width: %d\nimage_height: %d\n", info.Width, info.Height)
	text("camera_name", name)
	matrix("camera_matrix", 3, info.K[:])
	text("distortion_model", info.DistortionModel)
	matrix("distortion_coefficients", 1, info.D)
	matrix("rectification_matrix", 3, info.R[:])
	matrix("projection_matrix", 3, info.P[:])
	return b.String()
}

// yamlNumber returns a number without an exponent, because some YAML readers take "1e5" for a text.
func yamlNumber(v float64) string {
	switch {
	case math.IsNaN(v):
		return ".nan"
	case math.IsInf(v, 0):
		return strings.Replace(strconv.FormatFloat(v, 'f', -1, 64)[:1], "+", "", 1) + ".inf"
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}
