package main

import (
	"time"

	"tapedeck/config"
)

// snapshotOptions say what is kept in memory for snapshots.
type snapshotOptions struct {
	Snapshot         bool          `param:"snapshot" group:"Snapshots" help:"keep the latest messages in memory beside the recording, to be written when asked"`
	SnapshotMode     bool          `param:"snapshot_mode" group:"Snapshots" help:"record nothing but snapshots"`
	SnapshotDuration time.Duration `param:"snapshot_duration" group:"Snapshots" min:"0" help:"how far a snapshot reaches back; 0 is as far as snapshot_size allows"`
	SnapshotSize     config.Size   `param:"snapshot_size" group:"Snapshots" min:"1MiB" help:"bytes that the messages kept for a snapshot may take"`
	SnapshotService  string        `param:"snapshot_service" group:"Snapshots" value:"SERVICE" help:"SERVICE (std_srvs/srv/Trigger) that writes a snapshot"`
}

func defaultSnapshotOptions() snapshotOptions {
	return snapshotOptions{SnapshotDuration: 30 * time.Second, SnapshotSize: 256 << 20, SnapshotService: "/snapshot"}
}
