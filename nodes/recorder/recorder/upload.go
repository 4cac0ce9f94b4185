package recorder

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/codec/store"
	"tapedeck/codec/store/s3"
	"tapedeck/config"
	diag "tapedeck/msgs/diagnostic_msgs"
	"tapedeck/msgs/std_srvs"
	"tapedeck/nodes/internal/formats/live"
	"tapedeck/nodes/recorder/internal/diskguard"
	"tapedeck/nodes/recorder/internal/upload"
)

const (
	uploadNice  = 10                    // niceness of the thread that sends
	uploadParts = 4                     // parts of a file that are sent at once after the recording
	uploadPace  = 20 * time.Millisecond // time between checks of the queue while an upload is held
	uploadHeld  = time.Second           // uploads are held no longer: they may make room on a full disk
)

// uploadOptions are about where finished files are sent.
type uploadOptions struct {
	Upload        string        `param:"upload" group:"Upload" value:"URL"`
	UploadTimeout time.Duration `param:"upload_timeout" group:"Upload" min:"0"`
	transferOptions
}

// transferOptions are about how files are sent.
type transferOptions struct {
	UploadRate        config.Size `param:"upload_rate" group:"Upload"`
	DeleteAfterUpload bool        `param:"delete_after_upload" group:"Upload"`
}

// checkUpload returns a usage error for options that do not go together.
func (o *options) checkUpload() error {
	switch {
	case o.Upload != "":
		if err := store.CanUpload(o.Upload); err != nil {
			return config.Usagef("upload: %w", err)
		}
	case o.LowSpaceAction == diskguard.DeleteUploaded:
		return config.Usagef("low_space_action: nothing is uploaded; add --upload URL")
	default:
		if list := changed(&o.uploadOptions, &uploadOptions{}); list != nil {
			return config.Usagef("%s: nothing is uploaded; add --upload URL", strings.Join(list, ", "))
		}
	}
	return nil
}

// queue returns the options of a queue that uploads files of d to url.
func (o *transferOptions) queue(d codec.Disk, url string, overwrite bool) upload.Options {
	return upload.Options{
		Disk: d, Store: s3.New(), URL: url, Delete: o.DeleteAfterUpload, Formats: live.Codecs(),
		UploadOptions: s3.UploadOptions{Rate: int64(o.UploadRate), Overwrite: overwrite},
	}
}

// newUploads prepares the upload of finished files.
func (r *recorder) newUploads() {
	o := r.options.queue(r.disk, r.options.Upload, r.options.Overwrite)
	o.Log, o.Hold = r.node.Log, r.holdUpload
	o.Note = func(text string, began time.Time) {
		if s := r.session.Load(); r.recording() && s.writer != nil {
			now := r.clock.Now()
			s.note(codec.Event{Kind: codec.EventUpload, Time: now - int64(time.Since(began)), Until: now,
				Text: text})
		}
	}
	r.uploads = upload.New(o)
}

// holdUpload waits while the queue is more than half full. Recording then needs the processor and the disk.
func (r *recorder) holdUpload(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, uploadHeld)
	defer cancel()
	for r.queue.Bytes() > r.queue.MaxBytes/2 && ctx.Err() == nil {
		select {
		case <-time.After(uploadPace):
		case <-ctx.Done():
		}
	}
}

// uploadSnapshot implements snapshot.Options.OnWritten.
func (r *recorder) uploadSnapshot(path string) {
	if r.uploads != nil {
		r.uploads.Begin(path, true).End()
	}
}

// startUploads starts the goroutine that uploads. finish is called after the recording. It waits until everything is
// sent, upload_timeout is over or insisted ends.
func (r *recorder) startUploads(insisted context.Context) (finish func() error) {
	if r.uploads == nil {
		return func() error { return nil }
	}
	r.uploads.Resume(filepath.Dir(r.options.format().Path(r.name)))
	if folder := r.options.SnapshotFolder; folder != "" {
		r.uploads.Resume(folder)
	}
	ctx, cancel := context.WithCancel(insisted)
	done := make(chan struct{})
	go func() {
		runtime.LockOSThread() // never unlocked, so that the thread ends with the goroutine
		_ = unix.Setpriority(unix.PRIO_PROCESS, 0, uploadNice)
		r.uploads.Run(ctx)
		close(done)
	}()
	return func() error {
		defer cancel()
		r.uploads.Finish(uploadParts)
		if limit := r.options.UploadTimeout; limit > 0 {
			defer time.AfterFunc(limit, cancel).Stop()
		}
		r.showUploads(done)
		return unsentError(r.uploads)
	}
}

// showUploads shows the state of the uploads until done is closed.
func (r *recorder) showUploads(done <-chan struct{}) {
	tick := time.NewTicker(statusPace)
	defer tick.Stop()
	defer r.line.Clear()
	var logged time.Time
	for {
		if text := r.uploads.Status().String(); text != "" {
			text = "[UPLOADING] " + text + "; Ctrl-C leaves the rest for later"
			if r.line.Visible() {
				r.line.Show(text)
			} else if time.Since(logged) >= logPace {
				logged = time.Now()
				r.node.Log(bridge.Info, "%s", text)
			}
		}
		select {
		case <-done:
			return
		case <-tick.C:
		}
	}
}

// unsentError returns an error if files of a queue are not uploaded. The error tells how to continue.
func unsentError(q *upload.Queue) error {
	status := q.Status()
	text := status.String()
	switch {
	case text == "":
		return nil
	case status.Refused == status.Files && status.Files > 0:
		return fmt.Errorf("not uploaded: %s", text)
	}
	return fmt.Errorf("not uploaded: %s; 'recorder upload FOLDER' or the next recorder with --upload goes on", text)
}

// uploadProgress describes the waiting files for the status line, "" if none wait.
func (r *recorder) uploadProgress() string {
	if r.uploads == nil {
		return ""
	}
	status := r.uploads.Status()
	status.Why = ""
	return status.String()
}

// uploadTrouble describes why uploads fail, "" if they do not.
func (r *recorder) uploadTrouble() string {
	if r.uploads == nil {
		return ""
	}
	if status := r.uploads.Status(); status.Why != "" {
		return "not uploaded: " + status.Why
	}
	return ""
}

// uploads returns the diagnostics of the uploads, nil if nothing is uploaded.
func (d *diagnostics) uploads() []diag.DiagnosticStatus {
	if d.recorder.uploads == nil {
		return nil
	}
	t := d.recorder.uploads.Status()
	status := d.Status("upload", "nothing waits", "files", t.Files, "bytes", t.Bytes, "uploaded bytes", t.Proven,
		"waiting since", fmt.Sprintf("%.0f s", t.Since.Seconds()), "sending", t.Sending, "refused", t.Refused,
		"error", t.Why)
	if text := t.String(); text != "" {
		status.Message = text
	}
	if t.Refused > 0 {
		status.Level = diag.DiagnosticStatus_ERROR
	} else if t.Why != "" {
		status.Level = diag.DiagnosticStatus_WARN
	}
	return []diag.DiagnosticStatus{status}
}

// serveUploads offers the service that returns the state of the uploads.
func (r *recorder) serveUploads() {
	_, err := r.node.Serve("~/uploads", "std_srvs/srv/Trigger", func(context.Context, []byte) ([]byte, error) {
		answer := std_srvs.Trigger_Response{Message: "nothing is uploaded: the recorder runs without --upload"}
		if r.uploads != nil {
			status := r.uploads.Status()
			answer.Success, answer.Message = status.Why == "", status.String()
			if answer.Message == "" {
				answer.Message = "everything is uploaded that is finished"
			}
			if status.Sending != "" {
				answer.Message += "; sending " + status.Sending
			}
		}
		return cdr.Marshal(&answer)
	})
	if err != nil {
		r.node.Log(bridge.Warn, "no service uploads: %v", err)
	}
}
