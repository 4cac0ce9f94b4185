package session_test

import (
	"path/filepath"
	"testing"

	"tapedeck/codec/format/session"
	"tapedeck/codec/internal/codectest"
)

// FuzzSession reads sessions with any file contents.
func FuzzSession(f *testing.F) {
	folder := filepath.Join(f.TempDir(), "a")
	put(f, folder, "metadata.json", `{"session_id": "a", "start_time": 1.5, "end_time": 5, "devices": {"cameras": `+
		`{"camera_0": {"fps": 30}}, "robots": {"arm_0": {"joint_unit": "rad"}}}, "events": [{"kind": "drop"}]}`)
	put(f, folder, "frames/camera_0/frame_1.000.png", "\x89PNG\r\n\x1a\n…")
	put(f, folder, "frames/camera_0/frame_2.000.jpg", "\xff\xd8\xff…")
	put(f, folder, "arm_0/joints.csv", "timestamp,index,value\r\n1.0,0,7\r\n1.0,1,8\r\n3.0,0,nan\r\n3.0,1,-1e-05\r\n")
	put(f, folder, "arm_0/poses.csv", "timestamp,index,value\r\n1.0,0,7\r\n")
	put(f, folder, "arm_0/grippers.csv", "timestamp,index,value\r\n1.0,force,7\r\n")
	codectest.FuzzFolders(f, session.Format, folder)
}
