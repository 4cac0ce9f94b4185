package recorder

import (
	"fmt"
	"strings"
	"time"

	"tapedeck/bridge/translate/robot"
	"tapedeck/codec"
	"tapedeck/nodes/recorder/internal/diskguard"
	"tapedeck/nodes/recorder/internal/filewriter"
	"tapedeck/nodes/recorder/internal/upload"
)

// defaultName returns the name of a recording that begins at now if the user gave none.
func defaultName(now time.Time) string { return dated("tapedeck", now) }

// recordingName returns the name by the options of a recording that begins at now.
func recordingName(o *options, now time.Time) string {
	switch {
	case o.Output != "":
		return o.Output
	case o.OutputPrefix != "":
		return dated(o.OutputPrefix, now)
	}
	return defaultName(now)
}

// dated appends a time to a name.
func dated(name string, now time.Time) string { return name + "_" + now.Format("2006_01_02-15_04_05") }

// output is a recording on the disk, which the recorder writes to. A session may have several, one after the other.
type output struct {
	filewriter.SizedWriter
	robot *robot.Writer // writer of episodes, the same as Writer; nil for other formats
	name  string        // without the endings that the format adds
	path  string
	files *diskguard.Splits
	sent  *upload.Recording // nil: its files are not uploaded one by one
}

// create creates the recording. It adds the settings of o and s to options.
func (out *output) create(o *options, s *settings, options codec.CreateOptions) (err error) {
	format := o.format()
	options.Format, options.Overwrite, options.Compression = format.Name, o.Overwrite, o.Compression
	options.ChunkSize, options.ChunkDuration, options.ChunkGroups = int(o.ChunkSize), o.ChunkDuration, s.groups
	out.path = format.Path(out.name)
	if format.Robot != nil {
		out.robot, err = format.Robot(out.path, options, s.robot)
		if err != nil {
			return err
		}
		out.Writer, out.Size = out.robot, out.robot.Size
		return nil
	}
	if o.Overwrite {
		if err := format.RemoveRest(options.OnDisk(), format.BareName(out.name)); err != nil {
			return err
		}
	}
	out.Writer, err = (codec.Formats{format.Format}).Create(out.path, options)
	if err != nil {
		return err
	}
	if s.composer != nil {
		composing := s.composer.Writer(out.Writer)
		out.Writer, out.Size = composing, composing.Size
	}
	return nil
}

// parseData parses texts of the form KEY=VALUE.
func parseData(texts []string) (map[string]string, error) {
	data := map[string]string{}
	for _, text := range texts {
		key, value, ok := strings.Cut(text, "=")
		if !ok || key == "" {
			return nil, fmt.Errorf("%q is not allowed, want KEY=VALUE", text)
		}
		data[key] = value
	}
	return data, nil
}
