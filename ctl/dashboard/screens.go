// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/seed-59268b81/talos/client"
)

// The smallest size of a terminal.
const (
	minWidth  = 40
	minHeight = 10
)

// draw returns the whole screen, in the exact size of the terminal.
func (m *model) draw() string {
	if m.width == 0 || m.height == 0 {
		return "" // its size is not known yet
	}

	if m.width < minWidth || m.height < minHeight {
		return strings.Join(box([]string{"the terminal is too small", "q quits"}, m.width, m.height), "\n")
	}

	body := m.height - 3
	n := m.nodes[m.node]

	var lines []string

	switch m.screen {
	case overview:
		lines = m.overview(n, body)
	case logs:
		lines = m.logs(n, body)
	case resources:
		lines = m.resources(n, body)
	case networking:
		lines = m.network(n, body)
	}

	out := append([]string{m.tabs(), m.menu()}, box(lines, m.width, body)...)
	out = append(out, m.keys())

	return strings.Join(out, "\n")
}

// tabs returns the line of the nodes with their state, the present one marked.
func (m *model) tabs() string {
	parts := make([]string, 0, len(m.nodes))
	width, first := 0, 0

	for i, n := range m.nodes {
		mark := faint.Styled("○")

		switch ready, known := n.ready(); {
		case n.dead():
			mark = bad.Styled("✗")
		case known && ready:
			mark = good.Styled("●")
		case known:
			mark = warning.Styled("●")
		}

		label := " " + clean(n.Name) + " "
		if i == m.node {
			label = marked.Styled(label)
		}

		parts = append(parts, mark+label)
		width += len(n.Name) + 4

		if i == m.node && width > m.width {
			first = max(0, i-1) // keep the present node on the screen
		}
	}

	return fit(" "+strings.Join(parts[first:], " "), m.width)
}

func (m *model) menu() string {
	var b strings.Builder

	for i, name := range screenNames {
		item := fmt.Sprintf(" %d %s ", i+1, name)
		if screen(i) == m.screen {
			item = marked.Styled(item)
		}

		b.WriteString(" " + item)
	}

	return fit(b.String(), m.width)
}

func (m *model) keys() string {
	keys := []string{"1-4 screen"}
	if len(m.nodes) > 1 {
		keys = append(keys, "←→ node")
	}

	switch {
	case m.filter.on:
		keys = []string{"type to filter: " + m.filter.text + "▏", "enter keep", "esc clear"}
	case m.screen == overview:
		keys = append(keys, "↑↓ processes")
	case m.screen == logs:
		keys = append(keys, "↑↓ service", "pgup/pgdn scroll", "end follow")
	case m.screen == networking, m.object != "":
		keys = append(keys, "↑↓ scroll")
	default:
		keys = append(keys, "↑↓ choose", "enter open", "/ filter")
	}

	if m.screen == resources && m.open != nil && !m.filter.on {
		keys = append(keys, "esc back")
	}

	return faint.Styled(fit(" "+strings.Join(append(keys, "q quit"), " · "), m.width))
}

// logs returns the lines of the services, with the log of the marked one.
func (m *model) logs(n *Node, height int) []string {
	const side = 18

	names := []string{heading.Styled(fit(" SERVICE", side))}
	for _, s := range n.Services {
		names = append(names, " "+clean(s.GetId()))
	}

	width := m.width - side - 3

	end := max(0, len(n.Log)-m.back)
	lines := n.Log[max(0, end-(height-1)):end]

	title := "log of " + clean(m.followed)
	if m.back > 0 {
		title += fmt.Sprintf(" (%d more lines below)", m.back)
	}

	right := append([]string{heading.Styled(title)}, lines...)

	switch {
	case n.LogErr != "":
		right = append(right, bad.Styled(n.LogErr))
	case len(n.Log) == 0 && len(n.Services) == 0:
		right = []string{faint.Styled("the services of the node are not known yet")}
	}

	return beside(faint.Styled(" │ "), box(choose(names, &m.service, side, height), side, height), box(right, width, height))
}

// types returns the types of resources that match the filter.
func (m *model) types() []client.Definition {
	return slices.DeleteFunc(slices.Clone(m.nodes[m.node].Types), func(d client.Definition) bool { return !m.filter.takes(d.Type) })
}

// ids returns the ids of the resources of the open type that match the filter.
func (m *model) ids() []string {
	all := slices.Sorted(maps.Keys(m.nodes[m.node].Resources[kind(m.open)]))

	return slices.DeleteFunc(all, func(id string) bool { return !m.filter.takes(id) })
}

// resources returns the lines of the types, of the resources of a type, or of one resource.
func (m *model) resources(n *Node, height int) []string {
	switch {
	case m.object != "":
		return m.objectText(n, height)
	case m.open != nil:
		return m.foundTable(n, height)
	}

	types := m.types()
	rows := make([][]string, len(types))

	for i, d := range types {
		rows[i] = []string{clean(d.DisplayType), clean(d.DefaultNamespace), clean(strings.Join(d.AllAliases, " "))}
	}

	return choose(table([]string{" TYPE", "NAMESPACE", "ALIASES"}, indent(rows)), &m.kinds, m.width, height)
}

func (m *model) foundTable(n *Node, height int) []string {
	var rows [][]string

	for _, id := range m.ids() {
		md := n.Resources[kind(m.open)][id].GetMetadata()
		rows = append(rows, []string{clean(id), md.GetVersion(), clean(md.GetPhase()), clean(md.GetOwner())})
	}

	title := bold.Styled(fmt.Sprintf(" %s in namespace %s", clean(m.open.DisplayType), clean(m.open.DefaultNamespace)))
	if n.Resources[kind(m.open)] == nil {
		title += faint.Styled("  waiting for the node; your role may not be allowed to read them")
	}

	lines := choose(table([]string{" ID", "VERSION", "PHASE", "OWNER"}, indent(rows)), &m.found, m.width, height-1)

	return append([]string{title}, lines...)
}

func indent(rows [][]string) [][]string {
	for _, r := range rows {
		r[0] = " " + r[0]
	}

	return rows
}

// choose returns the heading of a table and the rows that fit, with one row marked.
func choose(lines []string, l *list, width, height int) []string {
	from, to := l.window(len(lines)-1, height-1)
	out := []string{lines[0]}

	for i := from; i < to; i++ {
		line := lines[i+1]
		if i == l.at {
			line = marked.Styled(fit(line, width))
		}

		out = append(out, line)
	}

	return out
}

// objectText returns a resource as lines of YAML.
func (m *model) objectText(n *Node, height int) []string {
	r := n.Resources[kind(m.open)][m.object]
	if r == nil {
		return []string{bold.Styled(" " + clean(m.object)), faint.Styled(" it no longer exists")}
	}

	md := r.GetMetadata()
	lines := []string{
		"metadata:", "    namespace: " + md.GetNamespace(), "    type: " + md.GetType(), "    id: " + md.GetId(), "    version: " + md.GetVersion(),
		"    owner: " + md.GetOwner(), "    phase: " + md.GetPhase(),
	}

	for _, f := range md.GetFinalizers() {
		lines = append(lines, "    finalizer: "+f)
	}

	lines = append(lines, "spec:")
	for line := range strings.SplitSeq(strings.TrimRight(r.GetSpec().GetYamlSpec(), "\n"), "\n") {
		lines = append(lines, "    "+line)
	}

	for i := range lines {
		lines[i] = " " + clean(lines[i])
	}

	return m.scroll(lines, height)
}

// scroll returns the lines from the top line on. It limits the top line, so that the screen is filled.
func (m *model) scroll(lines []string, height int) []string {
	m.top = max(0, min(m.top, len(lines)-height))

	return lines[m.top:]
}
