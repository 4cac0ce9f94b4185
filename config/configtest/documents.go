// Package configtest checks, in tests, that documentation and default parameter files list all options of a command,
// and that commands take the flags of other programs. With the environment variable UPDATE_REFERENCE, as go generate
// sets it, it writes missing options to documentation and files.
package configtest

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"tapedeck/config"
)

// Table returns the options as Markdown, one table for each group.
func Table(opts any) string {
	escape := strings.NewReplacer("|", `\|`, "\n", " ").Replace
	code := func(text string) string {
		if text == "" {
			return ""
		}
		return "`" + escape(text) + "`"
	}
	var tables []string
	for _, group := range config.Groups(opts) {
		var b strings.Builder
		fmt.Fprintf(&b, "### %s\n\n| parameter | flag | type | default | what it does |\n"+
			"| --- | --- | --- | --- | --- |\n", group[0].Group)
		for _, p := range group {
			help := p.Help
			if bounds := p.Bounds(); bounds != "" {
				help += " (" + bounds + ")"
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n",
				code(p.Name), code(flagText(p)), p.Type, code(p.Default), escape(help))
		}
		tables = append(tables, b.String())
	}
	return strings.Join(tables, "\n")
}

// flagText returns a text such as "-d, --max-duration DURATION", "" if there is no flag.
func flagText(p config.Parameter) string {
	if p.Flag == "" {
		return ""
	}
	text := "--" + p.Flag
	if p.Short != "" {
		text = "-" + p.Short + ", " + text
	}
	if p.Bare != "" {
		return text + " [" + p.Placeholder + "]"
	}
	return strings.TrimSpace(text + " " + p.Placeholder)
}

// updating reports whether the checks write missing content to the files.
func updating() bool { return os.Getenv("UPDATE_REFERENCE") != "" }

// advise joins errors. If there are any, it adds the command that mends the files.
func advise(errs ...error) error {
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("%w\n'go generate ./nodes/...' writes what the options say", err)
	}
	return nil
}

// CheckTable checks that the section of a command in a Markdown file has the Table of options. The error names missing
// lines. The section may have text before and after the table.
func CheckTable(path, command string, opts any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	head := "\n## " + command + "\n"
	before, section, ok := strings.Cut(string(text), head)
	if !ok {
		return fmt.Errorf("%s has no section %s", path, command)
	}
	end := len(section)
	if i := strings.Index(section, "\n## "); i >= 0 {
		end = i
	}
	section, after := section[:end], section[end:]
	introduction, have, _ := strings.Cut(section+"\n", "\n### ")
	behind := ""
	if i := strings.LastIndex(have, "\n|"); i >= 0 {
		rows := i + 1 + strings.Index(have[i+1:], "\n") + 1
		have, behind = "### "+have[:rows], strings.TrimSuffix(have[rows:], "\n")
	}
	table := Table(opts)
	if have == table {
		return nil
	}
	if updating() {
		introduction = strings.TrimRight(introduction, "\n")
		if introduction != "" {
			introduction += "\n"
		}
		return os.WriteFile(path, []byte(before+head+introduction+"\n"+table+behind+after), 0o644)
	}
	var errs []error
	for line := range strings.Lines(table) {
		if !strings.Contains("\n"+have, "\n"+line) {
			errs = append(errs, fmt.Errorf("%s lacks the line\n%s", path, line))
		}
	}
	if errs == nil {
		errs = append(errs, fmt.Errorf("%s has the lines of the table in another order, or more of them", path))
	}
	return advise(errs...)
}

// CheckFile checks that a default parameter file has each option with its text and its default, by group, for any node.
// The options must have their default values. Text above ros__parameters is written by hand, and so are paragraphs of
// comments between the heading of a group and its options.
func CheckFile(path string, opts any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	want, err := fileText(string(text), opts)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	var stale []error
	switch {
	case want == string(text):
	case updating():
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			return err
		}
	default:
		for line := range strings.Lines(want) {
			if !strings.Contains("\n"+string(text), "\n"+line) {
				stale = append(stale, fmt.Errorf("%s lacks the line\n%s", path, line))
			}
		}
		if stale == nil {
			stale = append(stale, fmt.Errorf("%s has its lines in another order, or more of them", path))
		}
		return advise(stale...)
	}
	return checkDefaults(path, opts)
}

// checkDefaults checks that a parameter file sets each option to its default.
func checkDefaults(path string, opts any) error {
	got := reflect.New(reflect.TypeOf(opts).Elem()).Interface()
	errs := []error{config.ReadFile(path, "/node", got)}
	inFile := config.Parameters(got)
	for i, p := range config.Parameters(opts) {
		if inFile[i].Default != p.Default {
			errs = append(errs, fmt.Errorf("%s: parameter %s is %s, the default is %s", path, p.Name, inFile[i].Default,
				p.Default))
		}
	}
	return errors.Join(errs...)
}

// fileText returns the required content of a parameter file from its present content.
func fileText(have string, opts any) (string, error) {
	const start = "  ros__parameters:\n"
	head, body, ok := strings.Cut(have, start)
	if !ok {
		return "", errors.New("the file has no ros__parameters")
	}
	var b strings.Builder
	b.WriteString(head + start)
	for _, group := range config.Groups(opts) {
		heading, notes := sectionOf(strings.Trim(body, "\n"), group[0].Group)
		fmt.Fprintf(&b, "\n%s\n%s", heading, notes)
		for _, p := range group {
			if p.Type == "any" { // options of entries have no defaults
				continue
			}
			value, err := valueText(p)
			if err != nil {
				return "", err
			}
			fmt.Fprintf(&b, "\n%s    %s: %s\n", comment(textOf(p)), p.Name, value)
		}
	}
	return b.String(), nil
}

// sectionOf returns the heading of a group in the body of a parameter file, and the notes below it with an empty line
// before each. The heading may have more than the name of the group.
func sectionOf(body, group string) (heading, notes string) {
	heading = "    # ── " + group + " ──"
	paragraphs := strings.Split(body, "\n\n")
	i := slices.IndexFunc(paragraphs, func(text string) bool {
		return text == heading || strings.HasPrefix(text, "    # ── "+group+": ")
	})
	if i < 0 {
		return heading, ""
	}
	for _, text := range paragraphs[i+1:] {
		last := text[strings.LastIndex(text, "\n")+1:]
		if !strings.HasPrefix(last, "    #") || strings.HasPrefix(last, "    # ── ") {
			break
		}
		notes += "\n" + text + "\n"
	}
	return paragraphs[i], notes
}

// textOf returns the description of an option, without its name, type and default.
func textOf(p config.Parameter) string {
	text := p.Help
	if p.Options != nil {
		text += " One of " + strings.Join(p.Options, ", ") + "."
	}
	notes := p.Bounds()
	if p.Type == "string array" {
		notes = "a list"
	}
	if notes != "" {
		text += " (" + notes + ")"
	}
	return strings.TrimSpace(text)
}

// comment returns a text as lines of comments in a parameter file.
func comment(text string) string {
	lines, line := "", "    #"
	for word := range strings.FieldsSeq(text) {
		if utf8.RuneCountInString(line+" "+word) > 120 {
			lines, line = lines+line+"\n", "    #"
		}
		line += " " + word
	}
	if line == "    #" {
		return lines
	}
	return lines + line + "\n"
}

// valueText returns the default of an option as YAML.
func valueText(p config.Parameter) (string, error) {
	node := &yaml.Node{Kind: yaml.ScalarNode, Value: p.Default}
	var err error
	switch p.Type {
	case "string":
		err = node.Encode(p.Default)
	case "string array":
		list := strings.FieldsFunc(p.Default, func(r rune) bool { return r == ',' })
		err = node.Encode(append([]string{}, list...))
		node.Style = yaml.FlowStyle
	}
	if err != nil {
		return "", err
	}
	text, err := yaml.Marshal(node)
	return strings.TrimSpace(string(text)), err
}
