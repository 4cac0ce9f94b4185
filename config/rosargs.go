package config

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// ROSArgs holds the arguments between --ros-args and "--" on a command line, as rcl reads it.
type ROSArgs struct {
	Remaps     []string       // -r, "[node:]from:=to", in order
	Parameters []ROSParameter // -p and --params-file, in order: a later one wins
	Enclave    string         // -e

	LogLevel      string            // --log-level LEVEL, in lower case; "" if not given
	LogLevels     map[string]string // --log-level LOGGER:=LEVEL
	LogConfigFile string
	LogFileName   string

	// --enable-… and --disable-…; nil if neither was given.
	StdoutLogs, RosoutLogs, ExternalLibLogs *bool
}

// ROSParameter is one -p or --params-file argument.
type ROSParameter struct {
	File string // of --params-file; the other fields are empty then

	Node  string // the node for which the value is meant; "" for all
	Name  string
	Value string // YAML
}

// SplitROSArgs takes the ROS arguments out of a command line without program name and returns the others as rest. The
// error wraps ErrUsage.
func SplitROSArgs(argv []string) (ros ROSArgs, rest []string, err error) {
	inside := false
	for i := 0; i < len(argv); i++ {
		arg := argv[i]
		switch {
		case arg == "--ros-args":
			inside = true
			continue
		case !inside:
			rest = append(rest, arg)
			continue
		case arg == "--":
			inside = false
			continue
		case ros.toggle(arg):
			continue
		}
		set, ok := map[string]func(value string) error{
			"-r": ros.addRemap, "--remap": ros.addRemap,
			"-p": ros.addParameter, "--param": ros.addParameter,
			"--params-file":     ros.addFile,
			"--log-level":       ros.setLogLevel,
			"-e":                store(&ros.Enclave),
			"--enclave":         store(&ros.Enclave),
			"--log-config-file": store(&ros.LogConfigFile),
			"--log-file-name":   store(&ros.LogFileName),
		}[arg]
		if !ok {
			return ROSArgs{}, nil, Usagef("%s is not an argument that may follow --ros-args; "+
				"end them with \"--\" before arguments of the program", arg)
		}
		i++
		if i == len(argv) {
			return ROSArgs{}, nil, Usagef("%s (behind --ros-args) needs a value", arg)
		}
		if err := set(argv[i]); err != nil {
			return ROSArgs{}, nil, Usagef("%s %s: %w", arg, argv[i], err)
		}
	}
	return ros, rest, nil
}

func store(s *string) func(string) error {
	return func(value string) error {
		*s = value
		return nil
	}
}

// toggle reads --enable-… and --disable-….
func (r *ROSArgs) toggle(arg string) bool {
	what, on := strings.CutPrefix(arg, "--enable-")
	if !on {
		what, _ = strings.CutPrefix(arg, "--disable-")
	}
	toggle := map[string]**bool{
		"stdout-logs": &r.StdoutLogs, "rosout-logs": &r.RosoutLogs, "external-lib-logs": &r.ExternalLibLogs,
	}[what]
	if toggle == nil || what == arg {
		return false
	}
	*toggle = &on
	return true
}

func (r *ROSArgs) addFile(path string) error {
	r.Parameters = append(r.Parameters, ROSParameter{File: path})
	return nil
}

func (r *ROSArgs) addRemap(rule string) error {
	from, to, ok := strings.Cut(rule, ":=")
	if !ok || from == "" || to == "" {
		return Usagef("want [node:]from:=to")
	}
	r.Remaps = append(r.Remaps, rule)
	return nil
}

func (r *ROSArgs) addParameter(rule string) error {
	name, value, ok := strings.Cut(rule, ":=")
	var p ROSParameter
	if node, rest, found := strings.Cut(name, ":"); found {
		p.Node, name = node, rest
		ok = ok && node != ""
	}
	if !ok || name == "" {
		return Usagef("want [node:]name:=value")
	}
	p.Name, p.Value = name, value
	r.Parameters = append(r.Parameters, p)
	return nil
}

func (r *ROSArgs) setLogLevel(rule string) error {
	logger, level, named := strings.Cut(rule, ":=")
	if !named {
		level = rule
	}
	level = strings.ToLower(level)
	levels := []string{"debug", "info", "warn", "error", "fatal", "unset"} // of rcutils
	if !slices.Contains(levels, level) || named && logger == "" {
		return Usagef("want [logger:=]level with one of the levels %s", strings.Join(levels, ", "))
	}
	if !named {
		r.LogLevel = level
		return nil
	}
	if r.LogLevels == nil {
		r.LogLevels = map[string]string{}
	}
	r.LogLevels[logger] = level
	return nil
}

var (
	nodeName  = regexp.MustCompile(`^[A-Za-z_]\w*$`)
	namespace = regexp.MustCompile(`^/([A-Za-z_]\w*(/[A-Za-z_]\w*)*)?$`)
)

// identity returns the name and namespace of a node after the first remapping rule for each that fits it.
func (r *ROSArgs) identity(node string) (name, ns string, err error) {
	for _, rule := range r.Remaps {
		from, to, _ := strings.Cut(rule, ":=")
		only, kind, prefixed := strings.Cut(from, ":")
		if !prefixed {
			kind = from
		} else if only != node {
			continue
		}
		switch kind {
		case "__node", "__name":
			if !nodeName.MatchString(to) {
				return "", "", Usagef("-r %s: %q is not a node name: letters, digits and _, not a digit first", rule, to)
			}
			name = cmp.Or(name, to)
		case "__ns":
			if !namespace.MatchString(to) {
				return "", "", Usagef("-r %s: %q is not a namespace: want an absolute name such as /robot", rule, to)
			}
			ns = cmp.Or(ns, to)
		}
	}
	return cmp.Or(name, node), cmp.Or(ns, "/"), nil
}
