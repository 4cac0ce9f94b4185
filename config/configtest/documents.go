// Package configtest checks, in tests, that documentation and default parameter files list all options of a command,
// and that commands take the flags of other programs. With the environment variable UPDATE_REFERENCE, as 'make
// reference' sets it, it writes what documentation and files lack.
package configtest

import (
	"errors"
	"fmt"
	"maps"
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

// flagText returns "-d, --max-duration DURATION", or "" where there is no flag.
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

// updating reports whether the checks write what files lack.
func updating() bool { return os.Getenv("UPDATE_REFERENCE") != "" }

// advise joins errors, and says what to do if there are any.
func advise(errs ...error) error {
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("%w\n'make reference' writes what the options say", err)
	}
	return nil
}

// CheckTable checks that the section of a command in a Markdown file has the Table of options, and names the lines that
// it lacks. The section may have text before and behind the table.
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

// CheckFile checks that a default parameter file lists every option for any node, each with its default, and nothing
// else. The options must hold their defaults.
func CheckFile(path string, opts any) error {
	if updating() {
		if err := updateFile(path, opts); err != nil {
			return err
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var file map[string]map[string]map[string]any
	if err := yaml.Unmarshal(text, &file); err != nil {
		return err
	}
	listed := map[string]bool{}
	list(file["/**"]["ros__parameters"], "", listed)
	got := reflect.New(reflect.TypeOf(opts).Elem()).Interface()
	errs := []error{config.ReadFile(path, "/node", got)}
	inFile := config.Parameters(got)
	for i, p := range config.Parameters(opts) {
		if !listed[p.Name] {
			errs = append(errs, fmt.Errorf("%s: parameter %s is missing", path, p.Name))
		} else if inFile[i].Default != p.Default {
			errs = append(errs, fmt.Errorf("%s: parameter %s is %s, the default is %s", path, p.Name, inFile[i].Default,
				p.Default))
		}
		delete(listed, p.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(listed)) {
		errs = append(errs, fmt.Errorf("%s: parameter %s is no option", path, name))
	}
	return advise(errs...)
}

// updateFile gives each option its default in a parameter file, and adds those that are missing.
func updateFile(path string, opts any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	got := reflect.New(reflect.TypeOf(opts).Elem()).Interface()
	if err := config.ReadFile(path, "/node", got); err != nil {
		return err
	}
	given := map[string]string{}
	for _, p := range config.Parameters(got) {
		given[p.Name] = p.Default
	}
	lines := strings.SplitAfter(string(text), "\n")
	at := slices.Index(lines, "  ros__parameters:\n")
	for _, p := range slices.Concat(config.Groups(opts)...) {
		if p.Type == "any" { // options of entries have no defaults
			continue
		}
		value, err := valueText(p)
		if err != nil {
			return err
		}
		line := fmt.Sprintf("    %s: %s\n", p.Name, value)
		i := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, "    "+p.Name+":") })
		switch {
		case i < 0:
			lines = slices.Insert(lines, at+1, "\n", comment(p.Help), line)
			at += 3
		case given[p.Name] != p.Default:
			lines[i] = line
			fallthrough
		default:
			at = i
		}
	}
	return os.WriteFile(path, []byte(strings.Join(lines, "")), 0o644)
}

// comment returns what stands above an option in a parameter file.
func comment(help string) string {
	text, line := "", "    #"
	for word := range strings.FieldsSeq(help) {
		if utf8.RuneCountInString(line+" "+word) > 120 {
			text, line = text+line+"\n", "    #"
		}
		line += " " + word
	}
	return text + line + "\n"
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

// list adds the names of parameters, those of nested ones with dots.
func list(parameters map[string]any, prefix string, names map[string]bool) {
	for name, value := range parameters {
		if nested, ok := value.(map[string]any); ok {
			list(nested, prefix+name+".", names)
		} else {
			names[prefix+name] = true
		}
	}
}
