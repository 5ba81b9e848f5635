// SPDX-License-Identifier: Apache-2.0

package cgroups

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/seed-59268b81/talos/ctl/session"
)

//go:embed presets/*.yaml
var presets embed.FS

// Schema defines what is shown of a group.
type Schema struct {
	Columns []Column `yaml:"columns"`
}

// Column is a column of the table.
type Column struct {
	Name   string `yaml:"name"`
	File   string `yaml:"file"`
	Field  string `yaml:"field"`
	Format Format `yaml:"format"`
	Share  *Share `yaml:"share"`
}

// Share makes a column a share of a whole.
type Share struct {
	Of     string `yaml:"of"`     // a file of the same group
	Parent bool   `yaml:"parent"` // the same file of the group above
}

// Format is the format of a value.
type Format string

// The formats.
const (
	Text         Format = ""
	Bytes        Format = "bytes"
	Microseconds Format = "microseconds"
	Lines        Format = "lines"
)

// Presets returns the names of the schemas of this package.
func Presets() []string {
	entries, err := presets.ReadDir("presets")
	if err != nil {
		panic(err) // the presets are part of the program
	}

	return session.Names(entries, func(e fs.DirEntry) string { return strings.TrimSuffix(e.Name(), ".yaml") })
}

// Preset returns a schema of this package.
func Preset(name string) (Schema, error) {
	text, err := presets.ReadFile("presets/" + name + ".yaml")
	if err != nil {
		return Schema{}, fmt.Errorf("there is no preset %q: want %s", name, strings.Join(Presets(), ", "))
	}

	return Parse(text)
}

// Parse parses a schema.
func Parse(text []byte) (Schema, error) {
	var schema Schema

	decoder := yaml.NewDecoder(strings.NewReader(string(text)))
	decoder.KnownFields(true)

	if err := decoder.Decode(&schema); err != nil {
		return schema, fmt.Errorf("schema: %w", err)
	}

	if len(schema.Columns) == 0 {
		return schema, errors.New("schema: there are no columns")
	}

	for i, column := range schema.Columns {
		if err := column.check(); err != nil {
			return schema, fmt.Errorf("schema: column %d (%s): %w", i+1, column.Name, err)
		}
	}

	return schema, nil
}

func (c Column) check() error {
	switch c.Format {
	case Text, Bytes, Microseconds, Lines:
	default:
		return fmt.Errorf("format %q is unknown: want bytes, microseconds or lines, or none", c.Format)
	}

	switch {
	case c.Name == "":
		return errors.New("name is missing")
	case c.File == "":
		return errors.New("file is missing")
	case c.Share != nil && c.Format != Text:
		return errors.New("a share has no format")
	case c.Share != nil && c.Share.Parent == (c.Share.Of != ""):
		return errors.New("share: want either of or parent")
	}

	return nil
}
