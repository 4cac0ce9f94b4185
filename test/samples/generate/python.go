package generate

import (
	"bytes"
	_ "embed" // the scripts
	"encoding/hex"
	"fmt"
	"image"
	"image/jpeg"
	"os/exec"
)

// modules are what writes the stand-ins for files with these extensions.
var modules = map[string]string{".bag": "rosbag, std_msgs.msg", ".hdf5": "h5py"}

//go:embed bags.py
var bags string

//go:embed easyteleop.py
var easyTeleopScript string

// python is Debian's, which has Debian's modules. With -E it does not see those of a ROS 2 that is sourced.
func python(args ...string) *exec.Cmd {
	return exec.Command("/usr/bin/python3", append([]string{"-E", "-c"}, args...)...)
}

func havePython(modules string) bool { return modules == "" || python("import "+modules).Run() == nil }

func runPython(args ...string) error {
	if output, err := python(args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, output)
	}
	return nil
}

// bag returns a generator of one of the kinds of bags that bags.py knows.
func bag(kind string) func(string) error {
	return func(path string) error { return runPython(bags, path, kind) }
}

// easyTeleop writes an episode as EasyTeleop does.
func easyTeleop(path string) error {
	var b bytes.Buffer
	if err := jpeg.Encode(&b, image.NewGray(image.Rect(0, 0, 16, 8)), nil); err != nil {
		return err
	}
	return runPython(easyTeleopScript, path, hex.EncodeToString(b.Bytes()))
}
