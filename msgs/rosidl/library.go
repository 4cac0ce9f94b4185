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

// ErrUnknownType is wrapped by the errors for a type that a library does not define.
var ErrUnknownType = errors.New("unknown type")

// maxDepth is the deepest nesting of messages, as in rosbag2.
const maxDepth = 50

// impliedTexts has the messages that definitions use without naming them: for ROS 1's "time" and "duration", for events
// of services and for goals of actions. rosbag2 omits the last two from its files.
var impliedTexts = map[string]string{
	"builtin_interfaces/msg/Time.msg":     "int32 sec\nuint32 nanosec\n",
	"builtin_interfaces/msg/Duration.msg": "int32 sec\nuint32 nanosec\n",
	"service_msgs/msg/ServiceEventInfo.msg": "uint8 REQUEST_SENT=0\nuint8 REQUEST_RECEIVED=1\n" +
		"uint8 RESPONSE_SENT=2\nuint8 RESPONSE_RECEIVED=3\n" +
		"uint8 event_type\nbuiltin_interfaces/Time stamp\nchar[16] client_gid\nint64 sequence_number\n",
	"unique_identifier_msgs/msg/UUID.msg": "uint8[16] uuid\n",
}

// Library is a set of definitions, which are read on demand. It is safe for concurrent use.
type Library struct {
	fsys  []fs.FS
	texts map[string]string // definitions by path, which precede definitions in fsys
	hint  string            // end of errors about an unknown type

	mu       sync.Mutex // guards the maps below
	messages map[string]*Message
	services map[string]*Service
}

// NewLibrary returns the library of the definitions in file systems with the files <package>/msg/<Type>.msg,
// <package>/srv/<Type>.srv and <package>/action/<Type>.action. The first file system that has a definition wins.
func NewLibrary(fsys ...fs.FS) *Library {
	return &Library{fsys: fsys, messages: map[string]*Message{}, services: map[string]*Service{}}
}

// WithHint returns a library with the definitions of l whose errors about unknown types end with a hint.
func (l *Library) WithHint(hint string) *Library {
	other := NewLibrary(l.fsys...)
	other.texts, other.hint = l.texts, hint
	return other
}

// Message returns the definition of a message. The name may be:
//   - the name of a .msg file, "std_msgs/msg/String";
//   - the name of a service followed by "_Request", "_Response", or "_Event", which service introspection publishes;
//   - the name of an action, "pkg/action/Dock", followed by "_Goal", "_Result", "_Feedback" or "_FeedbackMessage";
//   - the name of a message of an action's services, Dock_SendGoal and Dock_GetResult.
//
// The library also defines all messages that the message contains, and none contains itself. The error wraps
// ErrUnknownType if the library does not define the message or a contained message.
func (l *Library) Message(name string) (*Message, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.message(fullName(name), nil)
}

// Service returns the definition of a service, "std_srvs/srv/Trigger". The library also defines all messages that
// request and response contain, as for Message.
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

// Closure returns a message and all messages that it contains, each once, in the order of their depth.
func (l *Library) Closure(root *Message) ([]*Message, error) {
	all, seen := []*Message{root}, map[string]bool{root.Name: true}
	for i := 0; i < len(all); i++ {
		for _, f := range all[i].Fields {
			if f.Type.Kind != Nested || seen[f.Type.Message] {
				continue
			}
			seen[f.Type.Message] = true
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
			found, _ := fs.Glob(f, pattern) // only a bad pattern is an error
			paths = append(paths, found...)
		}
	}
	for i, p := range paths {
		paths[i] = strings.TrimSuffix(p, path.Ext(p))
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// message returns a message. containers are the messages that contain it, outermost first. The caller holds l.mu.
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

// read reads a message without the messages that it contains.
func (l *Library) read(name string) (*Message, error) {
	pkg, _, err := splitName(name)
	if err != nil {
		return nil, err
	}
	_, separate := l.texts[name+".msg"] // MCAP files may have the request without the service
	if service, suffix, ok := cutService(name); ok && !separate {
		if suffix == "" {
			return nil, fmt.Errorf("%w %s: a service is not a message", ErrUnknownType, name)
		}
		s, err := l.service(service)
		if err != nil {
			return nil, err
		}
		switch suffix {
		case "_Request":
			return s.Request, nil
		case "_Response":
			return s.Response, nil
		}
		return eventMessage(s), nil
	}
	action, suffix, ok := cutAction(name)
	if ok && !separate {
		return l.actionMessage(action, suffix)
	}
	text, err := l.find(name, ".msg")
	if err != nil {
		return nil, err
	}
	return parser{name: name, file: name + ".msg", header: l.header(pkg, text)}.message(text)
}

// actionMessage returns the message of an action with one of actionSuffixes.
func (l *Library) actionMessage(action, suffix string) (*Message, error) {
	text, err := l.find(action, ".action")
	if err != nil {
		return nil, err
	}
	pkg, _, _ := strings.Cut(action, "/")
	p := parser{name: action + suffix, file: action + ".action", header: l.header(pkg, text)}
	if suffix == "_FeedbackMessage" {
		return p.message("unique_identifier_msgs/UUID goal_id\n" + action + "_Feedback feedback\n")
	}
	texts, lines, err := splitSections(text, 3)
	if err != nil {
		return nil, fmt.Errorf("parse %s: %w", p.file, err)
	}
	i := slices.Index(actionSuffixes, suffix)
	p.line = lines[i]
	return p.message(texts[i])
}

// service returns a service, without a check of the contained messages. The caller holds l.mu.
func (l *Library) service(name string) (*Service, error) {
	if s := l.services[name]; s != nil {
		return s, nil
	}
	pkg, kind, err := splitName(name)
	if err != nil {
		return nil, err
	}
	if _, _, ok := cutService(name); !ok {
		return nil, fmt.Errorf("%w %s: the type is not a service", ErrUnknownType, name)
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

// header returns the message that a bare "Header" in text names: the Header of the package, or else std_msgs' Header.
func (l *Library) header(pkg, text string) string {
	if own := pkg + "/msg/Header"; pkg != "" && strings.Contains(text, "Header") {
		if _, err := l.find(own, ".msg"); err == nil {
			return own
		}
	}
	return stdHeader
}

// find returns the text of the file name+ext.
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
	if text, ok := impliedTexts[name+ext]; ok {
		return text, nil
	}
	if l.hint != "" {
		return "", fmt.Errorf("%w %s: %s", ErrUnknownType, name, l.hint)
	}
	return "", fmt.Errorf("%w %s", ErrUnknownType, name)
}

// eventMessage returns the message that service introspection publishes about a service.
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
// ok reports whether the name belongs to a service, or to a service of an action.
func cutService(name string) (service, suffix string, ok bool) {
	service = name
	for _, s := range []string{"_Request", "_Response", "_Event"} {
		if cut, found := strings.CutSuffix(name, s); found {
			service, suffix = cut, s
			break
		}
	}
	ok = strings.Contains(name, "/srv/") || strings.Contains(name, "/action/") &&
		(strings.HasSuffix(service, "_SendGoal") || strings.HasSuffix(service, "_GetResult"))
	return service, suffix, ok
}

// actionSuffixes are the suffixes of the names of an action's messages: first the messages of the definition, in order,
// then the message that publishes feedback.
var actionSuffixes = []string{"_Goal", "_Result", "_Feedback", "_FeedbackMessage"}

// cutAction cuts "pkg/action/Dock_Goal" into the name of the action and one of actionSuffixes.
func cutAction(name string) (action, suffix string, ok bool) {
	for _, suffix := range actionSuffixes {
		if action, found := strings.CutSuffix(name, suffix); found && strings.Contains(name, "/action/") {
			return action, suffix, true
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
