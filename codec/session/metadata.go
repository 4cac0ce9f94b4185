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
)

// maxMetadata is how many bytes of metadata.json are read at most.
const maxMetadata = 16 << 20

// metadata is the content of metadata.json, either with the devices by kind, as documented, or with all in one object,
// as EasyTeleop writes it.
type metadata struct {
	id, task   string
	success    *bool
	start, end int64 // ns since the Unix epoch; 0 is unknown
	devices    map[string]json.RawMessage
	events     []codec.Event
	raw        json.RawMessage
}

// event is one in metadata.json. Times are ns since the Unix epoch.
type event struct {
	Kind  string `json:"kind"`
	Topic string `json:"topic,omitempty"`
	Time  int64  `json:"time"`
	Until int64  `json:"until,omitempty"`
	Count uint64 `json:"count,omitempty"`
	Text  string `json:"text"`
}

// readMetadata reads metadata.json. It reports what is wrong and uses the rest.
func readMetadata(r io.Reader, wrong func(error)) *metadata {
	m := &metadata{devices: map[string]json.RawMessage{}}
	text, err := io.ReadAll(io.LimitReader(r, maxMetadata+1))
	if err == nil && len(text) > maxMetadata {
		err = fmt.Errorf("it has more than %d bytes", maxMetadata)
	}
	if err != nil {
		wrong(err)
		return m
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil {
		wrong(fmt.Errorf("not a JSON object: %w", err))
		return m
	}
	m.raw = text
	get := func(key string, to any) {
		if value, ok := members[key]; ok && string(value) != "null" {
			if err := json.Unmarshal(value, to); err != nil {
				wrong(fmt.Errorf("%s: %.100s", key, err.Error())) // which may quote the file
			}
		}
	}
	get("session_id", &m.id)
	get("task", &m.task)
	get("success", &m.success)
	for key, to := range map[string]*int64{"start_time": &m.start, "end_time": &m.end} {
		var value json.RawMessage
		if get(key, &value); value != nil {
			if *to, err = parseTime(string(value)); err != nil {
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

// parseTime reads seconds since 1970, as a number or a text, or a date as in RFC 3339.
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

// armInfo is the part of the description of an arm that sessions use.
type armInfo struct {
	JointUnit    string     `json:"joint_unit"`
	GripperRange [2]float64 `json:"gripper_range"`
}

// parseArm reads the description of an arm. With an error it returns the defaults.
func parseArm(info json.RawMessage) (armInfo, error) {
	var a armInfo
	if info != nil {
		if err := json.Unmarshal(info, &a); err != nil {
			return armInfo{JointUnit: "deg"}, err
		}
	}
	switch a.JointUnit {
	case "", "deg", "degree", "degrees":
		a.JointUnit = "deg"
	case "rad", "radian", "radians":
		a.JointUnit = "rad"
	default:
		return armInfo{JointUnit: "deg"}, fmt.Errorf(`joint_unit %.40q: want "deg" or "rad"`, a.JointUnit)
	}
	return a, nil
}

// describe returns metadata.json for what was written so far.
func (w *Writer) describe() []byte {
	if w.given != nil {
		return w.given
	}
	object := map[string]any{}
	var more map[string]json.RawMessage
	_ = json.Unmarshal(w.options.Metadata, &more) // as Create has checked
	for key, value := range more {
		object[key] = value
	}
	if w.options.Task != "" {
		object["task"] = w.options.Task
	}
	if w.options.Success != nil {
		object["success"] = *w.options.Success
	}
	if len(w.events) > 0 {
		object["events"] = w.events
	}
	cameras, robots := map[string]any{}, map[string]any{}
	for name, c := range w.cameras {
		cameras[name] = deviceOf(c.device, map[string]any{})
	}
	for name, a := range w.arms {
		more := map[string]any{"joint_unit": a.info.JointUnit}
		if a.grip != [2]float64{} {
			more["gripper_range"] = a.grip
		}
		robots[name] = deviceOf(a.device, more)
	}
	if w.options.EasyTeleop {
		maps.Copy(cameras, robots)
		object["devices"] = cameras
	} else {
		absolute, _ := filepath.Abs(w.path)
		object["session_id"] = filepath.Base(absolute)
		object["devices"] = map[string]any{"cameras": cameras, "robots": robots}
	}
	if w.taken > 0 {
		object["end_time"] = json.RawMessage(formatStamp(w.end))
		if !w.options.EasyTeleop {
			object["start_time"] = json.RawMessage(formatStamp(w.start))
		}
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	_ = e.Encode(object) // cannot fail
	return b.Bytes()
}

// deviceOf returns the description of a device, with more members.
func deviceOf(device json.RawMessage, more map[string]any) map[string]any {
	var known map[string]any
	d := json.NewDecoder(bytes.NewReader(device))
	d.UseNumber()
	if d.Decode(&known) == nil {
		maps.Copy(more, known)
	}
	return more
}
