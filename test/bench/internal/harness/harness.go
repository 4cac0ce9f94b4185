// Package harness has the code that all benchmarks share: a folder in memory, an isolated domain, processor times and
// tables.
package harness

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"golang.org/x/sys/unix"

	"tapedeck/bridge/bridgetest"
	"tapedeck/codec"
)

// Exit ends a benchmark with exit code 1 if there was an error.
func Exit(name string, err error) {
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

// Isolate makes this process and its children use a ROS domain on this machine only.
func Isolate(domain int) error {
	name, value := bridgetest.Loopback()
	return errors.Join(os.Setenv("ROS_DOMAIN_ID", fmt.Sprint(domain)), os.Setenv(name, value))
}

// Folder creates a temporary folder in root, by default in /dev/shm if that exists, so that no disk is measured. The
// folder is removed by remove, and when the benchmark is interrupted. Measured processes get the signal too if Ctrl-C
// interrupts the benchmark.
func Folder(root string) (folder string, remove func(), err error) {
	if root == "" {
		if _, err := os.Stat("/dev/shm"); err == nil {
			root = "/dev/shm"
		}
	}
	folder, err = os.MkdirTemp(root, "tapedeck-bench-")
	if err != nil {
		return "", nil, err
	}
	remove = func() { _ = os.RemoveAll(folder) }
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-interrupted
		remove()
		os.Exit(130)
	}()
	return folder, remove, nil
}

// Size returns the size in bytes of a file, or of all files in a folder.
func Size(path string) (size int64, err error) {
	err = filepath.WalkDir(path, func(_ string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			size += info.Size()
		}
		return err
	})
	return size, err
}

// KeepAll returns the QoS of a reliable endpoint without a limit to its history.
func KeepAll() codec.QoS {
	qos := codec.DefaultQoS()
	qos.History, qos.Depth = codec.KeepAll, 0
	return qos
}

// ProcessorTime returns the user and system time of a process so far, 0 if it has ended.
func ProcessorTime(pid int) time.Duration {
	// The id of a process's clock is the complement of the process id and, in the last three bits, 010 for exact time.
	var t unix.Timespec
	_ = unix.ClockGettime(int32(^pid<<3|2), &t)
	return time.Duration(t.Nano())
}

// Median sorts list and returns its median.
func Median[T int64 | float64 | time.Duration](list []T) T {
	slices.Sort(list)
	n := len(list)
	return (list[(n-1)/2] + list[n/2]) / 2
}

// Machine describes the processor.
func Machine() string {
	info, _ := os.ReadFile("/proc/cpuinfo")
	_, model, _ := strings.Cut(string(info), "model name")
	model, _, _ = strings.Cut(strings.TrimLeft(model, "\t :"), "\n")
	return fmt.Sprintf("%d cores of %s", runtime.NumCPU(), model)
}

// Proc returns the text of a file in /proc, "" if there is none.
func Proc(name string) string {
	text, _ := os.ReadFile(filepath.Join("/proc", name))
	return strings.TrimSpace(string(text))
}

// LoadAverage returns the load average of the last minute.
func LoadAverage() string {
	average, _, _ := strings.Cut(Proc("loadavg"), " ")
	return average
}

// Table returns a writer that prints a table. A tab ends each cell but the last one of a line, which is aligned to the
// left.
func Table() *tabwriter.Writer {
	return tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight|tabwriter.Debug)
}
