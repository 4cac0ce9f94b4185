// Package configtest checks, in tests, that documentation and default parameter files list all options of a command.
package configtest

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"

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

// CheckTable checks that a Markdown file has the Table of options, and names the lines that it lacks.
func CheckTable(path string, opts any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	table := Table(opts)
	if strings.Contains(string(text), table) {
		return nil
	}
	var errs []error
	for line := range strings.Lines(table) {
		if !strings.Contains("\n"+string(text), "\n"+line) {
			errs = append(errs, fmt.Errorf("%s lacks the line\n%s", path, line))
		}
	}
	if errs == nil {
		return fmt.Errorf("%s has the lines of the table in another order, or more of them", path)
	}
	return errors.Join(errs...)
}

// CheckFile checks that a default parameter file lists every option for any node, each with its default, and nothing
// else. The options must hold their defaults.
func CheckFile(path string, opts any) error {
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
	return errors.Join(errs...)
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
