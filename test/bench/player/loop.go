package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"tapedeck/bridge"
	"tapedeck/bridge/graph/dds"
	"tapedeck/test/bench/internal/harness"
)

// periodic calls do count times, at times that are period ns apart, from one thread.
func periodic(period float64, count int, do func(i int) error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("set timer slack: %w", err)
	}
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return err
	}
	begin := now.Nano() + int64(100*time.Millisecond)
	for i := range count {
		until := unix.NsecToTimespec(begin + int64(float64(i)*period))
		for {
			err := unix.ClockNanosleep(unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, &until, nil)
			if err == nil {
				break
			}
			if !errors.Is(err, unix.EINTR) {
				return err
			}
		}
		if err := do(i); err != nil {
			return err
		}
	}
	return nil
}

// due returns the recorded time of message i of an IMU.
func due(i int) int64 { return epoch + int64(i)*int64(time.Second)/imuRate }

// loop sleeps as an ideal player would, and prints the times at which it woke as int64.
func loop(rate float64, count int) error {
	wakeTimes := make([]int64, count)
	if err := periodic(1e9/imuRate/rate, count, func(i int) error {
		wakeTimes[i] = time.Now().UnixNano()
		return nil
	}); err != nil {
		return err
	}
	out := bufio.NewWriter(os.Stdout)
	if err := binary.Write(out, binary.NativeEndian, wakeTimes); err != nil {
		return err
	}
	return out.Flush()
}

// publishingLoop sleeps as loop does and publishes a message whenever it wakes.
func publishingLoop(rate float64, count int) error {
	return publish(0, func(data []byte, p bridge.Publisher) error {
		return periodic(1e9/imuRate/rate, count, func(i int) error {
			setStamp(data, due(i))
			return p.Publish(data)
		})
	})
}

// probe publishes messages from memory without a pause.
func probe(size, count int) error {
	return publish(size, func(data []byte, p bridge.Publisher) error {
		for i := range count {
			setStamp(data, due(i))
			if err := p.Publish(data); err != nil {
				return err
			}
		}
		return nil
	})
}

// publish calls do with a message and a publisher that has a subscriber. It returns once the subscriber has
// acknowledged all messages.
func publish(size int, do func([]byte, bridge.Publisher) error) (err error) {
	data, err := payload(size)
	if err != nil {
		return err
	}
	topic, typeName := imuTopic, imuType
	if size > 0 {
		topic, typeName = imageTopic, imageType
	}
	node, err := dds.Open(bridge.Options{Name: "bench_loop", Domain: -1})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, node.Close()) }()
	p, err := node.Advertise(topic, typeName, harness.KeepAll())
	if err != nil {
		return err
	}
	for range 1000 {
		if p.Subscribers() > 0 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	time.Sleep(500 * time.Millisecond)
	if err := do(data, p); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return p.Flush(ctx)
}
