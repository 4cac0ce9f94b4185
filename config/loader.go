package config

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
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

	// Warnings are sentences for the log: unknown parameters, and sections of parameter files for a node of this name
	// in another namespace. An error of wrong usage that the command returns repeats those left by then.
	Warnings []string

	opts      any
	fields    []field
	entries   []setting // of entry maps, in the order in which they were given
	sources   map[string]string
	installed string // path of the installed parameter file, which several commands may share; "" if it was not read
}

func newInput(node, namespace string, opts any) *Input {
	return &Input{Node: node, Namespace: namespace, Extra: map[string]any{}, opts: opts, fields: fields(opts),
		sources: map[string]string{}}
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

// Source returns where the value of a parameter comes from: "flag --max-duration", "drive.yaml line 7", "default".
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
	if !in.has(name) {
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
	return in.apply(map[string]setting{name: s})
}

func (in *Input) has(name string) bool {
	return slices.ContainsFunc(in.fields, func(f field) bool { return f.Name == name })
}

// apply sets options and notes the sources. After an error nothing is set.
func (in *Input) apply(given map[string]setting) error {
	if err := apply(in.fields, given); err != nil {
		return err
	}
	for name, s := range given {
		in.sources[name] = s.source
	}
	return nil
}

// loader fills the options of one command.
type loader struct {
	opts   any
	fields []field
	flags  map[string]*flagValue // by parameter
	config string                // of --config
}

// flagValue collects what was given with a flag; the loader parses it later, with all other sources.
type flagValue struct {
	field *field
	texts []string
}

func (v *flagValue) Set(text string) error {
	if v.field.Type != "string array" {
		v.texts = nil
	}
	v.texts = append(v.texts, text)
	return nil
}

func (v *flagValue) String() string { return strings.Join(v.texts, ",") }
func (v *flagValue) Type() string   { return v.field.Type }

// newLoader gives the command its flags.
func newLoader(cmd *cobra.Command, opts any) *loader {
	l := &loader{opts: opts, fields: fields(opts), flags: map[string]*flagValue{}}
	flags := cmd.Flags()
	flags.SortFlags = false
	aliases := map[string]string{}
	for i := range l.fields {
		f := &l.fields[i]
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

// load fills the options from all sources. Viper orders them: file, environment, command line.
func (l *loader) load(cmd *cobra.Command, args []string) (*Input, error) {
	ros, _ := cmd.Context().Value(rosArgsKey{}).(ROSArgs)
	node := cmp.Or(cmd.Annotations[NodeName], strings.ReplaceAll(cmd.CommandPath(), " ", "_"))
	name, namespace, err := ros.identity(node)
	if err != nil {
		return nil, err
	}
	in := newInput(name, namespace, l.opts)
	in.Args, in.ROS = args, ros
	v := viper.NewWithOptions(viper.KeyDelimiter("/"))
	file := l.config
	if file == "" {
		in.installed = installedFile(node)
		file = in.installed
	}
	if file != "" {
		settings, err := in.readFile(file)
		if err != nil {
			return nil, err
		}
		for _, s := range in.known(settings) {
			v.SetDefault(s.name, s)
		}
	}
	for _, f := range in.fields {
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
	given := map[string]setting{}
	for _, f := range in.fields {
		switch value := v.Get(f.Name).(type) {
		case setting:
			given[f.Name] = value
		case string:
			if given[f.Name], err = environmentSetting(f, node, value); err != nil {
				return nil, err
			}
		}
	}
	return in, in.assign(given, node)
}

// environment returns the variables for a parameter; the first that is set counts.
func environment(node, parameter string) []string {
	name := strings.ToUpper(strings.ReplaceAll(parameter, ".", "_"))
	return []string{"TAPEDECK_" + strings.ToUpper(node) + "_" + name, "TAPEDECK_" + name}
}

// installedFile returns the path of the installed parameter file, "" if there is none.
func installedFile(node string) string {
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

func (in *Input) fullName() string { return strings.TrimSuffix(in.Namespace, "/") + "/" + in.Node }

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

// known returns the settings of options. It keeps those of entry maps and of other parameters in in.
func (in *Input) known(settings []setting) []setting {
	var known []setting
	entryMaps := entryMaps(in.opts)
	for _, s := range settings {
		switch {
		case in.has(s.name):
			known = append(known, s)
		case slices.ContainsFunc(entryMaps, func(m entryMap) bool { _, ok := m.entry(s.name); return ok }):
			in.entries = append(in.entries, s)
		default:
			in.Extra[s.name] = s.value
			in.sources[s.name] = s.source
		}
	}
	return known
}

// assign sets the options, then the entries, which begin as copies of them, and warns of unknown parameters.
func (in *Input) assign(given map[string]setting, node string) error {
	if err := in.apply(given); err != nil {
		return err
	}
	entries := map[string]setting{}
	for _, s := range in.entries {
		for _, m := range entryMaps(in.opts) {
			if name, ok := m.entry(s.name); ok {
				m.add(name)
			}
		}
		entries[s.name] = s
	}
	in.fields = fields(in.opts)
	if err := in.apply(entries); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(in.Extra)) {
		if name == "use_sim_time" || name == "start_type_description_service" || strings.HasPrefix(name, "qos_overrides.") {
			continue // every ROS 2 node has these
		}
		source := in.sources[name]
		if in.installed != "" && strings.HasPrefix(source, in.installed+" line ") {
			continue
		}
		in.Warnings = append(in.Warnings, fmt.Sprintf("parameter %s from %s is not one that %s knows", name, source, node))
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

// ReadFile sets options, given by a pointer to their struct, from the sections of a ROS 2 parameter file for a node of
// that full name, "/robot/camera_publisher". Other parameters of the sections are left alone.
func ReadFile(file, node string, opts any) error {
	in := newInput(path.Base(node), path.Dir(node), opts)
	settings, err := in.readFile(file)
	if err != nil {
		return err
	}
	given := map[string]setting{}
	for _, s := range in.known(settings) {
		given[s.name] = s
	}
	return in.assign(given, node)
}
