package config

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

const (
	helpWidth  = 100
	helpIndent = 34 // where the text beside the flags begins
)

// helpLine is one flag or subcommand of the help text.
type helpLine struct{ name, text string }

// help returns the help text of a command.
func (l *loader) help(cmd *cobra.Command) string {
	var b strings.Builder
	about := cmd.Long
	if about == "" {
		about = cmd.Short
	}
	fmt.Fprintf(&b, "%s\n\nUsage:\n  %s\n", strings.TrimSpace(about), cmd.UseLine())
	var commands []helpLine
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() && c.Name() != "help" {
			commands = append(commands, helpLine{"  " + c.Name(), c.Short})
		}
	}
	if commands != nil {
		fmt.Fprintf(&b, "  %s COMMAND --help\n", cmd.CommandPath())
		writeGroup(&b, "Commands", commands)
	}
	for _, group := range groups(documented(l.fields, l.named)) {
		var lines []helpLine
		for _, f := range group {
			lines = append(lines, helpLine{f.flagText(), f.helpText()})
		}
		writeGroup(&b, group[0].Group, lines)
	}
	writeGroup(&b, "General", []helpLine{
		{"      --config FILE", "take defaults from this parameter file"},
		{"  -h, --help", "print this help"},
		{"      --version", "print the version"},
	})
	if len(l.fields) > 0 {
		f := l.fields[0]
		fmt.Fprintln(&b)
		wrap(&b, 0, fmt.Sprintf("Each option is also a ROS parameter: the flag's name with _ for - unless another is given above, set with "+
			"--ros-args -p %s:=VALUE or --params-file FILE, or in the file of --config; and an environment variable, %s. "+
			"Flags win over ROS arguments, those over the environment, that over the file.", f.Name, environment("", f.Name)[1]))
	}
	return b.String()
}

// groups returns the fields of each group, groups in the order of their first field.
func groups(list []field) [][]field {
	var groups [][]field
	index := map[string]int{}
	for _, f := range list {
		if f.Group == "" {
			f.Group = "Options"
		}
		i, ok := index[f.Group]
		if !ok {
			i = len(groups)
			index[f.Group] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], f)
	}
	return groups
}

// flagText returns "  -d, --max-duration DURATION", or the parameter's name where there is no flag.
func (f *field) flagText() string {
	text := "      --" + f.Flag
	switch {
	case f.Flag == "":
		text = "      parameter " + f.Name
	case f.Short != "":
		text = "  -" + f.Short + ", --" + f.Flag
	}
	switch {
	case f.Bare != "":
		text += " [" + f.Placeholder + "]"
	case f.Placeholder != "":
		text += " " + f.Placeholder
	}
	return text
}

// helpText returns the help with what else is to know: parameter, bounds, repetition, default.
func (f *field) helpText() string {
	var notes []string
	if f.Flag != "" && strings.ReplaceAll(f.Flag, "-", "_") != f.Name {
		notes = append(notes, "parameter "+f.Name)
	}
	if f.Min != "" || f.Max != "" {
		notes = append(notes, f.bounds())
	}
	if f.Type == "string array" {
		notes = append(notes, "may be repeated")
	}
	if f.Bare != "" {
		notes = append(notes, f.Bare+" without a value")
	}
	if f.Default != "" && f.Default != "false" {
		notes = append(notes, "default "+f.Default)
	}
	if notes == nil {
		return f.Help
	}
	return f.Help + " [" + strings.Join(notes, "; ") + "]"
}

func writeGroup(b *strings.Builder, title string, lines []helpLine) {
	fmt.Fprintf(b, "\n%s:\n", title)
	for _, line := range lines {
		b.WriteString(line.name)
		column := utf8.RuneCountInString(line.name)
		if column > helpIndent-2 {
			b.WriteByte('\n')
			column = 0
		}
		b.WriteString(strings.Repeat(" ", helpIndent-column))
		wrap(b, helpIndent, line.text)
	}
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
