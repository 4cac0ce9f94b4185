package v4l2

import "context"

// Stream is frames coming from a device. It is for one goroutine.
type Stream struct{}

// Next waits for the next good frame and calls use with it. The frame and its bytes belong to the driver again when use has returned.
// Frames that the driver marks as damaged, or whose length cannot be, are left out and counted in the next one's Damaged. Next
// returns use's error, the context's, or that the device is gone, which errors.Is(err, unix.ENODEV) recognises.
func (s *Stream) Next(ctx context.Context, use func(*Frame) error) error { panic("not yet written") }

// Close stops capturing and frees the buffers.
func (s *Stream) Close() error { panic("not yet written") }
