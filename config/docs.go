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
	escape := strings.NewReplacer("|", `\|`, "\n", " ").Replace
	code := func(text string) string {
		if text == "" {
			return ""
		}
		return "`" + escape(text) + "`"
	}
	var tables []string
	for _, group := range groups(opts) {
		var b strings.Builder
		fmt.Fprintf(&b, "### %s\n\n| parameter | flag | type | default | what it does |\n"+
			"| --- | --- | --- | --- | --- |\n", group[0].Group)
		for _, p := range group {
			flag, help := "", p.Help
			if p.Flag != "" {
				flag = strings.TrimSpace(p.flagText())
			}
			if p.Min != "" || p.Max != "" {
				help += " (" + p.bounds() + ")"
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n",
				code(p.Name), code(flag), p.Type, code(p.Default), escape(help))
		}
		tables = append(tables, b.String())
	}
	return strings.Join(tables, "\n")
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
		if empty := v.Kind() == reflect.Slice && v.Len()+f.value.Len() == 0; !empty &&
			!reflect.DeepEqual(v.Interface(), f.value.Interface()) {
			errs = append(errs, fmt.Errorf("%s: parameter %s is %v, the default is %s", s.source, f.Name, v, f.Default))
		}
	}
	for _, s := range given {
		errs = append(errs, fmt.Errorf("%s: parameter %s is no option", s.source, s.name))
	}
	return errors.Join(errs...)
}
