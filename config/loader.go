package config

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/spf13/viper"
)

// Input is what a command was called with, besides its options.
type Input struct {
	Args []string // positional arguments
	ROS  ROSArgs

	// Node and Namespace are the node's after remapping: "recorder" and "/robot". The bridge wants the name before
	// remapping and does it itself; these are for messages.
	Node, Namespace string

	// Extra holds the ROS parameters given for the node that are none of its options, such as use_sim_time or
	// qos_overrides…, as bool, int64, float64, string, or a slice of one of these.
	Extra map[string]any

	// Warnings are sentences for the log: parameters that the node does not know, sections of parameter files that
	// miss it by a namespace. Those that are left when the command returns are behind its error, if that is one of usage.
	Warnings []string

	fields    []field
	named     []named
	installed string    // path of the installed parameter file, which several commands may share; "" if it was not read
	entries   []setting // of named, in the order in which they were given
	sources   map[string]string
}

// Values returns all options by name as the ROS parameters that stand for them: bool, int64, float64, string or
// []string. Durations are in seconds, sizes in bytes.
func (in *Input) Values() map[string]any {
	values := map[string]any{}
	for _, f := range in.fields {
		values[f.Name] = f.ros()
	}
	return values
}

// Source says where the value of a parameter comes from: "flag --max-duration", "drive.yaml line 7", "default".
func (in *Input) Source(name string) string {
	if s, ok := in.sources[name]; ok {
		return s
	}
	return "default"
}

// Set changes an option while the command runs, as `ros2 param set` asks for it: to a bool, a number, a string or a
// []string. The field of the options struct changes, for which the caller holds whatever lock it needs. After an
// error nothing has changed.
func (in *Input) Set(name string, value any) error {
	i := slices.IndexFunc(in.fields, func(f field) bool { return f.Name == name })
	if i < 0 {
		return fmt.Errorf("parameter %s is not known", name)
	}
	s := setting{source: "a request at run time"}
	switch v := value.(type) {
	case []string:
		s.texts, s.list = v, true
	case float64:
		s.texts = []string{strconv.FormatFloat(v, 'f', -1, 64)}
	default:
		s.texts = []string{fmt.Sprint(v)}
	}
	v, err := in.fields[i].parse(s)
	if err != nil {
		return err
	}
	in.fields[i].value.Set(v)
	in.sources[name] = s.source
	return nil
}

// loader fills the options of one command.
type loader struct {
	fields []field
	named  []named
	flags  map[string]*flagValue // by parameter
	config string                // of --config
}

// flagValue collects what was given with a flag; the loader reads it later, with all other sources.
type flagValue struct {
	field *field
	texts []string
}

func (v *flagValue) Set(text string) error {
	if v.Type() != "stringArray" {
		v.texts = nil
	}
	v.texts = append(v.texts, text)
	return nil
}

func (v *flagValue) String() string { return strings.Join(v.texts, ",") }

func (v *flagValue) Type() string {
	switch v.field.Type {
	case "boolean":
		return "bool"
	case "string array":
		return "stringArray"
	}
	return "string"
}

// newLoader gives the command its flags.
func newLoader(cmd *cobra.Command, opts any) *loader {
	fields := fields(opts)
	l := &loader{fields: fields, named: namedFields(opts), flags: map[string]*flagValue{}}
	flags := cmd.Flags()
	flags.SortFlags = false
	aliases := map[string]string{}
	for i := range fields {
		f := &fields[i]
		if f.Flag == "" {
			continue
		}
		v := &flagValue{field: f}
		l.flags[f.Name] = v
		flag := flags.VarPF(v, f.Flag, f.Short, f.Help)
		if f.Type == "boolean" {
			flag.NoOptDefVal = "true"
		}
		for _, alias := range f.Aliases {
			aliases[alias] = f.Flag
		}
	}
	flags.StringVar(&l.config, "config", "", "take defaults from this parameter file")
	flags.BoolP("help", "h", false, "print this help")
	flags.Bool("version", false, "print the version")
	flags.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		name = strings.ReplaceAll(name, "_", "-")
		if flag, ok := aliases[name]; ok {
			name = flag
		}
		return pflag.NormalizedName(name)
	})
	return l
}

// load fills the options from all sources.
func (l *loader) load(cmd *cobra.Command, args []string) (*Input, error) {
	ros, _ := cmd.Context().Value(rosArgsKey{}).(ROSArgs)
	in := &Input{Args: args, ROS: ros, Extra: map[string]any{}, fields: l.fields, named: l.named, sources: map[string]string{}}
	node := cmd.Annotations[NodeName]
	if node == "" {
		node = strings.ReplaceAll(cmd.CommandPath(), " ", "_")
	}
	var err error
	if in.Node, in.Namespace, err = ros.identity(node); err != nil {
		return nil, err
	}

	// Viper keeps the sources apart that replace each other as a whole; those from the command line come one by one.
	v := viper.NewWithOptions(viper.KeyDelimiter("/"))
	if path := l.defaultFile(node); path != "" {
		settings, err := in.readFile(path)
		if err != nil {
			return nil, err
		}
		if l.config == "" {
			in.installed = path
		}
		defaults := map[string]any{}
		for _, s := range in.known(settings) {
			defaults[s.name] = s
		}
		if err := v.MergeConfigMap(defaults); err != nil {
			return nil, err
		}
	}
	for _, f := range l.fields {
		if err := v.BindEnv(append([]string{f.Name}, environment(node, f.Name)...)...); err != nil {
			return nil, err
		}
	}
	for _, p := range ros.Parameters {
		settings, err := in.readROS(p)
		if err != nil {
			return nil, err
		}
		for _, s := range in.known(settings) {
			v.Set(s.name, s)
		}
	}
	for name, flag := range l.flags {
		if len(flag.texts) > 0 {
			v.Set(name, setting{texts: flag.texts, source: "flag --" + flag.field.Flag})
		}
	}
	return in, in.assign(v, node)
}

// environment returns the variables for a parameter, the first that is set counts.
func environment(node, parameter string) []string {
	name := strings.ToUpper(strings.ReplaceAll(parameter, ".", "_"))
	return []string{"TAPEDECK_" + strings.ToUpper(node) + "_" + name, "TAPEDECK_" + name}
}

// defaultFile returns the path of the default parameter file, "" if there is none.
func (l *loader) defaultFile(node string) string {
	if l.config != "" {
		return l.config
	}
	// Both as called and behind symbolic links, which either lead into the installation or, after
	// colcon build --symlink-install, out of it.
	called, _ := exec.LookPath(os.Args[0])
	resolved, _ := os.Executable()
	for _, exe := range []string{called, resolved} {
		path := filepath.Join(filepath.Dir(exe), "../../share/tapedeck/config", node+".yaml")
		if _, err := os.Stat(path); err == nil && exe != "" {
			return path
		}
	}
	return ""
}

func (in *Input) fullName() string {
	return strings.TrimSuffix(in.Namespace, "/") + "/" + in.Node
}

func (in *Input) readFile(path string) ([]setting, error) {
	settings, warnings, err := readFile(path, in.fullName())
	if err != nil {
		return nil, Usagef("%w", err)
	}
	in.Warnings = append(in.Warnings, warnings...)
	return settings, nil
}

// readROS reads one argument -p or --params-file.
func (in *Input) readROS(p ROSParameter) ([]setting, error) {
	if p.File != "" {
		return in.readFile(p.File)
	}
	if p.Node != "" && !matches(split(p.Node), split(in.fullName())) {
		return nil, nil
	}
	s, ok, err := parseValue(p.Name, p.Value)
	if err != nil {
		return nil, Usagef("-p %s:=%s: %w", p.Name, p.Value, err)
	}
	s.source = "-p"
	if !ok {
		return nil, nil
	}
	return []setting{s}, nil
}

// known returns the settings that are options, and keeps the others.
func (in *Input) known(settings []setting) []setting {
	var known []setting
	for _, s := range settings {
		if slices.ContainsFunc(in.fields, func(f field) bool { return f.Name == s.name }) {
			known = append(known, s)
			continue
		}
		if slices.ContainsFunc(in.named, func(n named) bool { _, ok := n.key(s.name); return ok }) {
			in.entries = append(in.entries, s)
			continue
		}
		in.Extra[s.name] = s.value
		in.sources[s.name] = s.source
	}
	return known
}

// assign checks what each option was set to, and sets it if all are right.
func (in *Input) assign(v *viper.Viper, node string) error {
	values := make([]reflect.Value, len(in.fields))
	for i, f := range in.fields {
		var s setting
		switch value := v.Get(f.Name).(type) {
		case nil:
			continue
		case setting:
			s = value
		case string:
			var err error
			if s, err = environmentSetting(f, node, value); err != nil {
				return err
			}
		}
		parsed, err := f.parse(s)
		if err != nil {
			return err
		}
		values[i], in.sources[f.Name] = parsed, s.source
	}
	for i, value := range values {
		if value.IsValid() {
			in.fields[i].value.Set(value)
		}
	}
	if err := in.assignNamed(); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(in.Extra)) {
		if name == "use_sim_time" || name == "start_type_description_service" || strings.HasPrefix(name, "qos_overrides.") {
			continue // every ROS 2 node has these
		}
		if in.installed != "" && strings.HasPrefix(in.sources[name], in.installed+" line ") {
			continue
		}
		in.Warnings = append(in.Warnings, fmt.Sprintf("parameter %s from %s is not one that %s knows", name, in.sources[name], node))
	}
	return nil
}

// environmentSetting returns a value from the environment, where a list is written as in YAML.
func environmentSetting(f field, node, text string) (setting, error) {
	s := setting{texts: []string{text}}
	names := environment(node, f.Name)
	source := names[1]
	if os.Getenv(names[0]) != "" {
		source = names[0]
	}
	if f.Type == "string array" && strings.HasPrefix(text, "[") {
		var err error
		if s, _, err = parseValue(f.Name, text); err != nil {
			return s, Usagef("%s=%s: %w", source, text, err)
		}
	}
	s.source = source
	return s, nil
}
