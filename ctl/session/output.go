// SPDX-License-Identifier: Apache-2.0

package session

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v4"
	"k8s.io/client-go/util/jsonpath"
)

// TableFormat is the default value of --output.
const TableFormat = "table"

// OutputFlag adds the flag --output of commands that print tables, and returns the command.
func (s *Session) OutputFlag(cmd *cobra.Command) *cobra.Command {
	s.OutputFlagAs(cmd, "o")

	return cmd
}

// OutputFlagAs is OutputFlag with another shorthand.
func (s *Session) OutputFlagAs(cmd *cobra.Command, shorthand string) {
	cmd.Flags().StringVarP(&s.Format, "output", shorthand, TableFormat, "table, yaml, json or jsonpath=TEMPLATE")
	Complete(cmd, "output", TableFormat, "yaml", "json", "jsonpath=")
}

// Encoder returns the encoder of the format of --output. It is nil for tables.
func (s *Session) Encoder(cmd *cobra.Command) (Encoder, error) {
	template, isPath := strings.CutPrefix(s.Format, "jsonpath=")

	switch {
	case s.Format == TableFormat:
		return nil, nil
	case s.Format == "yaml":
		return func(value any) ([]byte, error) { return yaml.Marshal(value) }, nil
	case s.Format == "json":
		return encodeJSON, nil
	case isPath:
		if _, err := parsePath(template); err != nil {
			return nil, UsageError(cmd, "--output: %s", err)
		}

		return func(value any) ([]byte, error) { return encodePath(template, value) }, nil
	default:
		return nil, UsageError(cmd, "--output %q is not a format: want table, yaml, json or jsonpath=TEMPLATE", s.Format)
	}
}

// Encoder encodes a value as a document.
type Encoder func(value any) ([]byte, error)

func encodeJSON(value any) ([]byte, error) {
	content, err := json.MarshalIndent(value, "", "    ")

	return append(content, '\n'), err
}

func encodePath(template string, value any) ([]byte, error) {
	text, err := ApplyPath(template, value)
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

// ApplyPath returns the text of a JSONPath template for a value. It parses the template each time: a parsed template with a range can
// be executed only once.
func ApplyPath(template string, value any) (string, error) {
	path, err := parsePath(template)
	if err != nil {
		return "", err
	}

	var b strings.Builder

	err = path.Execute(&b, value)

	return b.String(), err
}

// Separator returns the text between documents of the format.
func (s *Session) Separator() string {
	if s.Format == "yaml" {
		return "---\n"
	}

	return ""
}

// Report prints what write writes for each node, without mixing nodes.
func (s *Session) Report(cmd *cobra.Command, write func(ctx context.Context, n Node, w io.Writer) error) error {
	answers := NewDocuments(cmd.OutOrStdout(), "")

	return s.Each(cmd, func(ctx context.Context, n Node) error {
		var b bytes.Buffer

		if err := write(ctx, n, &b); err != nil {
			return err
		}

		return answers.Write(b.Bytes())
	})
}

// Documents writes documents from several nodes at once.
type Documents struct {
	separator string

	mu      sync.Mutex
	w       io.Writer
	written bool
}

// NewDocuments returns Documents that writes to w, with the separator between documents.
func NewDocuments(w io.Writer, separator string) *Documents {
	return &Documents{w: w, separator: separator}
}

// Write writes documents without others between them.
func (d *Documents) Write(contents ...[]byte) error {
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
