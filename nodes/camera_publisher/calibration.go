package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"

	"tapedeck/msgs/sensor_msgs"
)

const (
	maxCalibration = 1 << 20 // bytes of a file
	maxDistortion  = 1024    // coefficients; models have 14 at most
)

// calibration is what a file says of a camera, in the form of ROS's camera_calibration_parsers: the sizes,
// camera_matrix, distortion_model, distortion_coefficients, rectification_matrix and projection_matrix. binning_x,
// binning_y and roi may be there, too.
type calibration struct {
	path     string
	name     string // of the camera; "" if the file has none
	info     sensor_msgs.CameraInfo
	warnings []string
}

// readCalibration reads a file. Errors name it and the line.
func readCalibration(path string) (*calibration, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read calibration: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxCalibration+1))
	if err != nil {
		return nil, fmt.Errorf("read calibration: %w", err)
	}
	if len(text) > maxCalibration {
		return nil, fmt.Errorf("read calibration %s: it is larger than 1 MiB", path)
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, fmt.Errorf("read calibration %s: %w", path, err)
	}
	if doc.Kind == 0 {
		return nil, fmt.Errorf("read calibration %s: the file is empty", path)
	}
	c := &calibration{path: path}
	if err := c.read(doc.Content[0]); err != nil {
		return nil, fmt.Errorf("read calibration %s %w", path, err)
	}
	return c, nil
}

// defaultModel is that of files which name none, as camera_calibration_parsers has it.
const defaultModel = "plumb_bob"

// read takes over what the file has.
func (c *calibration) read(root *yaml.Node) error {
	s, err := newSection(root)
	if err != nil {
		return err
	}
	c.name = s.text("camera_name", "")
	if c.info.DistortionModel = s.text("distortion_model", ""); c.info.DistortionModel == "" {
		c.info.DistortionModel = defaultModel
		c.warnings = append(c.warnings, fmt.Sprintf("%s names no distortion_model, %s is assumed", c.path, defaultModel))
	}
	c.info.Width, c.info.Height = s.size("image_width", true), s.size("image_height", true)
	s.matrix("camera_matrix", 3, 3, c.info.K[:])
	s.matrix("rectification_matrix", 3, 3, c.info.R[:])
	s.matrix("projection_matrix", 3, 4, c.info.P[:])
	c.info.D = s.coefficients("distortion_coefficients")
	c.info.BinningX, c.info.BinningY = s.size("binning_x", false), s.size("binning_y", false)
	if value := s.values["roi"]; value != nil && s.err == nil {
		roi, err := newSection(value)
		if err != nil {
			return err
		}
		r := &c.info.Roi
		r.XOffset, r.YOffset = roi.size("x_offset", false), roi.size("y_offset", false)
		r.Width, r.Height = roi.size("width", false), roi.size("height", false)
		roi.decode("do_rectify", "true or false", false, &r.DoRectify)
		s.err = roi.err
	}
	return s.err
}

// section is a mapping of the file. It keeps the first error.
type section struct {
	node   *yaml.Node
	values map[string]*yaml.Node
	err    error
}

func newSection(n *yaml.Node) (*section, error) {
	if n.Kind != yaml.MappingNode {
		return nil, atLine(n, errors.New("want camera_matrix and the like, as name: value"))
	}
	s := &section{node: n, values: map[string]*yaml.Node{}}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if s.values[key.Value] != nil {
			return nil, atLine(key, fmt.Errorf("%s is there twice", key.Value))
		}
		s.values[key.Value] = n.Content[i+1]
	}
	return s, nil
}

func atLine(n *yaml.Node, err error) error { return fmt.Errorf("line %d: %w", n.Line, err) }

// decode sets v from the value of that name, and says whether there is one.
func (s *section) decode(name, want string, required bool, v any) bool {
	n := s.values[name]
	switch {
	case s.err != nil:
	case n == nil && required:
		s.err = atLine(s.node, fmt.Errorf("%s is missing", name))
	case n == nil:
	case n.Kind == yaml.AliasNode || n.Decode(v) != nil:
		s.err = atLine(n, fmt.Errorf("%s: want %s", name, want))
	default:
		return true
	}
	return false
}

func (s *section) text(name, missing string) string {
	s.decode(name, "a text", false, &missing)
	return missing
}

// size reads a number of pixels.
func (s *section) size(name string, required bool) (n uint32) {
	if s.decode(name, "a number of pixels", required, &n) && n > math.MaxInt32 {
		s.err = atLine(s.values[name], fmt.Errorf("%s: %d is out of range", name, n))
	}
	return n
}

// table is a matrix as the file has it.
type table struct {
	Rows, Cols int
	Data       []float64
}

// table reads a matrix.
func (s *section) table(name string) (t table) {
	const want = "rows, cols and data, a list of numbers"
	if s.decode(name, want, true, &t) && (t.Rows < 0 || t.Cols < 0 || t.Rows > maxDistortion || t.Cols > maxDistortion ||
		t.Rows*t.Cols != len(t.Data)) {
		s.err = atLine(s.values[name], fmt.Errorf("%s: %d rows of %d numbers are not the %d in data", name, t.Rows, t.Cols,
			len(t.Data)))
	}
	return t
}

// matrix reads a matrix of a given size.
func (s *section) matrix(name string, rows, cols int, to []float64) {
	t := s.table(name)
	if s.err == nil && (t.Rows != rows || t.Cols != cols) {
		s.err = atLine(s.values[name], fmt.Errorf("%s: %d×%d numbers, want %d×%d", name, t.Rows, t.Cols, rows, cols))
	}
	copy(to, t.Data)
}

// coefficients reads as many numbers as there are.
func (s *section) coefficients(name string) []float64 {
	t := s.table(name)
	if s.err == nil && len(t.Data) > maxDistortion {
		s.err = atLine(s.values[name], fmt.Errorf("%s: %d coefficients are more than any model has", name, len(t.Data)))
	}
	return t.Data
}

// calibrationPath returns the file that a URL stands for, as ROS's camera_info_manager has them: file:///path,
// package://package/path in the packages of AMENT_PREFIX_PATH, with ${NAME} for the camera's name and ${ROS_HOME}. What
// has no scheme is a path.
func calibrationPath(url, camera string) (string, error) {
	url = strings.NewReplacer("${NAME}", camera, "${ROS_HOME}", rosHome()).Replace(url)
	scheme, rest, ok := strings.Cut(url, "://")
	switch strings.ToLower(scheme) {
	case "file":
		if ok && strings.HasPrefix(rest, "/") {
			return rest, nil
		}
	case "package":
		name, file, _ := strings.Cut(rest, "/")
		if !ok || name == "" || file == "" {
			break
		}
		for _, prefix := range filepath.SplitList(os.Getenv("AMENT_PREFIX_PATH")) {
			share := filepath.Join(prefix, "share", name)
			if s, err := os.Stat(share); err == nil && s.IsDir() {
				return filepath.Join(share, file), nil
			}
		}
		return "", fmt.Errorf("calibration %s: no package %s in AMENT_PREFIX_PATH; is its workspace sourced?", url, name)
	default:
		if !ok {
			return url, nil
		}
	}
	return "", fmt.Errorf("calibration %s: want a path, file:///path or package://package/path", url)
}

// rosHome returns the folder in which ROS keeps files of its own.
func rosHome() string {
	if home := os.Getenv("ROS_HOME"); home != "" {
		return home
	}
	return filepath.Join(os.Getenv("HOME"), ".ros")
}

// defaultCalibration is where camera_info_manager looks and cameracalibrator puts files.
const defaultCalibration = "file://${ROS_HOME}/camera_info/${NAME}.yaml"
