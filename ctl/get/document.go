// SPDX-License-Identifier: Apache-2.0

package get

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/client"
	"github.com/seed-59268b81/talos/ctl/session"
)

// output sets how resources are printed, from the value of --output.
func (g *get) output(s *session.Session, cmd *cobra.Command) error {
	encode, err := s.Encoder(cmd)
	g.table, g.documents = session.NewTable(cmd.OutOrStdout()), session.NewDocuments(cmd.OutOrStdout(), s.Separator())

	switch {
	case encode == nil:
	case s.Format == "yaml":
		g.encode = encodeYAML
	default:
		g.encode = func(node string, c change) ([]byte, error) {
			value, err := c.value(node)
			if err != nil {
				return nil, err
			}

			return encode(value)
		}
	}

	return err
}

// print prints the changes of a node together.
func (g *get) print(node string, definition client.Definition, changes []change) error {
	if g.encode == nil {
		return g.printRows(node, definition, changes)
	}

	contents := make([][]byte, len(changes))

	for i, c := range changes {
		var err error
		if contents[i], err = g.encode(node, c); err != nil {
			return fmt.Errorf("print %s: %w", c.resource.GetMetadata().GetId(), err)
		}
	}

	return g.documents.Write(contents...)
}

// value returns the document of a change in the types of JSON.
func (c change) value(node string) (map[string]any, error) {
	value := map[string]any{"node": node}
	if c.event != nil {
		value["event"] = strings.ToLower(c.event.String())
	}

	metadata, err := session.DecodePlain(yamlMetadata(c.resource.GetMetadata()))
	if err != nil {
		return nil, fmt.Errorf("decode metadata: %w", err)
	}

	value["metadata"] = metadata

	text := c.resource.GetSpec().GetYamlSpec()
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
