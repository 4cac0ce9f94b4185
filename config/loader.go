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
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/spf13/viper"
)

// Input has the arguments of a command besides its options.
type Input struct {
	Args []string // positional arguments
	ROS  ROSArgs

	// Node and Namespace are the node's name and namespace after remapping: "recorder" and "/robot". They are for
	// messages. The bridge takes the name before remapping and remaps it itself.
	Node, Namespace string

	// Extra has ROS parameters for the node that are not options, such as use_sim_time or qos_overrides…. Values are
	// bool, int64, float64, string, or slices with such elements.
	Extra map[string]any

	// Warnings are lines for the log: unknown parameters, and sections of parameter files for a node with this name in
	// another namespace. Warnings that run has not removed are added to a usage error that it returns.
	Warnings []string

	opts   any
	fields []field
	others map[string]setting // parameters that are not fields: of entry maps, or unknown
	flags  map[string]bool    // parameters that flags set
}

func newInput(node, namespace string, opts any) *Input {
	return &Input{Node: node, Namespace: namespace, Extra: map[string]any{}, opts: opts, fields: fields(opts),
		others: map[string]setting{}, flags: map[string]bool{}}
}

// Flag reports whether a flag of the command line set a parameter.
func (in *Input) Flag(parameter string) bool { return in.flags[parameter] }

// Values returns the values of all options as ROS parameters, by name: bool, int64, float64, string or []string.
// Durations are in seconds, sizes in bytes.
func (in *Input) Values() map[string]any {
	values := map[string]any{}
	for _, f := range in.fields {
		values[f.Name] = f.ros()
	}
	return values
}

// Node is implemented by options of commands that are nodes of the ROS graph. These commands have flags for two ROS
// arguments, --log-level and --use-sim-time.
type Node interface{ OnGraph() }

// loader fills the options of one command.
type loader struct {
	opts    any
	flags   map[string]*flagValue // by parameter
	config  string                // value of --config
	level   string                // value of --log-level
	simTime bool                  // --use-sim-time
	groups  []*pflag.FlagSet      // flags for the help text
	general *pflag.FlagSet        // flags that every command has
	brief   []string              // parameters that the help text shows; nil: all
	about   func() string         // what --version prints besides; nil: nothing
}

// flagValue collects the values given with a flag or an alias. The loader parses them later, with the values from all
// other sources.
type flagValue struct {
	Parameter
	field *field // nil for options of entries, which have no flags
	alias Alias  // the name of this flag, with its unit
	given *given // shared by the flag and its aliases
}

// given has the values of an option on the command line.
type given struct {
	texts []string
	flag  string // name as typed last, "--bytes"; a short flag has its long name
}

// Set implements pflag.Value.
func (v *flagValue) Set(text string) error {
	if v.Parameter.Type != "string array" {
		v.given.texts = nil
	}
	if x, err := parseFloat(text); err == nil {
		before, unit, found := strings.Cut(v.alias.Unit, "%")
		switch {
		case !found:
			text += v.alias.Unit
		case x >= 0: // rosbag2 ignores negative times
			text = before + text + unit
		}
	}
	v.given.texts, v.given.flag = append(v.given.texts, text), "--"+v.alias.Name
	return nil
}

// String implements pflag.Value. The help text shows the result as default.
func (v *flagValue) String() string { return v.Default }

// Type implements pflag.Value. The help text shows the result as placeholder, unless it is bool.
func (v *flagValue) Type() string {
	if v.Bare != "" {
		return "[" + v.Placeholder + "]"
	}
	return cmp.Or(v.Placeholder, "bool")
}

// newLoader adds the flags of opts to the command.
func newLoader(cmd *cobra.Command, opts any) *loader {
	l := &loader{opts: opts, flags: map[string]*flagValue{},
		general: pflag.NewFlagSet("General", pflag.ContinueOnError)}
	list := fields(opts)
	byName := make(map[string]*field, len(list))
	for i := range list {
		byName[list[i].Name] = &list[i]
	}
	flags := cmd.Flags()
	for _, group := range grouped(list, opts) {
		set := pflag.NewFlagSet(group[0].Group, pflag.ContinueOnError)
		set.SortFlags = false
		l.groups = append(l.groups, set)
		for _, p := range group {
			v := &flagValue{Parameter: p, field: byName[p.Name], alias: Alias{Name: p.Flag, Unit: p.Unit},
				given: &given{}}
			shown := set.VarPF(v, cmp.Or(p.Flag, noFlag+p.Name), p.Short, p.helpText())
			if p.Flag == "" {
				continue
			}
			flag := flags.VarPF(v, p.Flag, p.Short, p.Summary) // shell completion shows the summary
			if p.Type == "boolean" {
				flag.NoOptDefVal, shown.NoOptDefVal = "true", "true"
			}
			l.flags[p.Name] = v
			if p.Options != nil { // its only error is about a missing flag
				_ = cmd.RegisterFlagCompletionFunc(p.Flag,
					cobra.FixedCompletions(p.Options, cobra.ShellCompDirectiveNoFileComp))
			}
			for _, alias := range p.Aliases {
				other := *v
				other.alias = alias
				hidden := *flag
				hidden.Name, hidden.Shorthand, hidden.Value, hidden.Hidden = alias.Name, "", &other, true
				flags.AddFlag(&hidden)
			}
		}
	}
	l.general.StringVar(&l.config, "config", "", "Take defaults from this parameter `FILE`.")
	help := l.general.VarPF(&helpFlag{loader: l}, "help", "h", "Print this help, or the help of a topic that follows.")
	help.NoOptDefVal = "true"
	l.general.Bool("version", false, "Print the version.")
	if _, ok := opts.(Node); ok {
		l.general.StringVar(&l.level, "log-level", "", "Log messages from this `LEVEL` on: debug, info, warn or error.")
		l.general.BoolVar(&l.simTime, "use-sim-time", false, "Take the time from /clock.")
	}
	flags.AddFlagSet(l.general)
	flags.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		return pflag.NormalizedName(strings.ReplaceAll(name, "_", "-"))
	})
	return l
}

// load sets the options from all sources. Viper orders the sources: file, environment, command line.
func (l *loader) load(cmd *cobra.Command, args []string) (*Input, error) {
	line := cmp.Or(lineOf(cmd.Context()), &commandLine{})
	ros := line.ros
	node := cmp.Or(cmd.Annotations[NodeName], strings.ReplaceAll(cmd.CommandPath(), " ", "_"))
	name, namespace, err := ros.identity(node)
	if err != nil {
		return nil, err
	}
	in := newInput(name, namespace, l.opts)
	in.Args, in.ROS = args, ros
	v := viper.NewWithOptions(viper.KeyDelimiter("/"))
	if file := cmp.Or(l.config, installedFile(node)); file != "" {
		if err := in.readFile(file, v.SetDefault); err != nil {
			return nil, err
		}
	}
	if l.config == "" { // commands may share an installed file: don't warn of other commands' parameters
		for name, s := range in.others {
			s.source = ""
			in.others[name] = s
		}
	}
	for _, f := range in.fields {
		if err := v.BindEnv(append([]string{f.Name}, environment(node, f.Name)...)...); err != nil {
			return nil, err
		}
	}
	for _, p := range ros.Parameters {
		if err := in.readROS(p, v.Set); err != nil {
			return nil, err
		}
	}
	for name, flag := range l.flags {
		if g := flag.given; len(g.texts) > 0 {
			v.Set(name, setting{texts: g.texts, source: "flag " + g.flag})
			in.flags[name] = true
		}
	}
	if l.level != "" {
		if err := in.ROS.setLogLevel(l.level); err != nil {
			return nil, Usagef("--log-level %s: %w", l.level, err)
		}
	}
	if l.simTime {
		in.others["use_sim_time"] = setting{value: true}
	}
	given := map[string]setting{}
	for _, f := range in.fields {
		switch value := v.Get(f.Name).(type) {
		case setting:
			given[f.Name] = value
		case string:
			given[f.Name], err = environmentSetting(f, node, value)
			if err != nil {
				return nil, err
			}
		}
	}
	if err := in.assign(given, node); err != nil {
		return in, line.explain(cmd.Flags(), err)
	}
	return in, nil
}

// typed replaces flags in the text of an error by the aliases that were typed. It also replaces the names of parameters
// at the beginning of the text: "output, prefix: give one of them".
func (l *loader) typed(err error) error {
	all := err.Error()
	for _, v := range l.flags {
		if v.given.flag != "" {
			all = strings.ReplaceAll(all, "--"+v.Flag+" ", v.given.flag+" ")
		}
	}
	if all != err.Error() {
		err = &renamed{err, all}
	}
	names, text, _ := strings.Cut(all, ": ")
	list := strings.Split(names, ", ")
	for i, name := range list {
		v := l.flags[name]
		if v == nil {
			return err
		}
		list[i] = cmp.Or(v.given.flag, name)
	}
	return &renamed{err, strings.Join(list, ", ") + ": " + text}
}

// renamed is an error with another text.
type renamed struct {
	error
	text string
}

func (e *renamed) Error() string { return e.text }
func (e *renamed) Unwrap() error { return e.error }

// environment returns the names of environment variables for a parameter. The first one that is set counts.
func environment(node, parameter string) []string {
	name := strings.ToUpper(strings.ReplaceAll(parameter, ".", "_"))
	return []string{"TAPEDECK_" + strings.ToUpper(node) + "_" + name, "TAPEDECK_" + name}
}

// environmentSetting returns a setting from the environment. A list is written as in YAML.
func environmentSetting(f field, node, text string) (setting, error) {
	names := environment(node, f.Name)
	source := names[1]
	if os.Getenv(names[0]) != "" {
		source = names[0]
	}
	if f.Type != "string array" || !strings.HasPrefix(text, "[") {
		return setting{texts: []string{text}, source: source}, nil
	}
	s, _, err := parseValue(f.Name, text)
	if err != nil {
		return s, Usagef("%s=%s: %w", source, text, err)
	}
	s.source = source
	return s, nil
}

// installedFile returns the path of the installed parameter file, "" if there is none.
func installedFile(node string) string {
	// Try the path as called and with symbolic links resolved: links lead into the installation or, after
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

// readFile reads the sections of a parameter file for the node. It calls set for its options.
func (in *Input) readFile(path string, set func(name string, s any)) error {
	settings, warnings, err := readFile(path, in.fullName())
	if err != nil {
		return Usagef("%w", err)
	}
	in.Warnings = append(in.Warnings, warnings...)
	for _, s := range settings {
		in.add(s, set)
	}
	return nil
}

// readROS reads one argument -p or --params-file. It calls set for its options.
func (in *Input) readROS(p ROSParameter, set func(name string, s any)) error {
	if p.File != "" {
		return in.readFile(p.File, set)
	}
	if p.Node != "" && !matches(split(p.Node), split(in.fullName())) {
		return nil
	}
	s, ok, err := parseValue(p.Name, p.Value)
	if err != nil {
		return Usagef("-p %s:=%s: %w", p.Name, p.Value, err)
	}
	s.source = "-p"
	if ok {
		in.add(s, set)
	}
	return nil
}

// add calls set for a setting of an option, and keeps a setting of another parameter.
func (in *Input) add(s setting, set func(name string, s any)) {
	if slices.ContainsFunc(in.fields, func(f field) bool { return f.Name == s.name }) {
		set(s.name, s)
	} else {
		in.others[s.name] = s
	}
}

// assign sets the options, then the entries, which begin as copies of them. It warns of unknown parameters.
func (in *Input) assign(given map[string]setting, node string) error {
	if err := apply(in.fields, given); err != nil {
		return err
	}
	all := entryMaps(in.opts)
	for _, parameter := range slices.Sorted(maps.Keys(in.others)) {
		s := in.others[parameter]
		if i := slices.IndexFunc(all, func(m entryMap) bool { return m.entry(parameter) != "" }); i >= 0 {
			all[i].add(all[i].entry(parameter))
			given[parameter] = s
			continue
		}
		in.Extra[parameter] = s.value
		if s.source == "" || parameter == "use_sim_time" || parameter == "start_type_description_service" ||
			strings.HasPrefix(parameter, "qos_overrides.") { // parameters of every ROS 2 node
			continue
		}
		in.Warnings = append(in.Warnings,
			fmt.Sprintf("parameter %s from %s is not one that %s knows", parameter, s.source, node))
	}
	in.fields = fields(in.opts)
	return apply(in.fields, given)
}

// ReadFile sets options, given by a pointer to their struct, from the sections of a ROS 2 parameter file for a node
// with the full name node, such as "/robot/camera_publisher". It ignores other parameters of the sections.
func ReadFile(file, node string, opts any) error {
	in := newInput(path.Base(node), path.Dir(node), opts)
	given := map[string]setting{}
	err := in.readFile(file, func(name string, s any) { given[name] = s.(setting) })
	if err != nil {
		return err
	}
	return in.assign(given, node)
}

// Assign sets options, given by a pointer to their struct, from texts NAME=VALUE. NAME is the name of a flag, without
// dashes in front, or of a parameter. Several values of a list add up. After an error no option is set.
func Assign(opts any, texts []string) error {
	list := fields(opts)
	given := map[string]setting{}
	for _, text := range texts {
		name, value, ok := strings.Cut(text, "=")
		i := slices.IndexFunc(list, func(f field) bool { return f.named(name) })
		switch {
		case !ok:
			return Usagef("option %q: want NAME=VALUE", text)
		case i < 0:
			return Usagef("option %q: unknown option %s", text, name)
		}
		f := &list[i]
		s := setting{source: "option " + text, texts: append(given[f.Name].texts, value)}
		if len(s.texts) > 1 && f.Type != "string array" {
			return Usagef("option %s is given %d times", f.Name, len(s.texts))
		}
		given[f.Name] = s
	}
	return apply(list, given)
}

// named reports whether name is the name of the parameter, of its flag or of an alias.
func (f *field) named(name string) bool {
	flag := strings.ReplaceAll(name, "_", "-")
	return name == f.Name || f.Flag != "" && flag == f.Flag ||
		slices.ContainsFunc(f.Aliases, func(a Alias) bool { return a.Name == flag })
}
