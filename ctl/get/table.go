// SPDX-License-Identifier: Apache-2.0

package get

import (
	"fmt"
	"strings"

	cosiapi "github.com/seed-59268b81/talos/api/cosi/v1alpha1"
	"github.com/seed-59268b81/talos/client"
	"github.com/seed-59268b81/talos/ctl/session"
)

// printRows prints resources as rows, with the columns of their definition.
func (g *get) printRows(node string, definition client.Definition, changes []change) error {
	rows := make([][]string, len(changes))

	for i, c := range changes {
		var err error

		if rows[i], err = g.row(node, definition, c); err != nil {
			return err
		}
	}

	// The columns are known with the first definition.
	g.begun.Do(func() { g.table.SetHeader(g.header(definition)...) })

	return g.table.Print(rows...)
}

func (g *get) header(definition client.Definition) []string {
	header := []string{"NODE"}
	if g.watch {
		header = append(header, "*")
	}

	header = append(header, "NAMESPACE", "TYPE", "ID", "VERSION")
	for _, column := range definition.PrintColumns {
		header = append(header, strings.ToUpper(column.Name))
	}

	return header
}

func (g *get) row(node string, definition client.Definition, c change) ([]string, error) {
	md := c.resource.GetMetadata()

	row := []string{node}
	if g.watch {
		row = append(row, marks[*c.event])
	}

	row = append(row, md.GetNamespace(), definition.DisplayType, md.GetId(), md.GetVersion())

	if len(definition.PrintColumns) == 0 {
		return row, nil
	}

	spec, err := session.DecodePlain(c.resource.GetSpec().GetYamlSpec())
	if err != nil {
		return nil, fmt.Errorf("decode the spec of %s: %w", md.GetId(), err)
	}

	for _, column := range definition.PrintColumns {
		var cell string

		// A path fails on an empty spec, as a destroyed resource has, but not on a missing key.
		if spec != nil {
			if cell, err = session.ApplyPath(column.JSONPath, spec); err != nil {
				return nil, fmt.Errorf("column %s of %s: %w", column.Name, md.GetId(), err)
			}
		}

		row = append(row, cell)
	}

	return row, nil
}

// marks are how a table marks changes.
var marks = map[cosiapi.EventType]string{cosiapi.EventType_CREATED: "+", cosiapi.EventType_DESTROYED: "-"}
