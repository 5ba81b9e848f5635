// SPDX-License-Identifier: Apache-2.0

package graph

import "slices"

// Arrows that would say little and hide much are left out of a picture: the controller names what it reads instead.
const (
	// maxArrows from a type to those that read it.
	maxArrows = 6
	// maxReach is how many columns an arrow to a reader may cross.
	maxReach = 3
)

// name has a controller name a type that it reads.
func (p *picture) name(controller, typ *vertex) {
	if line := "← " + p.short[typ]; !slices.Contains(p.lines[controller], line) {
		p.lines[controller] = append(p.lines[controller], line)
		p.measure(controller)
	}
}

// hubs are the types that so many controllers read that arrows to all of them would hide the rest. Their readers name
// them instead.
func hubs(edges []edge) map[Kind]bool {
	readers := map[Kind]map[string]bool{}

	for _, e := range edges {
		if isOutput(e.typ) {
			continue
		}

		if readers[e.kind] == nil {
			readers[e.kind] = map[string]bool{}
		}

		readers[e.kind][e.controller] = true
	}

	hubs := map[Kind]bool{}
	for kind, who := range readers {
		hubs[kind] = len(who) > maxArrows
	}

	return hubs
}

// shorten leaves out the arrows to readers that are far away. As a circle may be opened by it, and columns come nearer, it
// is enough to look once.
func (p *picture) shorten() {
	columns := make(map[*vertex]*vertex, len(p.order))
	trial := make([]*vertex, len(p.order))

	for i, v := range p.order {
		trial[i] = &vertex{name: v.name}
		columns[v] = trial[i]
	}

	edges := make([][2]*vertex, len(p.edges))
	for i, e := range p.edges {
		edges[i] = [2]*vertex{columns[e[0]], columns[e[1]]}
	}

	assignLayers(trial, acyclic(trial, edges))

	kept := 0

	for i, e := range p.edges {
		if reach := columns[e[1]].layer - columns[e[0]].layer; p.isType[e[0]] && max(reach, -reach) > maxReach {
			p.name(e[1], e[0])

			continue
		}

		p.edges[kept], p.class[kept], p.title[kept] = e, p.class[i], p.title[i]
		kept++
	}

	p.edges, p.class, p.title = p.edges[:kept], p.class[:kept], p.title[:kept]
}
