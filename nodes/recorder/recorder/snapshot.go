package recorder

import (
	"path/filepath"

	"tapedeck/codec"
	"tapedeck/config"
	"tapedeck/nodes/recorder/internal/diskguard"
	"tapedeck/nodes/recorder/internal/queue"
	"tapedeck/nodes/recorder/internal/snapshot"
)

// snapshotChunk is the maximum size of a chunk of a snapshot in bytes. It is small because many snapshots may be
// written at once.
const snapshotChunk = 2 << 20

// newSnapshots prepares snapshots by the options.
func (r *recorder) newSnapshots() (err error) {
	o := &r.options
	r.limits, err = o.topicLimits(r.selection.Expand)
	if err != nil {
		return err
	}
	for parameter, name := range map[string]string{
		"snapshot_service": o.SnapshotService, "snapshot_topic": o.SnapshotTopic,
	} {
		if name != "" {
			if _, err := r.selection.Expand(name); err != nil {
				return config.Usagef("%s: %w", parameter, err)
			}
		}
	}
	conditions, err := o.conditions(r.selection.Expand)
	if err != nil {
		return err
	}
	r.snapshots = snapshot.New(snapshot.Options{
		Ring: queue.NewRing(int64(o.SnapshotSize)), Duration: o.SnapshotDuration, After: o.SnapshotAfter,
		Cooldown: o.SnapshotCooldown, Folder: o.SnapshotFolder, Conditions: conditions,
		Disk: r.disk, Format: o.format(),
		BaseName: r.baseName, Create: r.createSnapshot, Stamp: r.clock.Stamp,
		Topics: func() (list []*queue.Topic) {
			for _, rec := range r.topics.Topics() {
				list = append(list, rec.Topic)
			}
			return list
		},
		Latched: func(since func(*queue.Topic) int64) (list []*queue.Item) {
			for _, rec := range r.topics.Topics() {
				list = rec.Latched(since(rec.Topic), list)
			}
			return list
		},
		OnEvent:   func(e codec.Event) { r.session.Load().note(e) },
		OnWritten: r.uploadSnapshot,
		Quit:      func() { r.quit() },
		Warn:      r.warn, Log: r.node.Log,
	})
	return nil
}

// baseName returns the name of the recording without a file ending, for the names of snapshots.
func (r *recorder) baseName() string {
	s := r.session.Load()
	name := s.name
	if out := s.output.Load(); out != nil {
		name = out.name
	}
	return r.options.format().BareName(name)
}

// createSnapshot implements snapshot.Options.Create.
func (r *recorder) createSnapshot(name string, metadata map[string]string) (codec.Writer, string, error) {
	o := r.options
	o.Overwrite = false // overwriting could hit the recording
	if o.ChunkSize == 0 || o.ChunkSize > snapshotChunk {
		o.ChunkSize = snapshotChunk
	}
	if o.SnapshotMode || o.LowSpaceAction != diskguard.Delete { // Delete keeps the free space near the reserve
		guard := diskguard.Guard{Disk: r.disk, Path: filepath.Dir(o.format().Path(name)), Reserve: r.reserve}
		if err := guard.Begin(); err != nil {
			return nil, "", err
		}
	}
	out := output{name: name}
	err := out.create(&o, &r.settings, codec.CreateOptions{Disk: r.disk, Metadata: metadata})
	return out.Writer, out.path, err
}
