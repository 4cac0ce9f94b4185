package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/msgs/sensor_msgs"
)

// calibrated is a file as camera_calibration_parsers writes it.
const calibrated = `image_width: 640
image_height: 480
camera_name: front
camera_matrix:
  rows: 3
  cols: 3
  data: [430.5, 0, 320.25, 0, 431, 240, 0, 0, 1]
distortion_model: plumb_bob
distortion_coefficients:
  rows: 1
  cols: 5
  data: [-0.3, 0.1, 1e-4, -2e-4, 0]
rectification_matrix:
  rows: 3
  cols: 3
  data: [1, 0, 0, 0, 1, 0, 0, 0, 1]
projection_matrix:
  rows: 3
  cols: 4
  data: [400, 0, 321, -5, 0, 401, 241, 0, 0, 0, 1, 0]
`

// put writes a file into a folder for the test, and returns its path.
func put(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o777))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o666))
	return path
}

// calibratedInfo returns the contents of calibrated.
func calibratedInfo() sensor_msgs.CameraInfo {
	return sensor_msgs.CameraInfo{
		Width: 640, Height: 480, DistortionModel: "plumb_bob", D: []float64{-0.3, 0.1, 1e-4, -2e-4, 0},
		K: [9]float64{430.5, 0, 320.25, 0, 431, 240, 0, 0, 1}, R: [9]float64{1, 0, 0, 0, 1, 0, 0, 0, 1},
		P: [12]float64{400, 0, 321, -5, 0, 401, 241, 0, 0, 0, 1, 0},
	}
}

func TestReadCalibration(t *testing.T) {
	for name, test := range map[string]struct {
		edit     *strings.Replacer
		more     string
		change   func(*sensor_msgs.CameraInfo)
		warnings int
	}{
		"as it is": {},
		"rational_polynomial": {
			edit: strings.NewReplacer("plumb_bob", "rational_polynomial", "cols: 5", "cols: 8", "-2e-4, 0]",
				"-2e-4, 0, 6, 7, 8]"),
			change: func(i *sensor_msgs.CameraInfo) {
				i.DistortionModel, i.D = "rational_polynomial", append(i.D, 6, 7, 8)
			},
		},
		"equidistant": {
			edit:   strings.NewReplacer("plumb_bob", "equidistant", "cols: 5", "cols: 4", ", 0]\nrect", "]\nrect"),
			change: func(i *sensor_msgs.CameraInfo) { i.DistortionModel, i.D = "equidistant", i.D[:4] },
		},
		"another model, in a column, without coefficients": {
			edit: strings.NewReplacer("plumb_bob", "none", "rows: 1\n  cols: 5", "rows: 0\n  cols: 1",
				"[-0.3, 0.1, 1e-4, -2e-4, 0]", "[]"),
			change: func(i *sensor_msgs.CameraInfo) { i.DistortionModel, i.D = "none", []float64{} },
		},
		"no model": {edit: strings.NewReplacer("distortion_model: plumb_bob\n", ""), warnings: 1},
		"binning and roi": {
			more: "binning_x: 2\nbinning_y: 4\nroi: {x_offset: 1, y_offset: 2, width: 30, height: 40, do_rectify: " +
				"true}\n",
			change: func(i *sensor_msgs.CameraInfo) {
				i.BinningX, i.BinningY = 2, 4
				i.Roi = sensor_msgs.RegionOfInterest{XOffset: 1, YOffset: 2, Width: 30, Height: 40, DoRectify: true}
			},
		},
		"what others write, too": {more: "calibration_time: yesterday\navg_reprojection_error: 0.1\n"},
	} {
		t.Run(name, func(t *testing.T) {
			text := calibrated + test.more
			if test.edit != nil {
				text = test.edit.Replace(text)
				require.NotEqual(t, calibrated, text)
			}
			want := calibratedInfo()
			if test.change != nil {
				test.change(&want)
			}
			c, err := readCalibration(put(t, "a.yaml", text))
			require.NoError(t, err)
			require.Equal(t, want, c.info)
			require.Equal(t, "front", c.name)
			require.Len(t, c.warnings, test.warnings)
		})
	}
}

func TestCalibrationErrors(t *testing.T) {
	for name, test := range map[string]struct{ old, text, want string }{
		"not YAML":            {"camera_matrix:", "camera_matrix: [", "did not find expected"},
		"a list":              {calibrated, "- 1", "line 1: cannot unmarshal !!seq"},
		"empty":               {calibrated, "# nothing", "the file is empty"},
		"no width":            {"image_width: 640\n", "", "image_width or image_height is missing"},
		"negative width":      {"640", "-640", "line 1: cannot unmarshal !!int `-640` into uint32"},
		"no matrix":           {"rectification_matrix", "rectification", "rectification_matrix: 0 rows of 0"},
		"matrix is a number":  {"projection_matrix:\n", "projection_matrix: 5\nother:\n", "line 17: cannot unmarshal"},
		"matrix of words":     {"430.5", "wide", "line 7: cannot unmarshal !!str `wide` into float64"},
		"matrix is too short": {"430.5, ", "", "camera_matrix: 3 rows of 3 with 8 numbers in data"},
		"matrix is not 3×4": {"cols: 4\n  data: [400, 0, 321, -5, 0, 401, 241, 0, 0, 0, 1, 0]",
			"cols: 3\n  data: [400, 0, 321, 0, 401, 241, 0, 0, 1]", "projection_matrix: 3 rows of 3 with 9 numbers"},
		"no coefficients": {"distortion_coefficients", "coefficients", "distortion_coefficients: 0 rows of 0"},
		"negative rows":   {"rows: 1\n  cols: 5", "rows: -1\n  cols: -5", "distortion_coefficients: -1 rows of -5"},
		"absurd rows":     {"rows: 1\n  cols: 5", "rows: 4611686018427387904\n  cols: 4", "4611686018427387904 rows"},
		"twice": {"image_height: 480", "image_width: 480",
			"line 2: mapping key \"image_width\" already defined"},
		"roi":         {"image_height: 480", "image_height: 480\nroi: 7", "line 3: cannot unmarshal"},
		"roi's width": {"image_height: 480", "image_height: 480\nroi: {width: wide}", "line 3: cannot unmarshal"},
		"binning":     {"image_height: 480", "image_height: 480\nbinning_x: {}", "line 3: cannot unmarshal"},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Replace(calibrated, test.old, test.text, 1)
			require.NotEqual(t, calibrated, text)
			path := put(t, "front.yaml", text)
			_, err := readCalibration(path)
			require.ErrorContains(t, err, "read calibration "+path)
			require.ErrorContains(t, err, test.want)
		})
	}
	_, err := readCalibration("/nowhere/front.yaml")
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestCalibrationPath(t *testing.T) {
	share := filepath.Join(t.TempDir(), "second")
	require.NoError(t, os.MkdirAll(filepath.Join(share, "share/cams"), 0o777))
	t.Setenv("AMENT_PREFIX_PATH", "/nowhere/first:"+share)
	t.Setenv("ROS_HOME", "")
	t.Setenv("HOME", "/home/me")
	for url, want := range map[string]string{
		"front.yaml":                           "front.yaml",
		"/etc/front.yaml":                      "/etc/front.yaml",
		"file:///etc/front.yaml":               "/etc/front.yaml",
		"FILE:///etc/${NAME}.yaml":             "/etc/left.yaml",
		"package://cams/calib/${NAME}_x.yaml":  share + "/share/cams/calib/left_x.yaml",
		"file://${ROS_HOME}/camera_info/a$b.y": "/home/me/.ros/camera_info/a$b.y",
		defaultCalibration:                     "/home/me/.ros/camera_info/left.yaml",
	} {
		path, err := calibrationPath(url, "left")
		require.NoError(t, err, url)
		require.Equal(t, want, path)
	}
	for url, want := range map[string]string{
		"package://other/a.yaml": "no package other in AMENT_PREFIX_PATH; is its workspace sourced?",
		"package://cams":         "want a path, file:///path or package://package/path",
		"package:///a.yaml":      "want a path",
		"file://host/a.yaml":     "want a path",
		"flash:///a":             "want a path",
	} {
		_, err := calibrationPath(url, "left")
		require.ErrorContains(t, err, want, url)
	}
	t.Setenv("ROS_HOME", "/ros")
	path, err := calibrationPath(defaultCalibration, "left")
	require.NoError(t, err)
	require.Equal(t, "/ros/camera_info/left.yaml", path)
}
