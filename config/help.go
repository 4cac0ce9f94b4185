package config

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const (
	helpWidth = 100          // columns of a help text
	noFlag    = "parameter " // before the name of a parameter without a flag; names of flags have no spaces

	everything   = "all"     // topic of help with all options
	generalTopic = "general" // topic of help with the flags that every command has
)

// Brief limits the help text of a command to some options, given by the names of their parameters. The text then says
// how to get the others. Without Brief the text shows all options.
func Brief(cmd *cobra.Command, options ...string) {
	l := loaderOf(cmd)
	for _, name := range options {
		if l.flags[name] == nil {
			panic(fmt.Sprintf("config: %s has no option %s with a flag", cmd.Name(), name))
		}
	}
	l.brief = options
}

// Examples sets the examples of commands. Each line has a command line of root or of one of its subcommands, then "  #
// " and a comment.
func Examples(root *cobra.Command, text string) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		cmd, _, err := root.Find(words[1:])
		if err != nil || words[0] != root.Name() {
			panic(fmt.Sprintf("config: the example %q calls no command of %s", line, root.Name()))
		}
		cmd.Example = strings.TrimPrefix(cmd.Example+"\n"+line, "\n")
	}
}

// helpFlag is the value of --help. It gives access to the loader of a command.
type helpFlag struct {
	loader *loader
	wanted bool
}

// Set implements pflag.Value.
func (h *helpFlag) Set(text string) (err error) {
	h.wanted, err = strconv.ParseBool(text)
	return err
}

// String implements pflag.Value.
func (h *helpFlag) String() string { return strconv.FormatBool(h.wanted) }

// Type implements pflag.Value. Cobra wants this type.
func (h *helpFlag) Type() string { return "bool" }

// loaderOf returns the loader of a command, nil if the command was not made by New.
func loaderOf(cmd *cobra.Command) *loader {
	flag := cmd.Flags().Lookup("help")
	if flag == nil {
		return nil
	}
	if h, ok := flag.Value.(*helpFlag); ok {
		return h.loader
	}
	return nil
}

// newHelpCommand returns the command help of an executable.
func newHelpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND] [TOPIC]",
		Short: "Print the help of a command, or of a topic",
		RunE: func(cmd *cobra.Command, args []string) error {
			asked, rest, err := cmd.Root().Find(args)
			if err != nil {
				asked, rest = cmd.Root(), args
			}
			l, topic := loaderOf(asked), strings.Join(rest, "-")
			if l == nil {
				return asked.Help()
			}
			topic, err = l.topic(topic)
			if err != nil {
				return err
			}
			fmt.Fprint(cmd.OutOrStdout(), l.help(asked, topic))
			if topic == "" {
				fmt.Fprint(cmd.OutOrStdout(), namesake(asked))
			}
			return nil
		},
	}
}

// namesake returns the help of an executable's topic with the name of the command, "" if there is no such topic.
func namesake(cmd *cobra.Command) string {
	l := loaderOf(cmd.Root())
	if cmd.HasParent() && slices.Contains(l.topics(), cmd.Name()) {
		return fmt.Sprintf("\nOptions of %s without a command:\n\n%s", cmd.Root().Name(),
			l.help(cmd.Root(), cmd.Name()))
	}
	return ""
}

// topics returns the topics of help besides "all": the groups of options.
func (l *loader) topics() (list []string) {
	for _, group := range l.groups {
		list = append(list, topicName(group.Name()))
	}
	return append(list, generalTopic)
}

// topicName returns the name of the help topic of a group.
func topicName(group string) string { return strings.ReplaceAll(strings.ToLower(group), " ", "-") }

// topic returns the topic of help that word names or is the beginning of, if only one topic begins so. A usage error
// names the topics.
func (l *loader) topic(word string) (string, error) {
	word = topicName(word)
	list := append(l.topics(), everything)
	if word == "" || word == manTopic || slices.Contains(list, word) {
		return word, nil
	}
	var found []string
	for _, topic := range list {
		if strings.HasPrefix(topic, word) {
			found = append(found, topic)
		}
	}
	if len(found) == 1 {
		return found[0], nil
	}
	return "", Usagef("%q is no topic of help; topics are %s", word, strings.Join(list, ", "))
}

// help returns the help text of a command about a topic. If topic is "", it is the text of --help.
func (l *loader) help(cmd *cobra.Command, topic string) string {
	var b strings.Builder
	switch {
	case topic == "" && l.brief != nil:
		l.writeBrief(&b, cmd)
	case topic == "" || topic == everything:
		l.writeAll(&b, cmd)
	case topic == generalTopic:
		l.writeGeneral(&b)
	case topic == manTopic:
		l.writeMan(&b, cmd)
	default:
		i := slices.Index(l.topics(), topic)
		fmt.Fprintf(&b, "%s:\n%s", l.groups[i].Name(), groupText(l.groups[i]))
	}
	return b.String()
}

// writeBrief writes a text that fits on a screen.
func (l *loader) writeBrief(b *strings.Builder, cmd *cobra.Command) {
	fmt.Fprintf(b, "%s\n\nUsage: %s", strings.TrimSpace(cmp.Or(cmd.Long, cmd.Short)), cmd.UseLine())
	ask := cmd.CommandPath() + " --help"
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(b, ", or %s COMMAND", cmd.CommandPath())
		ask = cmd.CommandPath() + " help"
	}
	b.WriteByte('\n')
	writeExamples(b, cmd)
	writeCommands(b, cmd, false)
	some := pflag.NewFlagSet("", pflag.ContinueOnError)
	some.SortFlags = false
	for _, name := range l.brief {
		v := l.flags[name]
		flag := some.VarPF(v, v.Flag, v.Short, v.Summary)
		flag.DefValue = ""
		if v.Parameter.Type == "boolean" {
			flag.NoOptDefVal = "true"
		}
	}
	fmt.Fprintf(b, "\nOptions:\n%s\n%s all prints all options, %[2]s TOPIC those of a topic:\n%[3]s\n",
		some.FlagUsagesWrapped(helpWidth), ask, wrap(strings.Join(l.topics(), ", "), helpWidth, "  "))
}

// writeExamples writes the examples of a command.
func writeExamples(b *strings.Builder, cmd *cobra.Command) {
	if cmd.Example == "" {
		return
	}
	lines, width := strings.Split(cmd.Example, "\n"), 0
	for i, line := range lines {
		example, comment, _ := strings.Cut(line, "#")
		lines[i] = strings.TrimSpace(example) + "#" + strings.TrimSpace(comment)
		width = max(width, utf8.RuneCountInString(strings.TrimSpace(example)))
	}
	b.WriteString("\nExamples:\n")
	for _, line := range lines {
		example, comment, _ := strings.Cut(line, "#")
		fmt.Fprintf(b, "  %s\n", strings.TrimSpace(fmt.Sprintf("%-*s  %s", width, example, comment)))
	}
}

// writeCommands writes the subcommands of a command, or only those that New made.
func writeCommands(b *strings.Builder, cmd *cobra.Command, all bool) {
	if !cmd.HasAvailableSubCommands() {
		return
	}
	b.WriteString("\nCommands:\n")
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() && c.Name() != "help" && (all || loaderOf(c) != nil) {
			fmt.Fprintf(b, "  %-*s %s\n", c.NamePadding(), c.Name(), c.Short)
		}
	}
}

// writeAll writes a text with all options by group. pflag formats the flags of each group.
func (l *loader) writeAll(b *strings.Builder, cmd *cobra.Command) {
	fmt.Fprintf(b, "%s\n\nUsage:\n  %s\n", strings.TrimSpace(cmp.Or(cmd.Long, cmd.Short)), cmd.UseLine())
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(b, "  %s COMMAND --help\n", cmd.CommandPath())
	}
	writeExamples(b, cmd)
	writeCommands(b, cmd, true)
	for _, group := range l.groups {
		fmt.Fprintf(b, "\n%s:\n%s", group.Name(), groupText(group))
	}
	b.WriteByte('\n')
	l.writeGeneral(b)
}

func groupText(group *pflag.FlagSet) string {
	return strings.ReplaceAll(group.FlagUsagesWrapped(helpWidth), "--"+noFlag, "  "+noFlag)
}

// writeGeneral writes the flags that every command has, and notes about all options.
func (l *loader) writeGeneral(b *strings.Builder) {
	fmt.Fprintf(b, "General:\n%s", l.general.FlagUsagesWrapped(helpWidth))
	if list := Parameters(l.opts); len(list) > 0 {
		name := list[0].Name
		fmt.Fprintf(b, "\nEach option is also a ROS parameter, named like the flag with _ for - unless\n"+
			"noted above, and an environment variable:\n\n"+
			"  --ros-args -p %s:=VALUE, --ros-args --params-file FILE, --config FILE\n  %s=VALUE\n\n"+
			"Flags win over ROS arguments, these over the environment, this over --config.\n",
			name, environment("", name)[1])
	}
}

// wrap splits a text into lines that begin with indent and have at most width columns.
func wrap(text string, width int, indent string) string {
	var b strings.Builder
	line := indent
	for word := range strings.FieldsSeq(text) {
		if line != indent {
			if utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
				b.WriteString(line + "\n")
				line = indent
			} else {
				line += " "
			}
		}
		line += word
	}
	return b.String() + line
}

// Groups returns the options of a command by group, in the order of the help text.
func Groups(opts any) [][]Parameter { return grouped(fields(opts), opts) }

// grouped returns the options of Groups from the fields of opts.
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

// helpText returns the help with notes in brackets: parameter name, bounds, repetition. pflag adds the default.
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
