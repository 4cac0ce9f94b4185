package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

const (
	helpWidth  = 80
	helpIndent = 28 // where the text beside the flags begins
)

// help returns the help text of a command.
func (l *loader) help(cmd *cobra.Command) string {
	var b strings.Builder
	about := cmd.Long
	if about == "" {
		about = cmd.Short
	}
	wrap(&b, 0, about)
	fmt.Fprintf(&b, "\nUsage:\n  %s\n", cmd.UseLine())
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "  %s COMMAND --help\n\nCommands:\n", cmd.CommandPath())
		for _, c := range cmd.Commands() {
			if c.IsAvailableCommand() && c.Name() != "help" {
				writeEntry(&b, "  "+c.Name(), c.Short)
			}
		}
	}
	for _, group := range groups(l.opts) {
		fmt.Fprintf(&b, "\n%s:\n", group[0].Group)
		for _, p := range group {
			writeEntry(&b, p.flagText(), p.helpText())
		}
	}
	b.WriteString("\nGeneral:\n")
	writeEntry(&b, "      --config FILE", "take defaults from this parameter file")
	writeEntry(&b, "  -h, --help", "print this help")
	writeEntry(&b, "      --version", "print the version")
	if len(l.fields) > 0 {
		name := l.fields[0].Name
		b.WriteByte('\n')
		wrap(&b, 0, fmt.Sprintf("Each option is also a ROS parameter, named like the flag with _ for - unless noted "+
			"above (--ros-args -p %s:=VALUE or --params-file FILE, or in the file of --config), and an environment "+
			"variable (%s). Flags win over ROS arguments, these over the environment, and this over the file.",
			name, environment("", name)[1]))
	}
	return b.String()
}

// groups returns the options by group, groups in the order of their first option.
func groups(opts any) [][]Parameter {
	list := Parameters(opts)
	for _, m := range entryMaps(opts) {
		m.Name += ".NAME.OPTION"
		list = append(list, m.Parameter)
	}
	var groups [][]Parameter
	for _, p := range list {
		p.Group = cmp.Or(p.Group, "Options")
		i := slices.IndexFunc(groups, func(g []Parameter) bool { return g[0].Group == p.Group })
		if i < 0 {
			i, groups = len(groups), append(groups, nil)
		}
		groups[i] = append(groups[i], p)
	}
	return groups
}

// flagText returns "  -d, --max-duration DURATION", or the parameter's name where there is no flag.
func (p *Parameter) flagText() string {
	text := "      --" + p.Flag
	switch {
	case p.Flag == "":
		text = "      parameter " + p.Name
	case p.Short != "":
		text = "  -" + p.Short + ", --" + p.Flag
	}
	switch {
	case p.Bare != "":
		text += " [" + p.Placeholder + "]"
	case p.Placeholder != "":
		text += " " + p.Placeholder
	}
	return text
}

// helpText returns the help, with parameter name, bounds, repetition and default in brackets.
func (p *Parameter) helpText() string {
	var notes []string
	if p.Flag != "" && strings.ReplaceAll(p.Flag, "-", "_") != p.Name {
		notes = append(notes, "parameter "+p.Name)
	}
	if p.Min != "" || p.Max != "" {
		notes = append(notes, p.bounds())
	}
	if p.Type == "string array" {
		notes = append(notes, "may be repeated")
	}
	if p.Bare != "" {
		notes = append(notes, p.Bare+" without a value")
	}
	if p.Default != "" && p.Default != "false" {
		notes = append(notes, "default "+p.Default)
	}
	if notes == nil {
		return p.Help
	}
	return p.Help + " [" + strings.Join(notes, "; ") + "]"
}

// writeEntry writes a flag or subcommand and, beside or below it, what it does.
func writeEntry(b *strings.Builder, name, text string) {
	if utf8.RuneCountInString(name) > helpIndent-2 {
		b.WriteString(name + "\n")
		name = ""
	}
	fmt.Fprintf(b, "%-*s", helpIndent, name)
	wrap(b, helpIndent, text)
}

// wrap writes text in lines of at most helpWidth columns, all but the first indented.
func wrap(b *strings.Builder, indent int, text string) {
	column := indent
	for i, word := range strings.Fields(text) {
		width := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case column+1+width > helpWidth:
			b.WriteString("\n" + strings.Repeat(" ", indent))
			column = indent
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += width
	}
	b.WriteByte('\n')
}
