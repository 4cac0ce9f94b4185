package config

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// manTopic is the topic of help that prints a man page. The help text does not list it, because it is for packages.
const manTopic = "man"

// writeMan writes the man page of an executable with its commands, as roff.
func (l *loader) writeMan(b *strings.Builder, cmd *cobra.Command) {
	name := strings.ReplaceAll(cmd.CommandPath(), " ", "-")
	fmt.Fprintf(b, ".TH %s 1 \"\" \"tapedeck %s\" tapedeck\n", strings.ToUpper(name), version)
	fmt.Fprintf(b, ".SH NAME\n%s \\- %s\n.SH SYNOPSIS\n.nf\n%s\n", name, roff(cmd.Short), roff(cmd.UseLine()))
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(b, "%s COMMAND\n", cmd.CommandPath())
	}
	fmt.Fprintf(b, ".fi\n.SH DESCRIPTION\n%s\n.SH EXAMPLES\n", roff(cmd.Long))
	manExamples(b, cmd)
	b.WriteString(".SH OPTIONS\n")
	for _, group := range grouped(fields(l.opts), l.opts) {
		fmt.Fprintf(b, ".SS %s\n", roff(group[0].Group))
		manOptions(b, group)
	}
	b.WriteString(".SS General\n.TP\n\\fB\\-\\-config\\fR \\fIFILE\\fR\nTake defaults from this parameter file.\n" +
		".TP\n\\fB\\-h\\fR, \\fB\\-\\-help\\fR [\\fITOPIC\\fR]\nPrint the help: the most important options, " +
		"all of them, or those of a group.\n.TP\n\\fB\\-\\-version\\fR\nPrint the version.\n")
	if cmd.HasAvailableSubCommands() {
		b.WriteString(".SH COMMANDS\n")
		for _, c := range cmd.Commands() {
			if own := loaderOf(c); own != nil && c.IsAvailableCommand() {
				fmt.Fprintf(b, ".SS %s\n%s\n.PP\n", roff(strings.TrimSuffix(c.UseLine(), " [flags]")), roff(c.Long))
				manExamples(b, c)
				for _, group := range grouped(fields(own.opts), own.opts) {
					manOptions(b, group)
				}
			}
		}
	}
	b.WriteString(".SH ENVIRONMENT\n.TP\n\\fBTAPEDECK_\\fR\\fIOPTION\\fR\nThe value of an option whose flag is not " +
		"given, such as TAPEDECK_MAX_DURATION for \\-\\-max\\-duration.\n" +
		".SH EXIT STATUS\n0 after success, 1 after a failure, 2 after wrong usage.\n")
}

// manExamples writes the examples of a command.
func manExamples(b *strings.Builder, cmd *cobra.Command) {
	for line := range strings.Lines(cmd.Example) {
		example, comment, _ := strings.Cut(line, " # ")
		fmt.Fprintf(b, ".TP\n\\fB%s\\fR\n%s\n", roff(strings.TrimSpace(example)), roff(strings.TrimSpace(comment)))
	}
}

// manOptions writes a group of options.
func manOptions(b *strings.Builder, group []Parameter) {
	for i := range group {
		p := &group[i]
		b.WriteString(".TP\n")
		switch {
		case p.Flag == "":
			fmt.Fprintf(b, "parameter \\fB%s\\fR", roff(p.Name))
		case p.Short != "":
			fmt.Fprintf(b, "\\fB\\-%s\\fR, \\fB%s\\fR", p.Short, roff("--"+p.Flag))
		default:
			fmt.Fprintf(b, "\\fB%s\\fR", roff("--"+p.Flag))
		}
		if p.Flag != "" && p.Placeholder != "" {
			fmt.Fprintf(b, " \\fI%s\\fR", roff(p.Placeholder))
		}
		text := p.helpText()
		if p.Default != "" && p.Default != "false" {
			text += " Default: " + p.Default + "."
		}
		fmt.Fprintf(b, "\n%s\n", roff(strings.TrimSpace(text)))
	}
}

// roff escapes a text for roff: backslashes, dashes and dots or quotes at the beginning of a line.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(strings.TrimSpace(text))
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
