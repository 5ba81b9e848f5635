// SPDX-License-Identifier: Apache-2.0

package get

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/client"
	"github.com/seed-59268b81/talos/ctl/session"
)

// newPrinter returns the printer for the value of --output.
func newPrinter(s *session.Session, cmd *cobra.Command, watch bool) (printer, error) {
	out := cmd.OutOrStdout()

	encode, err := s.Encoder(cmd)

	switch {
	case err != nil:
		return nil, err
	case encode == nil:
		return &tablePrinter{table: session.NewTable(out), watch: watch}, nil
	}

	p := &documentPrinter{documents: session.NewDocuments(out, s.Separator()), encode: encodeYAML}

	if s.Format != "yaml" {
		p.encode = func(d document) ([]byte, error) {
			value, err := d.value()
			if err != nil {
				return nil, err
			}

			return encode(value)
		}
	}

	return p, nil
}

// document is a resource as a document.
type document struct {
	node   string
	change change
}

// documentPrinter prints each resource as a document.
type documentPrinter struct {
	documents *session.Documents
	encode    func(document) ([]byte, error)
}

func (p *documentPrinter) print(node string, _ client.Definition, changes []change) error {
	contents := make([][]byte, len(changes))

	for i, c := range changes {
		content, err := p.encode(document{node: node, change: c})
		if err != nil {
			return fmt.Errorf("print %s: %w", c.resource.GetMetadata().GetId(), err)
		}

		contents[i] = content
	}

	return p.documents.Write(contents...)
}

// value returns the document in the types of JSON.
func (d document) value() (map[string]any, error) {
	value := map[string]any{"node": d.node}
	if d.change.event != nil {
		value["event"] = strings.ToLower(d.change.event.String())
	}

	metadata, err := session.DecodePlain(yamlMetadata(d.change.resource.GetMetadata()))
	if err != nil {
		return nil, fmt.Errorf("decode metadata: %w", err)
	}

	value["metadata"] = metadata

	text := d.change.resource.GetSpec().GetYamlSpec()
	if session.ManyDocuments(text) {
		value["spec"] = text

		return value, nil
	}

	value["spec"], err = session.DecodePlain(text)
	if err != nil {
		return nil, fmt.Errorf("decode spec: %w", err)
	}

	return value, nil
}
