package live

import (
	"encoding/json"

	"tapedeck/bridge/translate/robot"
	"tapedeck/codec"
	"tapedeck/codec/format/session"
)

// recordSessions is Format.Robot of the format session.
func recordSessions(path string, o codec.CreateOptions, m *robot.Mapping) (*robot.Writer, error) {
	s := session.Options{Disk: o.Disk, Overwrite: o.Overwrite, Dated: o.Dated, Ending: o.Ending}
	if m != nil {
		s.Task = m.Task
	}
	if len(o.Metadata) > 0 {
		var err error
		s.Metadata, err = json.Marshal(o.Metadata)
		if err != nil {
			return nil, err
		}
	}
	r, err := session.Record(path, s, o.Completed)
	if err != nil {
		return nil, err
	}
	return robot.NewWriter(r, m), nil
}
