// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"slices"

	"github.com/seed-59268b81/talos/api/inspect"
)

// Kind names resources. As a node of the graph it has a namespace only if its type is in several: a controller that copies a
// type from one namespace to another is no circle.
type Kind struct{ Namespace, Type string }

// String names the node.
func (k Kind) String() string {
	if k.Namespace == "" {
		return k.Type
	}

	return k.Type + " " + k.Namespace
}

// edge is between a controller and a node.
type edge struct {
	controller string
	kind       Kind
	id         string
	typ        inspect.DependencyEdgeType
}

// withNodes returns the edges with the nodes that they lead to or from. An output that tells no namespace leads to all
// namespaces of its type that another edge tells.
func withNodes(edges []*inspect.ControllerDependencyEdge) []edge {
	namespaces := map[string][]string{}

	for _, e := range edges {
		if ns := e.GetResourceNamespace(); ns != "" && !slices.Contains(namespaces[e.GetResourceType()], ns) {
			namespaces[e.GetResourceType()] = append(namespaces[e.GetResourceType()], ns)
		}
	}

	var out []edge

	for _, e := range edges {
		in := namespaces[e.GetResourceType()]

		switch {
		case len(in) < 2:
			in = []string{""}
		case e.GetResourceNamespace() != "":
			in = []string{e.GetResourceNamespace()}
		}

		for _, ns := range in {
			out = append(out, edge{
				controller: e.GetControllerName(), kind: Kind{Namespace: ns, Type: e.GetResourceType()},
				id: e.GetResourceId(), typ: e.GetEdgeType(),
			})
		}
	}

	return out
}
