// Package session reads and writes sessions: folders into which tools of robot learning record one episode each. Each
// frame of a camera is a file, and each sample of an arm is some rows of a table:
//
//	20260114_120000/
//	  metadata.json
//	  frames/camera_0/frame_1768388400.033.png    or .jpg; the seconds since 1970
//	  arm_0/poses.csv                             timestamp,index,value
//	  arm_0/joints.csv
//	  arm_0/grippers.csv                          or end_effector.csv; its indices may be words
//
// EasyTeleop (https://github.com/SZUEAILab/EasyTeleop, docs/data_format.md) documents this layout, and writes a
// slightly different one. Poses are in m and rad, about fixed axes (Rz·Ry·Rx). Joints are in degrees, as in
// EasyTeleop, unless the description of the arm in metadata.json has a "joint_unit" of "rad". tapedeck adds tables of
// the commands to the arm, command_poses.csv, command_joints.csv and command_grippers.csv, and of its joints,
// velocities.csv and efforts.csv.
//
// A folder of sessions is a recording of several episodes.
package session

import (
	"tapedeck/codec"
	"tapedeck/codec/store"
	"tapedeck/codec/training/episode"
)

// Names in a session.
const (
	metadataName = "metadata.json"
	tempSuffix   = ".part"   // suffix of a file that is being written
	framesName   = "frames"  // folder of the cameras' folders
	cameraPrefix = "camera_" // prefix of a camera's folder
	framePrefix  = "frame_"  // prefix of a frame's file
)

// Name is the name of the format.
const Name = "session"

// Format is the format of session folders.
var Format = codec.Format{
	Name:     Name,
	Episodic: true,
	Sniff: func(files *store.Files, path string, head []byte) bool {
		if head != nil {
			return false
		}
		folders, err := sessions(files, path)
		return err == nil && len(folders) > 0
	},
	// Sessions are folders, which may have any name.
	Named: func(string) bool { return false },
	Files: []string{".csv", ".jpg", ".json", ".png"},
	OpenFrom: func(files *store.Files, path string) (codec.Reader, error) {
		s, err := Open(files, path)
		if err != nil {
			return nil, err
		}
		return episode.NewReader(files, Name, path, s), nil
	},
}
