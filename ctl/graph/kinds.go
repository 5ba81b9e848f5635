// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"slices"

	"github.com/seed-59268b81/talos/api/inspect"
)

// Kind is a namespace and a type of resources. A node of the graph has a namespace only if its type is in several namespaces: without it,
// a controller that copies resources to another namespace would be a circle.
type Kind struct{ Namespace, Type string }

// String returns the name of the node.
func (k Kind) String() string {
	if k.Namespace == "" {
		return k.Type
	}

	return k.Type + " " + k.Namespace
}

// edge is an edge between a controller and a node of the graph.
type edge struct {
	controller string
	kind       Kind
	id         string
	typ        inspect.DependencyEdgeType
}

// withNodes returns the edges with their nodes. An output without a namespace leads to all namespaces of its type that other edges have.
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
