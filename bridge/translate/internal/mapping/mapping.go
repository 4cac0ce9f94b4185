// Package mapping reads YAML files in which users describe recordings, for example the topics of sensors.
package mapping

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"go.yaml.in/yaml/v3"
)

// MaxSize is the largest size of a mapping file in bytes.
const MaxSize = 1 << 20

// Load reads and parses a file. Errors name the file and the kind of the mapping.
func Load[T any](path, kind string, parse func(text []byte) (T, error)) (m T, err error) {
	f, err := os.Open(path)
	if err != nil {
		return m, fmt.Errorf("open %s mapping: %w", kind, err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, MaxSize+1))
	if err != nil {
		return m, fmt.Errorf("read %s mapping %s: %w", kind, path, err)
	}
	if len(text) > MaxSize {
		return m, fmt.Errorf("%s mapping %s is larger than 1 MiB: is it a mapping?", kind, path)
	}
	m, err = parse(text)
	if err != nil {
		return m, fmt.Errorf("%s mapping %s: %w", kind, path, err)
	}
	return m, nil
}

// Decode decodes a node into a struct that has a field for each key.
func Decode(n *yaml.Node, v any) error {
	if n.IsZero() {
		return nil
	}
	// Node.Decode accepts unknown keys, and a Decoder does not. Line numbers in errors count from the node's line.
	text, err := yaml.Marshal(n)
	if err == nil {
		d := yaml.NewDecoder(bytes.NewReader(text))
		d.KnownFields(true)
		err = d.Decode(v)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("line %d: %w", n.Line, err)
	}
	return nil
}

// Each calls f with the keys and values of a mapping, in order. Each adds the key to errors of f. A duplicate key is an
// error. An absent node has no keys.
func Each(n *yaml.Node, f func(key string, value *yaml.Node) error) error {
	if n.IsZero() || n.Tag == "!!null" {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		return fmt.Errorf("line %d: want a mapping of names", n.Line)
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i].Value
		if seen[key] {
			return fmt.Errorf("line %d: %s is there twice", n.Content[i].Line, key)
		}
		seen[key] = true
		if err := f(key, n.Content[i+1]); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	return nil
}
