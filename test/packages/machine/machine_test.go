// Package machine tests the Debian package in a virtual machine, whose systemd runs the service.
package machine

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/format/mcap"
	"tapedeck/test/internal/process"
	"tapedeck/test/packages/internal/dist"
)

func TestMain(m *testing.M) { os.Exit(process.Main(m, nil)) }

// TestService installs the package in a machine, and starts, kills, stops, updates and removes its service.
func TestService(t *testing.T) {
	deb := dist.File(t, "tapedeck_*_amd64.deb")
	if runtime.GOARCH != "amd64" || os.Getuid() != 0 {
		t.Skip("making a virtual machine needs amd64 and root; the service is not tested")
	}
	for _, program := range []string{"debootstrap", "mke2fs", "qemu-system-x86_64"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip("test/install packages installs it: ", err)
		}
	}
	dir := t.TempDir()
	recording := filepath.Join(dir, "n.mcap")
	writeRecording(t, recording)
	out, err := exec.CommandContext(t.Context(), "./image", dir, deb, recording, "steps").CombinedOutput()
	require.NoError(t, err, "%s", out)

	for _, start := range []string{"first", "second"} {
		t.Log(start, "start:")
		// Inside of other virtual machines, KVM may fail after its start. Hence no -accel kvm.
		machine := exec.CommandContext(t.Context(), "qemu-system-x86_64", "-accel", "tcg", "-cpu", "max", "-smp", "2",
			"-m", "1G", "-nographic", "-no-reboot", "-nic", "user,model=virtio-net-pci,restrict=on",
			"-drive", "if=virtio,format=raw,file="+filepath.Join(dir, "disk"),
			"-kernel", filepath.Join(dir, "kernel"), "-initrd", filepath.Join(dir, "initrd"),
			"-append", "root=/dev/vda rw console=ttyS0 quiet panic=-1")
		machine.Stderr = os.Stderr
		stdout, err := machine.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, machine.Start())
		var console strings.Builder
		for lines := bufio.NewScanner(io.TeeReader(stdout, &console)); lines.Scan(); {
			if shown.MatchString(lines.Text()) {
				t.Log(lines.Text())
			}
		}
		require.NoError(t, machine.Wait(), "%s", &console)
		require.Regexp(t, `(?m)^passed\r?$`, console.String())
	}
}

// shown matches lines of the console to show while the test runs: a step begins, and how exposed the service is.
var shown = regexp.MustCompile(`^(step:|→)`)

// writeRecording writes a recording of ten messages on /n within a second.
func writeRecording(t *testing.T, name string) {
	w, err := codec.Formats{mcap.Format}.Create(name, codec.CreateOptions{})
	require.NoError(t, err)
	channel := &codec.Channel{Topic: "/n", Type: "std_msgs/msg/UInt32", Encoding: codec.EncodingCDR}
	for i := range 10 {
		require.NoError(t, w.Write(&codec.Message{Channel: channel, LogTime: 1e18 + int64(i)*1e8,
			Data: []byte{0, 1, 0, 0, byte(i), 0, 0, 0}}))
	}
	require.NoError(t, w.Close())
}
