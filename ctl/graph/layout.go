// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"cmp"
	"maps"
	"slices"
)

// Layout in layers, from left to right, after Sugiyama: turn edges round that close a circle, put every node to the right
// of those that lead to it, bend long edges at each layer that they pass, order the layers so that few edges cross,
// and then give each node the height at which its edges are shortest.
//
// Of the libraries that could do it, graphviz itself and its WebAssembly build outweigh the rest of talosctl, and those
// in plain Go leave the crossings; 200 nodes and 600 edges need no more than this.

const (
	sweeps    = 30
	nodeGap   = 10.0
	bendGap   = 5.0
	layerGap  = 90.0
	maxWander = 12 // sweeps of the heights
)

// vertex is a node of the graph, or a bend of a long edge, which has no name.
type vertex struct {
	name          string
	width, height float64
	x, y          float64 // of its left edge, and of its middle
	layer, place  int
	before, after []*vertex // in the layers next to its own
}

// line is an edge as it is drawn: from its beginning over bends to its end.
type line struct {
	from, to *vertex
	// bends between the two, from left to right; back tells that the line runs from right to left.
	bends []*vertex
	back  bool
}

// layout places the vertices, which have their sizes, and returns the lines and the size of the whole.
func layout(vertices []*vertex, edges [][2]*vertex) (lines []*line, width, height float64) {
	lines = acyclic(vertices, edges)
	assignLayers(vertices, lines)

	layers := split(vertices, lines)

	orderLayers(layers)

	width = columns(layers)
	height = heights(layers)

	return lines, width, height
}

// acyclic makes lines of the edges, those that close a circle turned round, so that all run from left to right.
func acyclic(vertices []*vertex, edges [][2]*vertex) []*line {
	out := map[*vertex][]*line{}
	incoming := map[*vertex]int{}

	var lines []*line

	for _, e := range edges {
		l := &line{from: e[0], to: e[1]}
		lines = append(lines, l)
		out[e[0]] = append(out[e[0]], l)
		incoming[e[1]]++
	}

	// Begin where nothing leads to, so that circles are broken as late as possible.
	order := slices.Clone(vertices)
	slices.SortStableFunc(order, func(a, b *vertex) int { return cmp.Compare(incoming[a], incoming[b]) })

	const walking, done = 1, 2

	state := map[*vertex]int{}

	var walk func(v *vertex)

	walk = func(v *vertex) {
		state[v] = walking

		for _, l := range out[v] {
			switch state[l.to] {
			case 0:
				walk(l.to)
			case walking:
				l.back = true
			}
		}

		state[v] = done
	}

	for _, v := range order {
		if state[v] == 0 {
			walk(v)
		}
	}

	return lines
}

// ends are the left and the right end of the line.
func (l *line) ends() (left, right *vertex) {
	if l.back {
		return l.to, l.from
	}

	return l.from, l.to
}

// assignLayers puts each vertex right of all that lead to it, and those that nothing leads to as far right as they can.
func assignLayers(vertices []*vertex, lines []*line) {
	right := map[*vertex][]*vertex{}
	waiting := map[*vertex]int{}

	for _, l := range lines {
		if a, b := l.ends(); a != b {
			right[a] = append(right[a], b)
			waiting[b]++
		}
	}

	var ready, order []*vertex

	for _, v := range vertices {
		if waiting[v] == 0 {
			ready = append(ready, v)
		}
	}

	hasLeft := maps.Clone(waiting)

	for len(ready) > 0 {
		v := ready[0]
		ready = ready[1:]
		order = append(order, v)

		for _, next := range right[v] {
			next.layer = max(next.layer, v.layer+1)

			if waiting[next]--; waiting[next] == 0 {
				ready = append(ready, next)
			}
		}
	}

	for _, v := range slices.Backward(order) {
		if hasLeft[v] > 0 || len(right[v]) == 0 {
			continue
		}

		nearest := slices.MinFunc(right[v], func(a, b *vertex) int { return cmp.Compare(a.layer, b.layer) })
		v.layer = nearest.layer - 1
	}
}

// split returns the layers, in which long lines have a bend each.
func split(vertices []*vertex, lines []*line) [][]*vertex {
	var layers [][]*vertex

	put := func(v *vertex) {
		for len(layers) <= v.layer {
			layers = append(layers, nil)
		}

		layers[v.layer] = append(layers[v.layer], v)
	}

	for _, v := range vertices {
		put(v)
	}

	join := func(a, b *vertex) {
		a.after = append(a.after, b)
		b.before = append(b.before, a)
	}

	for _, l := range lines {
		last, right := l.ends()
		if last == right {
			continue // it reads what it writes
		}

		for layer := last.layer + 1; layer < right.layer; layer++ {
			bend := &vertex{layer: layer}
			l.bends = append(l.bends, bend)
			put(bend)
			join(last, bend)
			last = bend
		}

		join(last, right)
	}

	for _, layer := range layers {
		number(layer)
	}

	return layers
}

func number(layer []*vertex) {
	for i, v := range layer {
		v.place = i
	}
}

// orderLayers sorts each layer by the middle of the neighbours, to the right and back, and keeps the best order seen.
func orderLayers(layers [][]*vertex) {
	best, fewest := clone(layers), crossings(layers)

	for sweep := range sweeps {
		toRight := sweep%2 == 0

		for i := range layers {
			layer := layers[i]
			if !toRight {
				layer = layers[len(layers)-1-i]
			}

			wanted := make(map[*vertex]float64, len(layer))
			for _, v := range layer {
				wanted[v] = middle(v, toRight)
			}

			slices.SortStableFunc(layer, func(a, b *vertex) int { return cmp.Compare(wanted[a], wanted[b]) })
			number(layer)
		}

		if n := crossings(layers); n < fewest {
			best, fewest = clone(layers), n
		}
	}

	for i := range layers {
		layers[i] = best[i]
		number(best[i])
	}
}

func clone(layers [][]*vertex) [][]*vertex {
	out := make([][]*vertex, len(layers))
	for i := range layers {
		out[i] = slices.Clone(layers[i])
	}

	return out
}

// middle is the mean place of the neighbours on one side, or the own place where there are none.
func middle(v *vertex, left bool) float64 {
	neighbours := v.after
	if left {
		neighbours = v.before
	}

	if len(neighbours) == 0 {
		return float64(v.place)
	}

	sum := 0
	for _, n := range neighbours {
		sum += n.place
	}

	return float64(sum) / float64(len(neighbours))
}

// crossings of edges between all layers: of each pair of layers, the inversions among the right ends, counted with a
// tree of sums (Barth, Jünger, Mutzel).
func crossings(layers [][]*vertex) int {
	total := 0

	for i := 1; i < len(layers); i++ {
		tree := make([]int, len(layers[i])+1)
		seen := 0

		for _, v := range layers[i-1] {
			places := make([]int, len(v.after))
			for j, n := range v.after {
				places[j] = n.place
			}

			slices.Sort(places)

			for _, p := range places { // those seen before that end below this one
				upTo := 0
				for k := p + 1; k > 0; k -= k & -k {
					upTo += tree[k]
				}

				total += seen - upTo
			}

			for _, p := range places {
				seen++
				for k := p + 1; k < len(tree); k += k & -k {
					tree[k]++
				}
			}
		}
	}

	return total
}

// columns gives each layer its place from left to right, and returns the width of all.
func columns(layers [][]*vertex) float64 {
	x := 0.0

	for _, layer := range layers {
		widest := 0.0
		for _, v := range layer {
			widest = max(widest, v.width)
		}

		for _, v := range layer {
			v.x = x
			if v.name == "" {
				v.width = widest // the line runs straight through the column
			}
		}

		x += widest + layerGap
	}

	return max(0, x-layerGap)
}

// heights gives each vertex the height of the mean of its neighbours, as far as the order and the gaps allow, and returns
// the height of all.
func heights(layers [][]*vertex) float64 {
	for _, layer := range layers {
		place(layer, func(*vertex) float64 { return 0 })
	}

	for sweep := range maxWander {
		for i := range layers {
			layer := layers[i]
			if sweep%2 == 1 {
				layer = layers[len(layers)-1-i]
			}

			place(layer, func(v *vertex) float64 {
				sum, n := 0.0, 0
				for _, other := range slices.Concat(v.before, v.after) {
					sum, n = sum+other.y, n+1
				}

				if n == 0 {
					return v.y
				}

				return sum / float64(n)
			})
		}
	}

	top, bottom := 0.0, 0.0

	for _, layer := range layers {
		for _, v := range layer {
			top, bottom = min(top, v.y-v.height/2), max(bottom, v.y+v.height/2)
		}
	}

	for _, layer := range layers {
		for _, v := range layer {
			v.y -= top
		}
	}

	return bottom - top
}

// place moves the vertices of a layer as near as can be, in sum of squares, to the heights wanted, in their order and with
// their gaps: pool adjacent violators.
func place(layer []*vertex, wanted func(*vertex) float64) {
	type block struct {
		sum   float64
		count int
	}

	var (
		blocks  []block
		offsets = make([]float64, len(layer)) // from the first vertex, when all stand as close as can be
	)

	for i, v := range layer {
		if i > 0 {
			offsets[i] = offsets[i-1] + (layer[i-1].height+v.height)/2 + gap(layer[i-1], v)
		}

		blocks = append(blocks, block{wanted(v) - offsets[i], 1})

		for n := len(blocks); n > 1; n = len(blocks) {
			a, b := blocks[n-2], blocks[n-1]
			if a.sum/float64(a.count) <= b.sum/float64(b.count) {
				break
			}

			blocks = append(blocks[:n-2], block{a.sum + b.sum, a.count + b.count})
		}
	}

	i := 0

	for _, b := range blocks {
		for range b.count {
			layer[i].y = b.sum/float64(b.count) + offsets[i]
			i++
		}
	}
}

func gap(a, b *vertex) float64 {
	if a.name == "" && b.name == "" {
		return bendGap
	}

	return nodeGap
}
