package configtest

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"tapedeck/config"
)

var (
	// flagSpan matches a flag in code in the last column, and aliases in brackets after it. Its groups are the flag,
	// its value, the aliases, and the text after the aliases in the brackets.
	flagSpan = regexp.MustCompile("`(?:-[A-Za-z] )?--([a-z][a-z-]*)([^`]*)`" +
		"(?: \\(((?:`--[a-z-]+`(?: in [A-Za-z]+)?(?:, )?)+)(;[^)]*)?\\))?")
	flagName = regexp.MustCompile(`--([a-z][a-z_-]*[a-z])`)
)

// CheckFlags checks the last column of a table in a section of a Markdown file. Each flag in it must be one of the
// options, with its letter, and have all its aliases in brackets at its first mention. If complete, the column must
// have all flags except the group "ROS 2"; go generate adds a row for a new flag. Other text of the rows is written by
// hand.
func CheckFlags(path, section string, opts any, complete bool) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	head := "\n## " + section + "\n"
	before, rest, ok := strings.Cut(string(text), head)
	if !ok {
		return fmt.Errorf("%s has no section %s", path, section)
	}
	end := len(rest)
	if i := strings.Index(rest, "\n## "); i >= 0 {
		end = i
	}
	c := newFlagColumn(opts)
	var b strings.Builder
	for line := range strings.Lines(rest[:end]) {
		b.WriteString(c.row(line))
	}
	table := b.String()
	if complete {
		table = c.complete(table)
	}
	want := before + head + table + rest[end:]
	switch {
	case len(c.errs) > 0:
		return fmt.Errorf("%s, section %s: %w", path, section, errors.Join(c.errs...))
	case want == string(text):
		return nil
	case updating():
		return os.WriteFile(path, []byte(want), 0o644)
	}
	return advise(fmt.Errorf("%s, section %s: flags are missing, or have other letters or aliases", path, section))
}

// flagColumn is the state of CheckFlags.
type flagColumn struct {
	options []config.Parameter // options that have flags
	seen    map[string]bool    // by flag or alias: the column has it
	errs    []error
}

func newFlagColumn(opts any) *flagColumn {
	c := &flagColumn{seen: map[string]bool{"log-level": false}}
	for _, p := range config.Parameters(opts) {
		if p.Flag == "" {
			continue
		}
		c.options = append(c.options, p)
		for _, name := range namesOf(p) {
			c.seen[name] = false
		}
	}
	return c
}

func namesOf(p config.Parameter) []string {
	names := []string{p.Flag}
	for _, a := range p.Aliases {
		names = append(names, a.Name)
	}
	return names
}

// row returns a row of the table with corrected flags.
func (c *flagColumn) row(line string) string {
	const bar = "\x00"
	cells := strings.Split(strings.ReplaceAll(line, `\|`, bar), "|")
	if len(cells) < 4 {
		return line
	}
	last := &cells[len(cells)-2]
	*last = flagSpan.ReplaceAllStringFunc(*last, c.span)
	for _, m := range flagName.FindAllStringSubmatch(*last, -1) {
		name := strings.ReplaceAll(m[1], "_", "-")
		if _, ok := c.seen[name]; !ok {
			c.errs = append(c.errs, fmt.Errorf("%s is no flag", m[0]))
		}
		c.seen[name] = true
	}
	return strings.ReplaceAll(strings.Join(cells, "|"), bar, `\|`)
}

// span returns a flag in code, and the brackets after it, corrected.
func (c *flagColumn) span(text string) string {
	m := flagSpan.FindStringSubmatch(text)
	i := slices.IndexFunc(c.options, func(p config.Parameter) bool { return p.Flag == m[1] })
	if i < 0 {
		return text // an alias, or not a flag
	}
	p := c.options[i]
	code := "`--" + p.Flag + m[2] + "`"
	if p.Short != "" {
		code = "`-" + p.Short + " --" + p.Flag + m[2] + "`"
	}
	behind := strings.TrimPrefix(text, text[:strings.Index(text[1:], "`")+2])
	for _, name := range flagName.FindAllStringSubmatch(m[3], -1) {
		if !slices.Contains(namesOf(p), name[1]) {
			return code + behind
		}
	}
	if c.seen[p.Flag] && m[3] == "" || len(p.Aliases) == 0 {
		return code + behind
	}
	c.seen[p.Flag] = true
	var aliases []string
	for _, a := range p.Aliases {
		alias := "`--" + a.Name + "`"
		if a.Unit != "" && !strings.Contains(a.Unit, "%") {
			alias += " in " + a.Unit
		}
		aliases = append(aliases, alias)
	}
	return fmt.Sprintf("%s (%s%s)", code, strings.Join(aliases, ", "), m[4])
}

// complete returns a text with a row added at the end of its table for each flag without a row.
func (c *flagColumn) complete(text string) string {
	end := strings.LastIndex(text, "|\n")
	if end < 0 {
		return text
	}
	end += len("|\n")
	row := text[strings.LastIndex(text[:end-1], "\n")+1 : end]
	columns := strings.Count(strings.ReplaceAll(row, `\|`, ""), "|") - 1
	rows := ""
	for _, p := range c.options {
		if p.Group != "ROS 2" && !c.seen[p.Flag] {
			first, size := utf8.DecodeRuneInString(p.Summary)
			rows += "| " + string(unicode.ToLower(first)) + strings.TrimSuffix(p.Summary[size:], ".") + " |" +
				strings.Repeat(" |", columns-2) + c.row("||| `--" + p.Flag + "` |\n")[3:]
		}
	}
	return text[:end] + rows + text[end:]
}
