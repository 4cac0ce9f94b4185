package rosidl

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
)

// ErrUnknownType is wrapped by the errors for a type that no source of a library holds.
var ErrUnknownType = errors.New("unknown type")

// maxDepth is how deep messages may nest, the limit of rosbag2.
const maxDepth = 50

// implied holds what definitions refer to without naming it: ROS 1's "time" and "duration", the events of services, the
// goals of actions. rosbag2 leaves the last two out of its files.
var implied = map[string]string{
	"builtin_interfaces/msg/Time.msg":     "int32 sec\nuint32 nanosec\n",
	"builtin_interfaces/msg/Duration.msg": "int32 sec\nuint32 nanosec\n",
	"service_msgs/msg/ServiceEventInfo.msg": "uint8 REQUEST_SENT=0\nuint8 REQUEST_RECEIVED=1\n" +
		"uint8 RESPONSE_SENT=2\nuint8 RESPONSE_RECEIVED=3\n" +
		"uint8 event_type\nbuiltin_interfaces/Time stamp\nchar[16] client_gid\nint64 sequence_number\n",
	"unique_identifier_msgs/msg/UUID.msg": "uint8[16] uuid\n",
}

// Library is a set of definitions, read when they are asked for. It is safe for concurrent use.
type Library struct {
	fsys  []fs.FS
	texts map[string]string // by path, before fsys
	why   string            // ends the error about an unknown type

	mu       sync.Mutex
	messages map[string]*Message
	services map[string]*Service
}

// NewLibrary returns the library of the definitions in the given file systems, each of which holds
// <package>/msg/<Type>.msg, <package>/srv/<Type>.srv and <package>/action/<Type>.action. A definition that several hold
// is taken from the first.
func NewLibrary(fsys ...fs.FS) *Library {
	return &Library{fsys: fsys, messages: map[string]*Message{}, services: map[string]*Service{}}
}

// Lacking returns a library of the definitions of l, whose errors about unknown types end with the reason why.
func (l *Library) Lacking(why string) *Library {
	other := NewLibrary(l.fsys...)
	other.texts, other.why = l.texts, why
	return other
}

// Message returns the definition of a message: "std_msgs/msg/String", "std_srvs/srv/Trigger_Request", "…_Response", or
// "…_Event", which service introspection publishes; of an action "pkg/action/Dock_Goal", "…_Result", "…_Feedback",
// "…_FeedbackMessage", and those of its services Dock_SendGoal and Dock_GetResult. Every message that it contains is
// known too, and none contains itself. The error wraps ErrUnknownType if the message, or one that it contains, is in no
// source.
func (l *Library) Message(name string) (*Message, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.message(fullName(name), nil)
}

// Service returns the definition of a service, "std_srvs/srv/Trigger". What is said of Message holds for its request
// and response.
func (l *Library) Service(name string) (*Service, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s, err := l.service(name)
	if err != nil {
		return nil, err
	}
	for _, m := range []*Message{s.Request, s.Response} {
		if _, err := l.message(m.Name, nil); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Closure returns a message and all that it contains, each once, those that are nested deeper later.
func (l *Library) Closure(root *Message) ([]*Message, error) {
	all, known := []*Message{root}, map[string]bool{root.Name: true}
	for i := 0; i < len(all); i++ {
		for _, f := range all[i].Fields {
			if f.Type.Kind != Nested || known[f.Type.Message] {
				continue
			}
			known[f.Type.Message] = true
			m, err := l.Message(f.Type.Message)
			if err != nil {
				return nil, err
			}
			all = append(all, m)
		}
	}
	return all, nil
}

// Types returns the names of all messages and services ("std_msgs/msg/String", "std_srvs/srv/Trigger"), sorted. A
// folder that cannot be read counts as empty.
func (l *Library) Types() []string {
	var paths []string
	for p := range l.texts {
		paths = append(paths, p)
	}
	for _, f := range l.fsys {
		for _, pattern := range []string{"*/msg/*.msg", "*/srv/*.srv"} {
			found, _ := fs.Glob(f, pattern) // fails on a bad pattern only
			paths = append(paths, found...)
		}
	}
	for i, p := range paths {
		paths[i] = strings.TrimSuffix(p, path.Ext(p))
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// message returns a message whose containers are given, outermost first.
func (l *Library) message(name string, containers []string) (*Message, error) {
	if m := l.messages[name]; m != nil {
		return m, nil
	}
	if slices.Contains(containers, name) {
		return nil, fmt.Errorf("%s contains itself: %s", name, strings.Join(append(containers, name), " > "))
	}
	if len(containers) >= maxDepth {
		return nil, fmt.Errorf("%s contains messages nested deeper than %d", containers[0], maxDepth)
	}
	m, err := l.read(name)
	if err != nil {
		return nil, err
	}
	containers = append(containers, name)
	for _, f := range m.Fields {
		if f.Type.Kind != Nested {
			continue
		}
		if _, err := l.message(f.Type.Message, containers); err != nil {
			if errors.Is(err, ErrUnknownType) {
				err = fmt.Errorf("field %s of %s: %w", f.Name, name, err)
			}
			return nil, err
		}
	}
	l.messages[name] = m
	return m, nil
}

// read reads a message without those that it contains.
func (l *Library) read(name string) (*Message, error) {
	pkg, _, err := splitName(name)
	if err != nil {
		return nil, err
	}
	_, alone := l.texts[name+".msg"] // a request by itself, from MCAP
	if service, part, ok := cutService(name); ok && !alone {
		if part == "" {
			return nil, fmt.Errorf("%w %s: a service is not a message", ErrUnknownType, name)
		}
		s, err := l.service(service)
		if err != nil {
			return nil, err
		}
		switch part {
		case "_Request":
			return s.Request, nil
		case "_Response":
			return s.Response, nil
		}
		return eventMessage(s), nil
	}
	action, part, ok := cutAction(name)
	if ok && !alone {
		return l.actionMessage(action, part)
	}
	text, err := l.find(name, ".msg")
	if err != nil {
		return nil, err
	}
	return parser{name: name, file: name + ".msg", header: l.header(pkg, text)}.message(text)
}

// actionMessage returns a message of an action that is not one of its services.
func (l *Library) actionMessage(action, part string) (*Message, error) {
	text, err := l.find(action, ".action")
	if err != nil {
		return nil, err
	}
	pkg, _, _ := strings.Cut(action, "/")
	p := parser{name: action + part, file: action + ".action", header: l.header(pkg, text)}
	if part == "_FeedbackMessage" {
		return p.message("unique_identifier_msgs/UUID goal_id\n" + action + "_Feedback feedback\n")
	}
	texts, lines, err := split(text, 3)
	if err != nil {
		return nil, fmt.Errorf("parse %s: %w", p.file, err)
	}
	i := slices.Index(actionParts, part)
	p.line = lines[i]
	return p.message(texts[i])
}

func (l *Library) service(name string) (*Service, error) {
	if s := l.services[name]; s != nil {
		return s, nil
	}
	pkg, kind, err := splitName(name)
	if err != nil {
		return nil, err
	}
	if _, _, ok := cutService(name); !ok {
		return nil, fmt.Errorf("%w %s: not a service", ErrUnknownType, name)
	}
	text, err := l.find(name, ".srv")
	if err != nil && kind == "action" {
		text, err = l.actionService(name)
	}
	if err != nil {
		return nil, err
	}
	s, err := parser{name: name, file: name + ".srv", header: l.header(pkg, text)}.service(text)
	if err != nil {
		return nil, err
	}
	l.services[name] = s
	return s, nil
}

// actionService returns the text of a service of an action.
func (l *Library) actionService(name string) (string, error) {
	if action, ok := strings.CutSuffix(name, "_SendGoal"); ok {
		_, err := l.find(action, ".action")
		return "unique_identifier_msgs/UUID goal_id\n" + action + "_Goal goal\n---\n" +
			"bool accepted\nbuiltin_interfaces/Time stamp\n", err
	}
	action := strings.TrimSuffix(name, "_GetResult")
	_, err := l.find(action, ".action")
	return "unique_identifier_msgs/UUID goal_id\n---\nint8 status\n" + action + "_Result result\n", err
}

// header returns what a bare "Header" means in a package: its own message if it has one.
func (l *Library) header(pkg, text string) string {
	if own := pkg + "/msg/Header"; pkg != "" && strings.Contains(text, "Header") {
		if _, err := l.find(own, ".msg"); err == nil {
			return own
		}
	}
	return stdHeader
}

func (l *Library) find(name, ext string) (string, error) {
	if text, ok := l.texts[name+ext]; ok {
		return text, nil
	}
	for _, f := range l.fsys {
		text, err := fs.ReadFile(f, name+ext)
		if err == nil {
			return string(text), nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("read definition of %s: %w", name, err)
		}
	}
	if text, ok := implied[name+ext]; ok {
		return text, nil
	}
	if l.why != "" {
		return "", fmt.Errorf("%w %s: %s", ErrUnknownType, name, l.why)
	}
	return "", fmt.Errorf("%w %s", ErrUnknownType, name)
}

// eventMessage returns what service introspection publishes about a service.
func eventMessage(s *Service) *Message {
	nested := func(name, message string, shape Shape, length int) Field {
		return Field{Name: name, Type: Type{Kind: Nested, Message: message, Shape: shape, Length: length}}
	}
	return &Message{
		Name: s.Name + "_Event",
		Fields: []Field{
			nested("info", "service_msgs/msg/ServiceEventInfo", Single, 0),
			nested("request", s.Request.Name, Sequence, 1),
			nested("response", s.Response.Name, Sequence, 1),
		},
	}
}

// cutService cuts "pkg/srv/Trigger_Request" into the name of the service and "_Request", "_Response", "_Event" or "".
// ok reports whether the name is that of a service, which an action may have, or of a part of one.
func cutService(name string) (service, part string, ok bool) {
	service = name
	for _, suffix := range []string{"_Request", "_Response", "_Event"} {
		if cut, found := strings.CutSuffix(name, suffix); found {
			service, part = cut, suffix
			break
		}
	}
	ok = strings.Contains(name, "/srv/") || strings.Contains(name, "/action/") &&
		(strings.HasSuffix(service, "_SendGoal") || strings.HasSuffix(service, "_GetResult"))
	return service, part, ok
}

// actionParts are the messages of an action in the order of its definition, then the one that is published.
var actionParts = []string{"_Goal", "_Result", "_Feedback", "_FeedbackMessage"}

// cutAction cuts "pkg/action/Dock_Goal" into the name of the action and one of actionParts.
func cutAction(name string) (action, part string, ok bool) {
	for _, part := range actionParts {
		if action, found := strings.CutSuffix(name, part); found && strings.Contains(name, "/action/") {
			return action, part, true
		}
	}
	return "", "", false
}

// fullName turns ROS 1's "pkg/Type" into "pkg/msg/Type".
func fullName(name string) string {
	if pkg, base, ok := strings.Cut(name, "/"); ok && !strings.Contains(base, "/") {
		return pkg + "/msg/" + base
	}
	return name
}
