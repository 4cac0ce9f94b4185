package all_test

import (
	"fmt"
	"log"
	"os"
	"testing"

	"tapedeck/bridge/recordings/all"
	"tapedeck/codec"
	"tapedeck/codec/format/hdf5/hdf5test"
)

// A recording of any format is read as ROS 2 messages.
func Example() {
	drive, err := all.Open("drive.mcap")
	if err != nil {
		log.Fatal(err)
	}
	defer drive.Close()
	for m, err := range drive.Messages() {
		fmt.Println(m.Channel.Topic, m.Channel.Type, m.LogTime, len(m.Data), err)
	}
	// Output:
	// /chatter std_msgs/msg/String 1 12 <nil>
	// /chatter std_msgs/msg/String 2 12 <nil>
}

// TestMain writes the recording of the example.
func TestMain(m *testing.M) {
	hdf5test.Main()
	code := 1
	if err := inFolder(func() { code = m.Run() }); err != nil {
		log.Print(err)
	}
	os.Exit(code)
}

// inFolder calls run in a temporary folder that has a recording.
func inFolder(run func()) error {
	folder, err := os.MkdirTemp("", "")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	if err := os.Chdir(folder); err != nil {
		return err
	}
	w, err := all.Formats().Create("drive.mcap", codec.CreateOptions{})
	if err != nil {
		return err
	}
	chatter := &codec.Channel{Topic: "/chatter", Type: "std_msgs/msg/String", Encoding: codec.EncodingCDR}
	for i := range int64(2) {
		payload := append([]byte{0, 1, 0, 0, 4, 0, 0, 0}, "hey\x00"...)
		if err := w.Write(&codec.Message{Channel: chatter, LogTime: i + 1, Data: payload}); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	run()
	return nil
}
