package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

const (
	helpWidth = 80
	noFlag    = "parameter " // in front of the name of a parameter that has no flag; names of flags have no spaces
)

// help returns the help text of a command. pflag lays out the flags of each group.
func (l *loader) help(cmd *cobra.Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\nUsage:\n  %s\n", strings.TrimSpace(cmp.Or(cmd.Long, cmd.Short)), cmd.UseLine())
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "  %s COMMAND --help\n\nCommands:\n", cmd.CommandPath())
		for _, c := range cmd.Commands() {
			if c.IsAvailableCommand() && c.Name() != "help" {
				fmt.Fprintf(&b, "  %-*s %s\n", c.NamePadding(), c.Name(), c.Short)
			}
		}
	}
	for _, group := range l.groups {
		text := strings.ReplaceAll(group.FlagUsagesWrapped(helpWidth), "--"+noFlag, "  "+noFlag)
		fmt.Fprintf(&b, "\n%s:\n%s", group.Name(), text)
	}
	fmt.Fprintf(&b, "\nGeneral:\n%s", l.general.FlagUsagesWrapped(helpWidth))
	if list := Parameters(l.opts); len(list) > 0 {
		name := list[0].Name
		fmt.Fprintf(&b, "\nEach option is also a ROS parameter, named like the flag with _ for - unless\n"+
			"noted above, and an environment variable:\n\n"+
			"  --ros-args -p %s:=VALUE, --ros-args --params-file FILE, --config FILE\n  %s=VALUE\n\n"+
			"Flags win over ROS arguments, these over the environment, this over --config.\n",
			name, environment("", name)[1])
	}
	return b.String()
}

// Groups returns the options of a command by group, in the order of the help text.
func Groups(opts any) [][]Parameter { return grouped(fields(opts), opts) }

// grouped returns the options of Groups by the fields of opts.
func grouped(list []field, opts any) (groups [][]Parameter) {
	add := func(p Parameter) {
		p.Group = cmp.Or(p.Group, "Options")
		i := slices.IndexFunc(groups, func(g []Parameter) bool { return g[0].Group == p.Group })
		if i < 0 {
			i, groups = len(groups), append(groups, nil)
		}
		groups[i] = append(groups[i], p)
	}
	for i := range list {
		add(list[i].Parameter)
	}
	for _, m := range entryMaps(opts) {
		m.Name += ".NAME.OPTION"
		add(m.Parameter)
	}
	return groups
}

// helpText returns the help, with parameter name, bounds and repetition in brackets. pflag adds the default.
func (p *Parameter) helpText() string {
	var notes []string
	if p.Flag != "" && strings.ReplaceAll(p.Flag, "-", "_") != p.Name {
		notes = append(notes, "parameter "+p.Name)
	}
	if bounds := p.Bounds(); bounds != "" {
		notes = append(notes, bounds)
	}
	if p.Type == "string array" {
		notes = append(notes, "may be repeated")
	}
	if p.Bare != "" {
		notes = append(notes, p.Bare+" without a value")
	}
	if notes == nil {
		return p.Help
	}
	return strings.TrimSpace(p.Help + " (" + strings.Join(notes, "; ") + ")")
}
