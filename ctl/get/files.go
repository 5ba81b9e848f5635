// SPDX-License-Identifier: Apache-2.0

package get

import (
	"cmp"
	"context"
	"io"
	"slices"
	"strings"

	"github.com/seed-59268b81/talos/client"
	"github.com/seed-59268b81/talos/ctl/graph"
	"github.com/seed-59268b81/talos/ctl/session"
)

// Files returns the files of this package in a support bundle: the resources of the types that are not secret, and the graph of the
// controllers.
func Files(ctx context.Context, n session.Node) ([]session.BundleFile, error) {
	definitions, err := session.Bounded(ctx, n, session.Node.Definitions)
	if err != nil {
		return nil, err
	}

	files := []session.BundleFile{{Name: "controllers.dot", Write: writeControllers}}

	for _, definition := range definitions {
		if definition.Sensitivity == "" {
			files = append(files, resourcesFile(definition))
		}
	}

	return files, nil
}

func writeControllers(ctx context.Context, n session.Node, w io.Writer) error {
	edges, err := n.ControllerDependencies(ctx)
	if err != nil {
		return err
	}

	return graph.Write(w, edges, nil)
}

func resourcesFile(definition client.Definition) session.BundleFile {
	return session.BundleFile{Name: "resources/" + session.PlainName(strings.ToLower(definition.Type)) + ".yaml", Write: func(ctx context.Context, n session.Node, w io.Writer) error {
		found, err := session.All(n.Resources(ctx, client.Kind{Namespace: definition.DefaultNamespace, Type: definition.Type}))
		if err != nil {
			return err
		}

		contents := make([][]byte, len(found))

		for i, r := range found {
			if contents[i], err = encodeYAML(n.Name, change{resource: r}); err != nil {
				return err
			}
		}

		slices.SortFunc(contents, func(a, b []byte) int { return cmp.Compare(string(a), string(b)) })

		return session.NewDocuments(w, "---\n").Write(contents...)
	}}
}
