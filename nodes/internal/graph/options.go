package graph

import (
	_ "embed"
	"fmt"
	"os"
	"regexp"

	"tapedeck/codec"
	"tapedeck/config"
)

// optionTexts are the help texts of options: see config.Described.
//
//go:embed options.txt
var optionTexts string

// Regexp compiles the value of an option. It returns nil for an empty value. The error is a usage error that names the
// parameter.
func Regexp(parameter, text string) (*regexp.Regexp, error) {
	if text == "" {
		return nil, nil
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, config.Usagef("%s: %w", parameter, err)
	}
	return re, nil
}

// QoSOverrides reads a file in rosbag2's format with the QoS to publish or subscribe with, by topic. An empty path
// means no overrides.
func QoSOverrides(path string) (map[string]codec.QoS, error) {
	if path == "" {
		return nil, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read QoS overrides: %w", err)
	}
	overrides, err := codec.ParseQoSOverrides(text)
	if err != nil {
		return nil, fmt.Errorf("read QoS overrides: %s: %w", path, err)
	}
	return overrides, nil
}
