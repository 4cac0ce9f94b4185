package config

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// ROSArgs has the arguments between --ros-args and "--" on a command line, as rcl parses them. Arguments about rcl's
// own logging are accepted and ignored.
type ROSArgs struct {
	Remaps     []string       // -r, "[node:]from:=to", in order
	Parameters []ROSParameter // -p and --params-file, in order: a later one wins
	Enclave    string         // -e
	LogLevel   string         // --log-level LEVEL, in lower case; "" if not given
}

// ROSParameter is one -p or --params-file argument.
type ROSParameter struct {
	File string // from --params-file; the other fields are then empty

	Node  string // name of the node that gets the value; "": all nodes
	Name  string
	Value string // YAML
}

// SplitROSArgs splits a command line without program name into ROS arguments and the rest. The error wraps ErrUsage.
func SplitROSArgs(argv []string) (ros ROSArgs, rest []string, err error) {
	var args []string
	inside := false
	for _, arg := range argv {
		switch {
		case arg == "--ros-args":
			inside = true
		case !inside:
			rest = append(rest, arg)
		case arg == "--":
			inside = false
		default:
			args = append(args, arg)
		}
	}
	flags := ros.flags()
	err = flags.Parse(args)
	if err == nil && flags.NArg() > 0 {
		err = fmt.Errorf("unexpected argument %s", flags.Arg(0))
	}
	if err != nil {
		return ROSArgs{}, nil, Usagef("--ros-args: %w; end ROS arguments with \"--\" before arguments of the program",
			err)
	}
	return ros, rest, nil
}

// flags returns the flags that are allowed after --ros-args.
func (r *ROSArgs) flags() *pflag.FlagSet {
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.Usage = func() {}
	flags.FuncP("remap", "r", "", r.addRemap)
	flags.FuncP("param", "p", "", r.addParameter)
	flags.Func("params-file", "", func(path string) error {
		r.Parameters = append(r.Parameters, ROSParameter{File: path})
		return nil
	})
	flags.Func("log-level", "", r.setLogLevel)
	flags.StringVarP(&r.Enclave, "enclave", "e", "", "")
	flags.String("log-config-file", "", "")
	flags.String("log-file-name", "", "")
	for _, output := range []string{"stdout-logs", "rosout-logs", "external-lib-logs"} {
		flags.Bool("enable-"+output, false, "")
		flags.Bool("disable-"+output, false, "")
	}
	return flags
}

func (r *ROSArgs) addRemap(rule string) error {
	from, to, ok := strings.Cut(rule, ":=")
	if !ok || from == "" || to == "" {
		return errors.New("want [node:]from:=to")
	}
	r.Remaps = append(r.Remaps, rule)
	return nil
}

func (r *ROSArgs) addParameter(rule string) error {
	name, value, ok := strings.Cut(rule, ":=")
	node, rest, named := strings.Cut(name, ":")
	if !named {
		node, rest = "", name
	}
	if !ok || rest == "" || named && node == "" {
		return errors.New("want [node:]name:=value")
	}
	r.Parameters = append(r.Parameters, ROSParameter{Node: node, Name: rest, Value: value})
	return nil
}

// setLogLevel sets the level for all loggers. It ignores levels of single loggers.
func (r *ROSArgs) setLogLevel(rule string) error {
	logger, level, named := strings.Cut(rule, ":=")
	if !named {
		level = rule
	}
	level = strings.ToLower(level)
	levels := []string{"debug", "info", "warn", "error", "fatal", "unset"} // levels of rcutils
	if !slices.Contains(levels, level) || named && logger == "" {
		return fmt.Errorf("want [logger:=]level with one of the levels %s", strings.Join(levels, ", "))
	}
	if !named {
		r.LogLevel = level
	}
	return nil
}

var (
	nodeName  = regexp.MustCompile(`^[A-Za-z_]\w*$`)
	namespace = regexp.MustCompile(`^/([A-Za-z_]\w*(/[A-Za-z_]\w*)*)?$`)
)

// identity returns the name and namespace of a node after remapping. For each, the first matching rule applies.
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
				return "", "", Usagef("-r %s: %q is not a node name: letters, digits and _, not a digit first", rule,
					to)
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
