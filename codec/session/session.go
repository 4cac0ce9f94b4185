// Package session reads and writes sessions: folders that tools of robot learning record into, one for each take. In a
// session every picture is a file and every sample of a robot's arm some rows of a table:
//
//	20260114_120000/
//	  metadata.json
//	  frames/camera_0/frame_1768388400.033.png    or .jpg; the seconds since 1970
//	  arm_0/poses.csv                             timestamp,index,value
//	  arm_0/joints.csv
//	  arm_0/grippers.csv                          or end_effector.csv; its indices may be words
//
// That is the layout which EasyTeleop (https://github.com/SZUEAILab/EasyTeleop, docs/data_format.md) documents, and, a
// little different, the one that it writes. Poses are in m and rad, about fixed axes (Rz·Ry·Rx). Joints are in degrees,
// as EasyTeleop has them, unless the description of the arm in metadata.json has a "joint_unit" of "rad". Beside those
// tables tapedeck keeps what the arm was told, in command_poses.csv, command_joints.csv and command_grippers.csv, and
// what else is known of its joints, in velocities.csv and efforts.csv.
//
// A folder of sessions is a recording of several episodes.
package session

// Names in a session.
const (
	metadataName = "metadata.json"
	partSuffix   = ".part" // behind the name of what is being written
	framesName   = "frames"
	framePrefix  = "frame_"
)
