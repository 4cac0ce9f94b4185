package hardware

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestExample checks that each node accepts its parameters in config/hardware.yaml.
func TestExample(t *testing.T) {
	t.Parallel()
	g := newGraph(t)
	text, err := os.ReadFile("../../../config/hardware.yaml")
	require.NoError(t, err)
	g.write("hardware.yaml", string(text))
	for _, node := range []struct {
		name, says string
		args       []string
	}{
		{"camera_publisher", "camera_2", []string{"-p", "cameras.camera_1.device:=/dev/none", "-p",
			"cameras.camera_2.device:=/dev/none"}},
		{"arm_publisher", "127.0.0.1:1", []string{"-p", "arms.arm_0.host:=127.0.0.1", "-p",
			"arms.arm_1.host:=127.0.0.1",
			"-p", "port:=1", "-p", "push:=none"}},
		{"mavlink_publisher", "/dev/none", []string{"-p", "source:=serial:/dev/none:57600"}},
		{"recorder", "recording /arm_1/joint_states", []string{"-p", "hardware:=hardware.yaml"}},
	} { // the devices exist on no machine
		p := g.start(node.name, append([]string{"--config", "hardware.yaml", "--ros-args"}, node.args...)...)
		p.Prints(node.says)
		require.NotContains(t, p.Output(), "is not one that", "unknown parameters")
	}
}
