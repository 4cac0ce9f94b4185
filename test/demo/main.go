// Demo runs the executables in its folder together. The recorder records simulated publishers and takes a snapshot, and
// the converter prints the recording. The player plays the recording while a second recorder records it, and both
// recordings are compared. Then a log of CARLA is played and recorded. Any difference is an error.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"tapedeck/bridge/bridgetest"
)

const (
	folder   = "demo-out"
	duration = 6 * time.Second
	domain   = "97" // no robot nearby uses this ROS domain
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := demo(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func demo(ctx context.Context) error {
	reach, here := bridgetest.Loopback()
	for name, value := range map[string]string{"ROS_DOMAIN_ID": domain, reach: here} {
		if err := os.Setenv(name, value); err != nil {
			return err
		}
	}
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	if err := os.Mkdir(folder, 0o755); err != nil {
		return err
	}
	drive, replay := filepath.Join(folder, "drive"), filepath.Join(folder, "replay")

	say("A car drives: control at 20 Hz, an IMU at 100 Hz, a 1 MB point cloud and a camera at 10 Hz. "+
		"It is recorded for %v.", duration)
	publishers, err := startPublishers()
	if err != nil {
		return err
	}
	defer publishers.stop()
	recorder, err := start("recorder", append([]string{"--output", drive, "--snapshot", "--snapshot-duration", "3s"},
		topics...)...)
	if err != nil {
		return err
	}
	defer recorder.kill()
	if err := pause(ctx, duration/2); err != nil {
		return err
	}
	say("An incident: a snapshot saves the last 3 s, " +
		"as 'ros2 service call /snapshot std_srvs/srv/Trigger' would.")
	if err := run(ctx, "recorder", "trigger"); err != nil {
		return err
	}
	if err := pause(ctx, duration/2); err != nil {
		return err
	}
	if err := recorder.interrupt(); err != nil {
		return err
	}
	publishers.stop()

	say("The recording:")
	if err := run(ctx, "converter", "info", drive+".record.00000"); err != nil {
		return err
	}

	say("Playing it back with simulated time on /clock while a second recorder records.")
	listener, err := start("recorder", append([]string{"--output", replay, "/clock"}, topics...)...)
	if err != nil {
		return err
	}
	defer listener.kill()
	if err := run(ctx, "player", drive+".record.00000", "--clock", "100", "--wait-for-subscribers"); err != nil {
		return err
	}
	if err := pause(ctx, time.Second); err != nil {
		return err
	}
	if err := listener.interrupt(); err != nil {
		return err
	}

	say("Comparing both recordings message by message:")
	if err := run(ctx, "converter", "diff", drive+".record.00000", replay+".record.00000", "--ignore-topics",
		"/clock"); err != nil {
		return err
	}
	return playLog(ctx)
}

// process is a running executable of the demo's folder.
type process struct {
	name string
	cmd  *exec.Cmd
}

func command(ctx context.Context, name string, args ...string) *exec.Cmd {
	fmt.Printf("\n$ %s %s\n", name, strings.Join(args, " "))
	cmd := exec.CommandContext(ctx, filepath.Join(filepath.Dir(os.Args[0]), name), args...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd
}

// run runs an executable to its end.
func run(ctx context.Context, name string, args ...string) error {
	cmd := command(ctx, name, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

func start(name string, args ...string) (*process, error) {
	cmd := command(context.Background(), name, args...)
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return &process{name, cmd}, nil
}

// interrupt ends the process as Ctrl-C does.
func (p *process) interrupt() error {
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	if err := p.cmd.Wait(); err != nil {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	return nil
}

// kill ends the process if it is still running.
func (p *process) kill() {
	if p.cmd.ProcessState == nil {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
	}
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return errors.New("interrupted")
	case <-time.After(d):
		return nil
	}
}

func say(format string, args ...any) {
	fmt.Printf("\n── "+format+"\n", args...)
}
