package session

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"strings"
	"time"

	"tapedeck/codec"
	"tapedeck/codec/training/align"
	"tapedeck/codec/training/episode"
)

// maxMetadata is the greatest number of bytes of metadata.json that are read.
const maxMetadata = 16 << 20

// metadata is the content of metadata.json. EasyTeleop documents that "devices" has the objects "cameras" and "robots",
// but EasyTeleop writes all devices into one object. Both forms are read.
type metadata struct {
	id, task   string
	success    *bool
	discarded  bool
	start, end int64                      // ns since the Unix epoch; 0: unknown
	devices    map[string]json.RawMessage // descriptions by name of the camera or arm
	events     []codec.Event
	raw        json.RawMessage // the whole file; nil: not a JSON object
}

// event is an event in metadata.json. Times are ns since the Unix epoch.
type event struct {
	Kind  string `json:"kind"`
	Topic string `json:"topic,omitempty"`
	Time  int64  `json:"time"`
	Until int64  `json:"until,omitempty"`
	Count uint64 `json:"count,omitempty"`
	Text  string `json:"text"`
}

// readMetadata reads metadata.json. It calls wrong for each invalid member, and reads the other members.
func readMetadata(r io.Reader, wrong func(error)) *metadata {
	m := &metadata{devices: map[string]json.RawMessage{}}
	text, err := io.ReadAll(io.LimitReader(r, maxMetadata+1))
	if err == nil && len(text) > maxMetadata {
		err = fmt.Errorf("the file has more than %d bytes", maxMetadata)
	}
	if err != nil {
		wrong(err)
		return m
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	var all map[string]json.RawMessage
	if err := json.Unmarshal(text, &all); err != nil {
		wrong(fmt.Errorf("not a JSON object: %w", err))
		return m
	}
	m.raw = text
	get := func(key string, to any) {
		if value, ok := all[key]; ok && string(value) != "null" {
			if err := json.Unmarshal(value, to); err != nil {
				wrong(fmt.Errorf("%s: %.100s", key, err.Error())) // the error may quote much of the file
			}
		}
	}
	get("session_id", &m.id)
	get("task", &m.task)
	get("success", &m.success)
	get("discarded", &m.discarded)
	for key, to := range map[string]*int64{"start_time": &m.start, "end_time": &m.end} {
		var value json.RawMessage
		get(key, &value)
		if value != nil {
			*to, err = parseTime(string(value))
			if err != nil {
				wrong(fmt.Errorf("%s: %w", key, err))
			}
		}
	}
	var events []event
	get("events", &events)
	for _, e := range events {
		m.events = append(m.events, codec.Event(e))
	}
	var devices map[string]json.RawMessage
	get("devices", &devices)
	for key, value := range devices {
		if key != "cameras" && key != "robots" {
			m.devices[key] = value
			continue
		}
		var group map[string]json.RawMessage
		if err := json.Unmarshal(value, &group); err != nil {
			wrong(fmt.Errorf("devices.%s: %.100s", key, err.Error()))
		}
		for name, info := range group {
			m.devices[name] = info
		}
	}
	for name, info := range m.devices {
		if text := bytes.TrimSpace(info); len(text) == 0 || text[0] != '{' {
			delete(m.devices, name)
			if string(text) != "null" {
				wrong(fmt.Errorf("device %.40q is described by %.40q, want an object", name, text))
			}
		}
	}
	return m
}

// parseTime returns a time in ns since the Unix epoch. value is JSON: seconds since 1970 as a number or a text, or a
// date in the form of RFC 3339.
func parseTime(value string) (int64, error) {
	var text string
	if json.Unmarshal([]byte(value), &text) != nil {
		text = value
	}
	ns, err := parseStamp(text)
	if err == nil {
		return ns, nil
	}
	if date, dateErr := time.Parse(time.RFC3339Nano, strings.Replace(text, " ", "T", 1)); dateErr == nil &&
		date.Unix() > 0 && date.Year() < 2262 {
		return date.UnixNano(), nil
	}
	return 0, err
}

// armInfo has the members of an arm's description that sessions use.
type armInfo struct {
	JointUnit    string     `json:"joint_unit"`
	GripperRange [2]float64 `json:"gripper_range"`
}

// parseArm reads the description of an arm. unit is the default of the joint unit. For an invalid description, parseArm
// returns an error and the defaults.
func parseArm(info json.RawMessage, unit string) (armInfo, error) {
	var a armInfo
	if info != nil {
		if err := json.Unmarshal(info, &a); err != nil {
			return armInfo{JointUnit: unit}, err
		}
	}
	switch a.JointUnit {
	case "":
		a.JointUnit = unit
	case "deg", "degree", "degrees":
		a.JointUnit = unitOfEasyTeleop
	case "rad", "radian", "radians":
		a.JointUnit = "rad"
	case episode.UnitUnknown:
	default:
		return armInfo{JointUnit: unit}, fmt.Errorf(`joint_unit %.40q: want "deg", "rad" or %q`, a.JointUnit,
			episode.UnitUnknown)
	}
	return a, nil
}

// unitOfEasyTeleop is the unit of joints in sessions that do not name it.
const unitOfEasyTeleop = "deg"

// defaultUnit returns the unit in which the joints of an arm are written.
func defaultUnit(a *episode.Arm) string {
	for _, r := range []episode.Role{episode.Joint, episode.CommandJoint, episode.Velocity} {
		if v := a.Streams[r]; v != nil && len(v.Columns) > 0 && v.Columns[0].Unit == "" {
			return episode.UnitUnknown
		}
	}
	return unitOfEasyTeleop
}

// describe returns metadata.json for the data written so far. For an unfinished session it omits devices and times,
// because readers take them from the other files. w.describing is held.
func (w *Writer) describe(finished bool) []byte {
	if w.given != nil {
		return w.given
	}
	all := members(w.options.Metadata, map[string]any{})
	if w.options.Task != "" {
		all["task"] = w.options.Task
	}
	if w.options.Success != nil {
		all["success"] = *w.options.Success
	}
	if w.discarded {
		all["discarded"] = true
	}
	if len(w.events) > 0 {
		all["events"] = w.events
	}
	cameras, robots := map[string]any{}, map[string]any{}
	for name, c := range w.cameras {
		if finished {
			cameras[name] = members(c.device, map[string]any{})
		}
	}
	for name, a := range w.arms {
		if !finished {
			continue
		}
		device := members(a.device, map[string]any{"joint_unit": a.info.JointUnit})
		if a.grip != [2]float64{} {
			device["gripper_range"] = a.grip // may differ from the description
		}
		robots[name] = device
	}
	if w.options.EasyTeleop {
		maps.Copy(cameras, robots)
		all["devices"] = cameras
	} else {
		absolute, _ := filepath.Abs(w.path)
		all["session_id"] = filepath.Base(absolute)
		all["devices"] = map[string]any{"cameras": cameras, "robots": robots}
	}
	if w.taken > 0 && finished {
		all["end_time"] = json.RawMessage(align.FormatStamp(w.end))
		if !w.options.EasyTeleop {
			all["start_time"] = json.RawMessage(align.FormatStamp(w.start))
		}
	}
	return marshal(all)
}

// marshal returns a JSON object with indentation.
func marshal(all map[string]any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	_ = e.Encode(all) // cannot fail
	return b.Bytes()
}

// revised returns the metadata of a session with the task, the success, the discard mark and the gripper ranges of e.
// Without a change it returns metadata itself.
func revised(metadata json.RawMessage, e *episode.Episode) json.RawMessage {
	was := readMetadata(bytes.NewReader(metadata), func(error) {})
	all, changed := members(metadata, map[string]any{}), false
	set := func(in map[string]any, key string, value any) { in[key], changed = value, true }
	if e.Task != "" && e.Task != was.task {
		set(all, "task", e.Task)
	}
	if e.Success != nil && (was.success == nil || *was.success != *e.Success) {
		set(all, "success", *e.Success)
	}
	switch {
	case e.Discarded && !was.discarded:
		set(all, "discarded", true)
	case was.discarded && !e.Discarded:
		delete(all, "discarded")
		changed = true
	}
	robots, _ := all["devices"].(map[string]any)
	if grouped, ok := robots["robots"].(map[string]any); ok {
		robots = grouped
	}
	for _, a := range e.Arms {
		known, _ := parseArm(was.devices[a.Name], unitOfEasyTeleop)
		if a.GripperRange == known.GripperRange || a.GripperRange == [2]float64{} {
			continue
		}
		if device, ok := robots[a.Name].(map[string]any); ok {
			set(device, "gripper_range", a.GripperRange)
		} else {
			set(robots, a.Name, map[string]any{"joint_unit": known.JointUnit, "gripper_range": a.GripperRange})
		}
	}
	if !changed {
		return metadata
	}
	return marshal(all)
}

// members returns more with the members of a JSON object. Members of the object replace equal keys of more.
func members(text json.RawMessage, more map[string]any) map[string]any {
	var known map[string]any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if d.Decode(&known) == nil {
		maps.Copy(more, known)
	}
	return more
}
