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

// output is the flag --output of commands that print tables.
type output struct {
	format string
}

func (o *output) flag(cmd *cobra.Command) { o.flagWith(cmd, "o") }

// flagWith is for commands where -o is something else.
func (o *output) flagWith(cmd *cobra.Command, shorthand string) {
	cmd.Flags().StringVarP(&o.format, "output", shorthand, "table", "table, yaml, json or jsonpath=TEMPLATE")
	complete(cmd, "output", "table", "yaml", "json", "jsonpath=")
}

// encoder turns one thing into the text of a document. It is nil for tables.
func (o *output) encoder(cmd *cobra.Command) (encoder, error) {
	template, isPath := strings.CutPrefix(o.format, "jsonpath=")

	switch {
	case o.format == "table":
		return nil, nil
	case o.format == "yaml":
		return func(value any) ([]byte, error) { return yaml.Marshal(value) }, nil
	case o.format == "json":
		return encodeJSON, nil
	case isPath:
		if _, err := parsePath(template); err != nil {
			return nil, usageError(cmd, "--output: %s", err)
		}

		return func(value any) ([]byte, error) { return encodePath(template, value) }, nil
	default:
		return nil, usageError(cmd, "--output %q is not a format: want table, yaml, json or jsonpath=TEMPLATE", o.format)
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
func (o *output) separator() string {
	if o.format == "yaml" {
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
