package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"tapedeck/codec"
	"tapedeck/nodes/internal/progress"
)

// shownDamage is how many damaged places are reported one by one.
const shownDamage = 20

// recoverOptions are the parameters of recover.
type recoverOptions struct {
	outputOptions
}

// salvage writes a complete copy of everything that can be read of the recording at paths[0], to paths[1] if given.
func (o *recoverOptions) salvage(ctx context.Context, paths []string, stdout, stderr io.Writer) error {
	in, err := openDamaged(paths[0])
	if err != nil {
		return err
	}
	ins := inputs{in}
	defer ins.Close()
	format := o.To
	if format == "" && (len(paths) == 1 || !named(paths[1])) {
		format = in.info.Format
	}
	path := recoveredName(in.path, format)
	if len(paths) > 1 {
		path = paths[1]
	}
	out, err := newOutput(path, format, o.Overwrite, ins)
	if err != nil {
		return err
	}
	defer out.Close()

	damaged := 0
	c := copier{
		channels: newChannels(ins.infos(), (&codec.Query{}).Wants), start: in.info.StartTime, required: true,
		bar: progress.Seconds(os.Stderr, "recovering", span(in.info)),
	}
	it, err := in.reader.Read(codec.Query{Damaged: func(err error) {
		damaged++
		if damaged <= shownDamage {
			c.bar.Hide()
			fmt.Fprintln(stderr, "damaged:", err)
		}
	}})
	if err != nil {
		return err
	}
	defer it.Close()
	options := o.create()
	options.Metadata, options.Salvaged = in.info.Metadata, true
	err = c.run(ctx, it, out, options)
	c.bar.Close()
	if damaged > shownDamage {
		fmt.Fprintf(stderr, "damaged: and %d more places\n", damaged-shownDamage)
	}
	if errors.Is(err, errNoMessages) {
		return fmt.Errorf("recover %s: no message could be saved", in.path)
	}
	if err != nil {
		return err
	}
	fmt.Fprintln(stdout, c.summary(out.path))
	switch {
	case damaged > 0:
		fmt.Fprintln(stdout, count(damaged, "damaged place"))
	case in.info.Complete:
		fmt.Fprintln(stdout, "nothing was damaged")
	default:
		fmt.Fprintln(stdout, "the recording was not complete; everything that can be read of it is saved")
	}
	if lost := int64(in.info.MessageCount) - int64(c.messages); lost > 0 {
		fmt.Fprintf(stdout, "of %s %d are lost\n", count(in.info.MessageCount, "message"), lost)
	}
	return nil
}

// openDamaged opens a recording, by its name if its beginning is not recognised but something behind it is.
func openDamaged(path string) (*input, error) {
	in, err := openInput(path)
	if err == nil || !errors.Is(err, codec.ErrUnknownFormat) {
		return in, err
	}
	for _, f := range codec.Formats() {
		if !f.Named(strings.TrimSuffix(path, codec.ActiveSuffix)) {
			continue
		}
		reader, openErr := f.Open(path)
		if openErr != nil {
			continue
		}
		in, openErr := newInput(path, reader)
		if openErr != nil {
			continue
		}
		if in.anyMessage() {
			return in, nil
		}
		in.Close()
	}
	return nil, err
}

// anyMessage says whether there is a message that can be read, behind whatever damage.
func (i *input) anyMessage() bool {
	it, err := i.reader.Read(codec.Query{Damaged: func(error) {}})
	if err != nil {
		return false
	}
	defer it.Close()
	_, err = it.Next()
	return err == nil
}

// recoveredName is what the copy of path is called when the user does not say: "drive.record.00000.recover", as Apollo's
// cyber_recorder has it, or "drive.recover.mcap" where that would not name the format.
func recoveredName(path, format string) string {
	path = strings.TrimSuffix(filepath.Clean(path), codec.ActiveSuffix)
	ext := filepath.Ext(path)
	for _, name := range []string{path + ".recover", strings.TrimSuffix(path, ext) + ".recover" + ext, path + ".recover." + format} {
		if namedAs(name, format) {
			return name
		}
	}
	return path + ".recover"
}

func namedAs(path, format string) bool {
	for _, f := range codec.Formats() {
		if f.Name == format {
			return f.Named(path)
		}
	}
	return false
}

// named says whether the name of path says in which format to write it.
func named(path string) bool {
	for _, f := range codec.Formats() {
		if f.Create != nil && f.Named(path) {
			return true
		}
	}
	return false
}
