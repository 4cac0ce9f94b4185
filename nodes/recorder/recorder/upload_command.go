package recorder

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/codec/store"
	"tapedeck/codec/text/human"
	"tapedeck/config"
	"tapedeck/nodes/internal/progress"
	"tapedeck/nodes/recorder/internal/upload"
)

// uploadCommandOptions are the parameters of the command upload.
type uploadCommandOptions struct {
	transferOptions
	Overwrite bool `param:"overwrite" group:"Upload"`
	Parallel  int  `param:"parallel" group:"Upload" min:"1" max:"64"`
}

func (*uploadCommandOptions) OptionTexts() string { return optionTexts }

func newUpload() *cobra.Command {
	o := uploadCommandOptions{Parallel: 4}
	const long = `Uploads the recordings in a folder, or one recording, to a folder of an S3
store. It goes on with what a recorder with --upload has begun, whose URL need
not be named again. Nothing is sent twice, and each file is proven to be there
by a checksum. The last object of a recording is recording.json.`
	cmd := config.New("upload FOLDER [URL]", "Upload recordings that are on the disk", long, &o,
		func(ctx context.Context, in *config.Input) error { return o.upload(ctx, in.Args) })
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) < 1 || len(args) > 2 {
			return config.Usagef("got %s; the usage is: %s", human.Count(len(args), "path"), cmd.UseLine())
		}
		return nil
	}
	return cmd
}

// upload uploads the recordings at the path in args[0] to the URL in args[1]. Without a URL it continues uploads that
// were begun, to their URL.
func (o *uploadCommandOptions) upload(ctx context.Context, args []string) error {
	disk := codec.OS{}
	var url string
	if len(args) > 1 {
		url = args[1]
	} else {
		urls, err := upload.URLs(disk, args[0])
		switch {
		case err != nil:
			return fmt.Errorf("upload: %w", err)
		case len(urls) > 1:
			return config.Usagef("recordings in %s go to %s; name one of them behind it", args[0], human.List(urls))
		case len(urls) == 0:
			return config.Usagef("name the URL to upload to: recorder upload %s s3://BUCKET/FOLDER", args[0])
		}
		url = urls[0]
	}
	if err := store.CanUpload(url); err != nil {
		return config.Usagef("%w", err)
	}
	path, err := filepath.Abs(args[0])
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err != nil {
		return fmt.Errorf("upload: %w", err)
	}
	options := o.queue(disk, url, o.Overwrite)
	var bar *progress.Bar
	options.Log = func(level bridge.LogLevel, format string, args ...any) {
		if level >= bridge.Warn {
			bar.Hide()
			fmt.Fprintf(human.Stderr, format+"\n", args...)
		}
	}
	options.Note = func(string, time.Time) {}
	q := upload.New(options)
	recordings, omitted := q.Add(path)
	if recordings == 0 {
		return omitted
	}
	bar = progress.Bytes(os.Stderr, "uploading", q.Scan())
	done := make(chan struct{})
	q.Finish(o.Parallel)
	go func() {
		q.Run(ctx)
		close(done)
	}()
	for tick := time.Tick(100 * time.Millisecond); ; {
		select {
		case <-tick:
			bar.Set(q.Status().Stored())
			continue
		case <-done:
		}
		break
	}
	bar.Close()
	status := q.Status()
	fmt.Fprintf(human.Stdout, "%s: %s, %s are in the store\n", url, human.Count(recordings, "recording"),
		human.Bytes(status.Proven))
	return errors.Join(ctx.Err(), omitted, unsentError(q))
}
