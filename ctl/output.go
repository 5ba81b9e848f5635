// SPDX-License-Identifier: Apache-2.0

package ctl

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v4"
	"k8s.io/client-go/util/jsonpath"
)

// asTable is the form of answers that people read.
const asTable = "table"

// outputFlag adds the flag --output of commands that print tables.
func (c *connection) outputFlag(cmd *cobra.Command) { c.outputFlagAs(cmd, "o") }

// outputFlagAs is outputFlag for commands where -o is something else.
func (c *connection) outputFlagAs(cmd *cobra.Command, shorthand string) {
	cmd.Flags().StringVarP(&c.format, "output", shorthand, asTable, "table, yaml, json or jsonpath=TEMPLATE")
	complete(cmd, "output", asTable, "yaml", "json", "jsonpath=")
}

// encoder turns one thing into the text of a document. It is nil for tables.
func (c *connection) encoder(cmd *cobra.Command) (encoder, error) {
	template, isPath := strings.CutPrefix(c.format, "jsonpath=")

	switch {
	case c.format == asTable:
		return nil, nil
	case c.format == "yaml":
		return func(value any) ([]byte, error) { return yaml.Marshal(value) }, nil
	case c.format == "json":
		return encodeJSON, nil
	case isPath:
		if _, err := parsePath(template); err != nil {
			return nil, usageError(cmd, "--output: %s", err)
		}

		return func(value any) ([]byte, error) { return encodePath(template, value) }, nil
	default:
		return nil, usageError(cmd, "--output %q is not a format: want table, yaml, json or jsonpath=TEMPLATE", c.format)
	}
}

type encoder func(value any) ([]byte, error)

func encodeJSON(value any) ([]byte, error) {
	content, err := json.MarshalIndent(value, "", "    ")

	return append(content, '\n'), err
}

func encodePath(template string, value any) ([]byte, error) {
	text, err := applyPath(template, value)
	if err == nil && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}

	return []byte(text), err
}

func parsePath(template string) (*jsonpath.JSONPath, error) {
	path := jsonpath.New("path").AllowMissingKeys(true)
	if err := path.Parse(template); err != nil {
		return nil, fmt.Errorf("path %q: %w", template, err)
	}

	return path, nil
}

// applyPath reads the template anew each time: one with a range is used up by the first value that it is applied to.
func applyPath(template string, value any) (string, error) {
	path, err := parsePath(template)
	if err != nil {
		return "", err
	}

	var b strings.Builder

	err = path.Execute(&b, value)

	return b.String(), err
}

// separator stands between documents of a format.
func (c *connection) separator() string {
	if c.format == "yaml" {
		return "---\n"
	}

	return ""
}

// documents writes documents from several nodes at once.
type documents struct {
	separator string

	mu      sync.Mutex
	w       io.Writer
	written bool
}

// write writes the documents together.
func (d *documents) write(contents ...[]byte) error {
	d.mu.Lock()
	defer d.mu.Unlock()

	for _, content := range contents {
		if d.written {
			content = append([]byte(d.separator), content...)
		}

		d.written = true

		if _, err := d.w.Write(content); err != nil {
			return err
		}
	}

	return nil
}
