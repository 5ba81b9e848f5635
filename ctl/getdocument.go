// SPDX-License-Identifier: Apache-2.0

package ctl

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"k8s.io/client-go/util/jsonpath"

	"github.com/seed-59268b81/talos/client"
)

// newPrinter returns the printer for the value of --output.
func newPrinter(cmd *cobra.Command, output string, watch bool) (printer, error) {
	out := cmd.OutOrStdout()

	template, isPath := strings.CutPrefix(output, "jsonpath=")

	switch {
	case output == "table":
		return &tablePrinter{w: out, watch: watch}, nil
	case output == "yaml":
		return &documentPrinter{w: out, encode: encodeYAML, separator: "---\n"}, nil
	case output == "json":
		return &documentPrinter{w: out, encode: encodeJSON}, nil
	case isPath:
		path := jsonpath.New("output").AllowMissingKeys(true)
		if err := path.Parse(template); err != nil {
			return nil, usageError(cmd, "--output: path %q: %s", template, err)
		}

		return &documentPrinter{w: out, encode: func(d document) ([]byte, error) { return encodePath(path, d) }}, nil
	default:
		return nil, usageError(cmd, "--output %q is not a format: want table, yaml, json or jsonpath=TEMPLATE", output)
	}
}

// document is a resource as it is printed in whole.
type document struct {
	node   string
	change change
}

// documentPrinter prints each resource as a document.
type documentPrinter struct {
	encode    func(document) ([]byte, error)
	separator string

	mu      sync.Mutex
	w       io.Writer
	printed bool
}

func (p *documentPrinter) print(node string, _ client.Definition, changes []change) error {
	p.mu.Lock()
	defer p.mu.Unlock()

	for _, c := range changes {
		content, err := p.encode(document{node: node, change: c})
		if err != nil {
			return fmt.Errorf("print %s: %w", c.resource.GetMetadata().GetId(), err)
		}

		if p.printed {
			content = append([]byte(p.separator), content...)
		}

		p.printed = true

		if _, err := p.w.Write(content); err != nil {
			return err
		}
	}

	return nil
}

// value is the document as JSON and paths see it.
func (d document) value() (map[string]any, error) {
	value := map[string]any{"node": d.node}
	if d.change.event != nil {
		value["event"] = strings.ToLower(d.change.event.String())
	}

	metadata, err := decodePlain(yamlMetadata(d.change.resource.GetMetadata()))
	if err != nil {
		return nil, fmt.Errorf("decode metadata: %w", err)
	}

	value["metadata"] = metadata

	text := d.change.resource.GetSpec().GetYamlSpec()
	if manyDocuments(text) {
		value["spec"] = text

		return value, nil
	}

	value["spec"], err = decodePlain(text)
	if err != nil {
		return nil, fmt.Errorf("decode spec: %w", err)
	}

	return value, nil
}

func encodeJSON(d document) ([]byte, error) {
	value, err := d.value()
	if err != nil {
		return nil, err
	}

	content, err := json.MarshalIndent(value, "", "    ")

	return append(content, '\n'), err
}

func encodePath(path *jsonpath.JSONPath, d document) ([]byte, error) {
	value, err := d.value()
	if err != nil {
		return nil, err
	}

	var b bytes.Buffer

	if err := path.Execute(&b, value); err != nil {
		return nil, err
	}

	if !bytes.HasSuffix(b.Bytes(), []byte("\n")) {
		b.WriteByte('\n')
	}

	return b.Bytes(), nil
}
