package config

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
)

// Table returns the options as Markdown, one table for each group.
func Table(opts any) string {
	var b strings.Builder
	cell := strings.NewReplacer("|", `\|`, "\n", " ")
	code := func(text string) string {
		if text == "" {
			return ""
		}
		return "`" + cell.Replace(text) + "`"
	}
	for i, group := range groups(documented(fields(opts), namedFields(opts))) {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "### %s\n\n| parameter | flag | type | default | what it does |\n| --- | --- | --- | --- | --- |\n", group[0].Group)
		for _, f := range group {
			flag := ""
			if f.Flag != "" {
				flag = strings.TrimSpace(f.flagText())
			}
			help := f.Help
			if f.Min != "" || f.Max != "" {
				help += " (" + f.bounds() + ")"
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", code(f.Name), code(flag), f.Type, code(f.Default), cell.Replace(help))
		}
	}
	return b.String()
}

// CheckTable checks that a Markdown file has the Table of options, and says which of its lines it lacks.
func CheckTable(path string, opts any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if strings.Contains(string(text), Table(opts)) {
		return nil
	}
	has := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		has[line] = true
	}
	var errs []error
	for line := range strings.Lines(Table(opts)) {
		if !has[line] {
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
	settings, _, err := readFile(path, "/node")
	if err != nil {
		return err
	}
	given := map[string]setting{}
	for _, s := range settings {
		given[s.name] = s
	}
	var errs []error
	for _, f := range fields(opts) {
		s, ok := given[f.Name]
		delete(given, f.Name)
		if !ok {
			errs = append(errs, fmt.Errorf("%s: parameter %s is missing", path, f.Name))
			continue
		}
		v, err := f.parse(s)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if v.Kind() == reflect.Slice && v.Len() == 0 && f.value.Len() == 0 {
			continue
		}
		if !reflect.DeepEqual(v.Interface(), f.value.Interface()) {
			errs = append(errs, fmt.Errorf("%s: parameter %s is %v, the default is %s", s.source, f.Name, v.Interface(), f.Default))
		}
	}
	for _, s := range settings {
		if _, unknown := given[s.name]; unknown {
			errs = append(errs, fmt.Errorf("%s: parameter %s is no option", s.source, s.name))
		}
	}
	return errors.Join(errs...)
}
