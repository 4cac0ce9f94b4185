package generate

import (
	"bytes"
	_ "embed" // the scripts
	"encoding/hex"
	"errors"
	"fmt"
	"image"
	"image/jpeg"
	"io/fs"
	"os/exec"
)

// errNoModule is returned if Python or a required module is missing; see test/install.
var errNoModule = errors.New("python3 or a required module is not installed")

//go:embed bags.py
var bags string

//go:embed easyteleop.py
var easyTeleopScript string

// python runs a script with Debian's Python and Debian's modules. -E hides the modules of a sourced ROS 2.
func python(script string, args ...string) error {
	output, err := exec.Command("/usr/bin/python3", append([]string{"-E", "-c", script}, args...)...).CombinedOutput()
	switch {
	case errors.Is(err, fs.ErrNotExist) || bytes.Contains(output, []byte("ModuleNotFoundError")):
		return errNoModule
	case err != nil:
		return fmt.Errorf("%w: %s", err, output)
	}
	return nil
}

// bag returns a function that writes a bag of a kind of bags.py.
func bag(kind string) func(string) error {
	return func(path string) error { return python(bags, path, kind) }
}

// easyTeleop writes an episode as EasyTeleop does.
func easyTeleop(path string) error {
	var b bytes.Buffer
	if err := jpeg.Encode(&b, image.NewGray(image.Rect(0, 0, 16, 8)), nil); err != nil {
		return err
	}
	return python(easyTeleopScript, path, hex.EncodeToString(b.Bytes()))
}
