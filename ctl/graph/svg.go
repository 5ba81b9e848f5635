// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/seed-59268b81/talos/api/inspect"
)

// What a picture is measured by, in pixels.
const (
	letter     = 7.3 // the width of one of 12 px in a font of fixed width
	lineHeight = 16.0
	padding    = 8.0
	margin     = 20.0
	legend     = 40.0
)

// style of a picture: colours, and what lights up the arrows of the node that the pointer is over.
const style = `<style>
text{font:12px "DejaVu Sans Mono",Menlo,Consolas,monospace;fill:#1b2733}
.c rect{fill:#cfe2f3;stroke:#3d6f9e}
.r rect{fill:#fff7dc;stroke:#b8923a}
.ids{fill:#6b6254}
path{fill:none;stroke:#8796a5;stroke-width:1.1;marker-end:url(#arrow)}
.strong{stroke:#3f5163;stroke-width:1.6}
.weak{stroke-dasharray:5 3}
.destroy{stroke-dasharray:1.5 3}
svg.lit path{opacity:.1}svg.lit g{opacity:.35}
svg.lit .on{opacity:1!important}svg.lit path.on{stroke:#c0392b;stroke-width:2}
</style>
<defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0 8 4 0 8z" style="fill:#5a6b7b;stroke:none;marker-end:none"/></marker></defs>

`

// script is for browsers; elsewhere the picture is as good without.
const script = `<script><![CDATA[
const svg=document.documentElement,paths=[...svg.querySelectorAll("path[data-f]")];
for(const g of svg.querySelectorAll("g[data-n]")){
 g.onmouseenter=()=>{const n=g.dataset.n,near=new Set([n]);
  for(const p of paths)if(p.dataset.f==n||p.dataset.t==n){p.classList.add("on");near.add(p.dataset.f).add(p.dataset.t)}
  for(const o of svg.querySelectorAll("g[data-n]"))o.classList.toggle("on",near.has(o.dataset.n));svg.classList.add("lit")};
 g.onmouseleave=()=>{svg.classList.remove("lit");for(const o of svg.querySelectorAll(".on"))o.classList.remove("on")}}
]]></script>
`

// classes of lines, by the kind of edge.
var classes = map[inspect.DependencyEdgeType]string{
	inspect.DependencyEdgeType_OUTPUT_EXCLUSIVE:    "strong",
	inspect.DependencyEdgeType_OUTPUT_SHARED:       "weak",
	inspect.DependencyEdgeType_INPUT_STRONG:        "strong",
	inspect.DependencyEdgeType_INPUT_WEAK:          "weak",
	inspect.DependencyEdgeType_INPUT_DESTROY_READY: "destroy",
}

// picture is a graph on its way to the page.
type picture struct {
	nodes  map[string]*vertex // by kind and name: a controller may be called like a type
	order  []*vertex
	edges  [][2]*vertex
	class  []string
	title  []string // of each edge
	lines  map[*vertex][]string
	isType map[*vertex]bool
	short  map[*vertex]string // of kinds
}

// SVG draws the edges as a picture: the graph of Write laid out, without the help of graphviz.
func SVG(w io.Writer, edges []*inspect.ControllerDependencyEdge, resources Resources) error {
	p := pictureOf(edges, resources)

	lines, width, height := layout(p.order, p.edges)

	var b strings.Builder

	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" viewBox="%.0f %.0f %.0f %.0f">`+"\n",
		width+2*margin, height+2*margin+legend, -margin, -margin-legend, width+2*margin, height+2*margin+legend)
	b.WriteString(style)
	fmt.Fprintf(&b, `<rect x="%.0f" y="%.0f" width="%.0f" height="%.0f" fill="#fff"/>`+"\n", -margin, -margin-legend, width+2*margin, height+2*margin+legend)
	b.WriteString(explanation)

	for i, l := range lines {
		fmt.Fprintf(&b, `<path class="%s" data-f="%d" data-t="%d" d="%s"><title>%s</title></path>`+"\n",
			p.class[i], slices.Index(p.order, l.from), slices.Index(p.order, l.to), l.path(), text(p.title[i]))
	}

	for i, v := range p.order {
		p.node(&b, i, v)
	}

	b.WriteString(script + "</svg>\n")

	_, err := io.WriteString(w, b.String())

	return err
}

const explanation = `<g class="c"><rect x="0" y="-46" width="86" height="20"/><text x="6" y="-32">controller</text></g>
<g class="r"><rect x="96" y="-46" width="116" height="20" rx="9"/><text x="104" y="-32">resource type</text></g>
<path class="strong" d="M226-36H266"/><text x="272" y="-32">exclusive output, strong input</text>
<path class="weak" d="M506-36H546"/><text x="552" y="-32">shared output, weak input</text>
<path class="destroy" d="M746-36H786"/><text x="792" y="-32">input when torn down</text>
<text x="956" y="-32">← reads a type that is far away, or that many read</text>
`

func pictureOf(edges []*inspect.ControllerDependencyEdge, resources Resources) *picture {
	p := &picture{nodes: map[string]*vertex{}, lines: map[*vertex][]string{}, isType: map[*vertex]bool{}, short: map[*vertex]string{}}
	p.collect(edges, resources)
	p.shorten()

	return p
}

func (p *picture) collect(edges []*inspect.ControllerDependencyEdge, resources Resources) {
	drawn := map[string]bool{}

	sorted := withNodes(edges)
	slices.SortStableFunc(sorted, func(a, b edge) int {
		return cmp.Or(strings.Compare(a.controller, b.controller), strings.Compare(a.kind.String(), b.kind.String()))
	})

	hubs := hubs(sorted)

	for _, e := range sorted {
		controller, typ := p.addController(e.controller), p.addKind(e.kind, resources)

		if hubs[e.kind] && !isOutput(e.typ) {
			p.name(controller, typ)

			continue
		}

		from, to := typ, controller
		if isOutput(e.typ) {
			from, to = to, from
		}

		key := fmt.Sprintf("%p %p %s", from, to, classes[e.typ])
		if drawn[key] {
			continue
		}

		drawn[key] = true

		title := from.name + " → " + to.name
		if e.id != "" {
			title += " (" + e.id + ")"
		}

		p.edges = append(p.edges, [2]*vertex{from, to})
		p.class = append(p.class, classes[e.typ])
		p.title = append(p.title, title)
	}
}

func (p *picture) addController(name string) *vertex {
	return p.add("controller "+name, name, []string{name}, "")
}

func (p *picture) addKind(kind Kind, resources Resources) *vertex {
	lines := append([]string{kind.short()}, listed(kind, resources)...)

	return p.add("kind "+kind.String(), kind.String(), lines, kind.short())
}

// add returns the node with the key. A kind has a short name.
func (p *picture) add(key, name string, lines []string, short string) *vertex {
	if v := p.nodes[key]; v != nil {
		return v
	}

	v := &vertex{name: cmp.Or(name, "?")} // without a name it would be a bend

	p.nodes[key], p.lines[v], p.isType[v], p.short[v] = v, lines, strings.HasPrefix(key, "kind "), short
	p.order = append(p.order, v)
	p.measure(v)

	return v
}

// measure gives the node the size of its lines.
func (p *picture) measure(v *vertex) {
	v.height = lineHeight*float64(len(p.lines[v])) + padding

	for _, l := range p.lines[v] {
		v.width = max(v.width, letter*float64(utf8.RuneCountInString(l))+2*padding)
	}
}

func short(typ string) string {
	name, _, _ := strings.Cut(typ, ".")

	return name
}

func (p *picture) node(b *strings.Builder, i int, v *vertex) {
	class, radius := "c", 2
	if p.isType[v] {
		class, radius = "r", 11
	}

	fmt.Fprintf(b, `<g class="%s" data-n="%d"><title>%s</title><rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="%d"/>`,
		class, i, text(v.name), v.x, v.y-v.height/2, v.width, v.height, radius)

	for n, l := range p.lines[v] {
		dim := ""
		if n > 0 {
			dim = ` class="ids"`
		}

		fmt.Fprintf(b, `<text%s x="%.1f" y="%.1f">%s</text>`, dim, v.x+padding, v.y-v.height/2+padding/2+lineHeight*float64(n)+12, text(l))
	}

	b.WriteString("</g>\n")
}

// path of the line: curves between columns, straight through the columns that it passes.
func (l *line) path() string {
	left, right := l.ends()

	if left == right { // a loop over the corner
		x, y := left.x+left.width, left.y

		return fmt.Sprintf("M%.1f %.1fc30 -6 30 -%.1f -12 -%.1f", x, y-3, left.height+4, left.height/2-3)
	}

	points := []point{{left.x + left.width, left.y}}
	for _, v := range l.bends {
		points = append(points, point{v.x, v.y}, point{v.x + v.width, v.y})
	}

	points = append(points, point{right.x, right.y})

	if l.back {
		slices.Reverse(points)
	}

	var b strings.Builder

	fmt.Fprintf(&b, "M%.1f %.1f", points[0].x, points[0].y)

	for i := 1; i < len(points); i++ {
		a, z := points[i-1], points[i]
		if i%2 == 0 {
			fmt.Fprintf(&b, "L%.1f %.1f", z.x, z.y)

			continue
		}

		half := (z.x - a.x) / 2
		fmt.Fprintf(&b, "C%.1f %.1f %.1f %.1f %.1f %.1f", a.x+half, a.y, z.x-half, z.y, z.x, z.y)
	}

	return b.String()
}

type point struct{ x, y float64 }

// text as it stands in XML.
func text(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}

		return r
	}, s)

	var b strings.Builder
	if err := xml.EscapeText(&b, []byte(s)); err != nil {
		return "" // a builder takes all
	}

	return b.String()
}
