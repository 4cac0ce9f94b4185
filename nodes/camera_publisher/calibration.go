package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"

	"tapedeck/codec/text/human"
	"tapedeck/msgs/sensor_msgs"
)

const (
	maxCalibration = 1 << 20 // bytes of a file that are read
	maxDistortion  = 1024    // number of coefficients; models have 14 at most
)

// calibration is the calibration of a camera.
type calibration struct {
	name     string // name of the camera; "" if the file has none
	info     sensor_msgs.CameraInfo
	warnings []string
}

// calibrationFile is a file in the format of ROS's camera_calibration_parsers. Binning and ROI may be absent.
type calibrationFile struct {
	Name     string `yaml:"camera_name"`
	Width    uint32 `yaml:"image_width"`
	Height   uint32 `yaml:"image_height"`
	Model    string `yaml:"distortion_model"`
	D        matrix `yaml:"distortion_coefficients"`
	K        matrix `yaml:"camera_matrix"`
	R        matrix `yaml:"rectification_matrix"`
	P        matrix `yaml:"projection_matrix"`
	BinningX uint32 `yaml:"binning_x"`
	BinningY uint32 `yaml:"binning_y"`
	ROI      struct {
		X       uint32 `yaml:"x_offset"`
		Y       uint32 `yaml:"y_offset"`
		Width   uint32
		Height  uint32
		Rectify bool `yaml:"do_rectify"`
	}
}

// matrix is a matrix in a calibration file. Data has its rows one after the other.
type matrix struct {
	Rows, Cols int
	Data       []float64
}

// defaultModel is the distortion model of files that name none, as in camera_calibration_parsers.
const defaultModel = "plumb_bob"

// readCalibration reads a calibration file. Errors have its path.
func readCalibration(path string) (*calibration, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read calibration: %w", err)
	}
	defer f.Close()
	var file calibrationFile
	err = yaml.NewDecoder(io.LimitReader(f, maxCalibration)).Decode(&file)
	switch {
	case errors.Is(err, io.EOF):
		err = errors.New("the file is empty")
	case err == nil:
		err = file.check()
	}
	if err != nil {
		return nil, fmt.Errorf("read calibration %s: %w", path, err)
	}
	c := &calibration{name: file.Name}
	if file.Model == "" {
		file.Model = defaultModel
		c.warnings = append(c.warnings, fmt.Sprintf("%s names no distortion_model, %s is assumed", path, defaultModel))
	}
	roi := sensor_msgs.RegionOfInterest{XOffset: file.ROI.X, YOffset: file.ROI.Y, Width: file.ROI.Width,
		Height: file.ROI.Height, DoRectify: file.ROI.Rectify}
	c.info = sensor_msgs.CameraInfo{
		Width: file.Width, Height: file.Height, DistortionModel: file.Model, D: file.D.Data,
		K: [9]float64(file.K.Data), R: [9]float64(file.R.Data), P: [12]float64(file.P.Data),
		BinningX: file.BinningX, BinningY: file.BinningY, Roi: roi,
	}
	return c, nil
}

// check returns the errors of a file.
func (f *calibrationFile) check() error {
	var errs []error
	if f.Width == 0 || f.Height == 0 {
		errs = append(errs, errors.New("image_width or image_height is missing"))
	}
	if n := len(f.D.Data); f.D.Data == nil || f.D.Rows < 0 || f.D.Rows*f.D.Cols != n || n > maxDistortion {
		errs = append(errs, fmt.Errorf("distortion_coefficients: %s of %d with %s in data",
			human.Count(f.D.Rows, "row"), f.D.Cols, human.Count(n, "number")))
	}
	for _, m := range []struct {
		name string
		matrix
		columns int
	}{{"camera_matrix", f.K, 3}, {"rectification_matrix", f.R, 3}, {"projection_matrix", f.P, 4}} {
		if m.Rows != 3 || m.Cols != m.columns || len(m.Data) != 3*m.columns {
			errs = append(errs, fmt.Errorf("%s: %s of %d with %s in data, want 3 rows of %d", m.name,
				human.Count(m.Rows, "row"), m.Cols, human.Count(len(m.Data), "number"), m.columns))
		}
	}
	return errors.Join(errs...)
}

// calibrationPath returns the path for a URL of ROS's camera_info_manager: file:///path, or package://package/path for
// packages in AMENT_PREFIX_PATH. ${NAME} is the camera's name, ${ROS_HOME} the result of rosHome. A URL without a
// scheme is a path.
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
		return "", fmt.Errorf("calibration %s: no package %s in AMENT_PREFIX_PATH; is its workspace sourced?", url,
			name)
	default:
		if !ok {
			return url, nil
		}
	}
	return "", fmt.Errorf("calibration %s: want a path, file:///path or package://package/path", url)
}

// rosHome returns the folder of ROS's own files.
func rosHome() string {
	if home := os.Getenv("ROS_HOME"); home != "" {
		return home
	}
	return filepath.Join(os.Getenv("HOME"), ".ros")
}

// defaultCalibration is the file that camera_info_manager reads and cameracalibrator writes.
const defaultCalibration = "file://${ROS_HOME}/camera_info/${NAME}.yaml"
