// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/seed-59268b81/talos/client"
)

type screen int

const (
	overview screen = iota
	logs
	resources
	networking
)

var screenNames = []string{"Overview", "Logs", "Resources", "Network"}

// source follows what a screen shows, and sends messages.
type source interface {
	logs(node int, service string) (stop func())
	watch(node int, kind client.Kind) (stop func())
}

// model is everything that is shown. Only messages change it.
type model struct {
	nodes  []*Node
	source source
	now    func() time.Time

	width, height int
	node          int
	screen        screen
	stop          func() // stops what the screen follows

	service   list   // of the log
	followed  string // the service whose log is read
	back      int    // lines of the log below the screen
	processes list

	kinds, found list // types of resources, and resources of the one that is open
	open         *client.Definition
	object       string // id of the resource that is shown
	top          int    // its first line on the screen
	filter       filter
}

// filter is the text that the rows of a list must contain.
type filter struct {
	on   bool
	text string
}

func (f filter) takes(s string) bool {
	return strings.Contains(strings.ToLower(s), strings.ToLower(f.text))
}

// list is a list with a marked row.
type list struct{ at int }

// move moves the mark by n rows in a list of this many rows.
func (l *list) move(n, rows int) { l.at = max(0, min(rows-1, l.at+n)) }

// window returns the rows that fit, with the marked row among them.
func (l *list) window(rows, height int) (from, to int) {
	l.move(0, rows)

	from = max(0, min(l.at-height/2, rows-height))

	return from, min(rows, from+max(0, height))
}

func newModel(names []string, src source) *model {
	m := &model{source: src, now: time.Now, stop: func() {}}
	for _, name := range names {
		m.nodes = append(m.nodes, newNode(name))
	}

	return m
}

type tick struct{}

func every() tea.Cmd { return tea.Tick(time.Second, func(time.Time) tea.Msg { return tick{} }) }

// Init implements tea.Model.
func (m *model) Init() tea.Cmd { return every() }

// Update implements tea.Model.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case learned:
		n := m.nodes[msg.node]
		before := n.logged
		msg.apply(n)

		if m.back > 0 && msg.node == m.node { // the lines on the screen stay
			m.back = max(0, min(m.back+n.logged-before, len(n.Log)-1))
		}

		if m.screen == logs && msg.node == m.node && m.followed == "" {
			m.followLog() // the services are known now
		}
	case tick:
		return m, every()
	case tea.KeyPressMsg:
		return m, m.key(msg.String())
	}

	return m, nil
}

// View implements tea.Model.
func (m *model) View() tea.View {
	view := tea.NewView(m.draw())
	view.AltScreen = true
	view.WindowTitle = "Talos dashboard"

	return view
}

// key handles a key. While a filter is typed, letters belong to it.
func (m *model) key(key string) tea.Cmd {
	if key == "ctrl+c" {
		return m.quit()
	}

	if m.filter.on && m.typed(key) {
		return nil
	}

	switch key {
	case "q":
		return m.quit()
	case "1", "2", "3", "4":
		m.show(m.node, screen(key[0]-'1'))
	case "tab", "right":
		m.show((m.node+1)%len(m.nodes), m.screen)
	case "shift+tab", "left":
		m.show((m.node+len(m.nodes)-1)%len(m.nodes), m.screen)
	case "up", "k":
		m.move(-1)
	case "down", "j":
		m.move(1)
	case "pgup":
		m.page(-1)
	case "pgdown", "space":
		m.page(1)
	case "home", "g":
		m.page(-far)
	case "end", "G":
		m.page(far)
	case "enter":
		m.enter()
	case "esc", "backspace":
		m.leave()
	case "/":
		m.filter = filter{on: m.screen == resources && m.object == ""}
	}

	return nil
}

// far is more pages than any list has.
const far = 1 << 20

func (m *model) quit() tea.Cmd {
	m.stop()

	return tea.Quit
}

// typed handles a key of the filter. It returns false for other keys.
func (m *model) typed(key string) bool {
	switch {
	case key == "esc":
		m.filter = filter{}
	case key == "enter":
		m.filter.on = false
	case key == "backspace":
		m.filter.text = m.filter.text[:max(0, len(m.filter.text)-1)]
	case len(key) == 1 && key[0] > ' ' && key[0] < 0x7f:
		m.filter.text += key
	default:
		return false
	}

	m.kinds.at, m.found.at = 0, 0

	return true
}

// show shows a screen of a node.
func (m *model) show(node int, to screen) {
	m.stop()
	m.stop = func() {}

	if node != m.node || to != m.screen {
		m.filter, m.object, m.top, m.back = filter{}, "", 0, 0
	}

	if to != m.screen {
		m.open = nil
	}

	m.node, m.screen, m.followed = node, to, ""

	switch {
	case to == logs:
		m.followLog()
	case to == resources && m.open != nil:
		m.stop = m.source.watch(node, kind(m.open))
	}
}

func kind(d *client.Definition) client.Kind {
	return client.Kind{Namespace: d.DefaultNamespace, Type: d.Type}
}

// followLog follows the log of the marked service.
func (m *model) followLog() {
	services := m.nodes[m.node].Services
	if len(services) == 0 {
		return
	}

	m.service.move(0, len(services))
	m.stop()

	m.back, m.followed = 0, services[m.service.at].GetId()
	m.stop = m.source.logs(m.node, m.followed)
}

// enter opens the marked type or resource.
func (m *model) enter() {
	if m.screen != resources {
		return
	}

	if m.open == nil {
		types := m.types()
		if len(types) == 0 {
			return
		}

		m.kinds.move(0, len(types))
		m.open = &types[m.kinds.at]
		m.found, m.filter = list{}, filter{}
		m.stop = m.source.watch(m.node, kind(m.open))

		return
	}

	if ids := m.ids(); m.object == "" && len(ids) > 0 {
		m.found.move(0, len(ids))
		m.object, m.top = ids[m.found.at], 0
	}
}

// leave closes the filter, resource or type that was opened last.
func (m *model) leave() {
	switch {
	case m.filter.text != "":
		m.filter = filter{}
	case m.object != "":
		m.object = ""
	case m.open != nil:
		m.stop()
		m.stop, m.open = func() {}, nil
	}
}

// move moves the mark by n rows, or scrolls.
func (m *model) move(n int) {
	switch {
	case m.screen == overview:
		m.processes.move(n, len(m.nodes[m.node].Processes))
	case m.screen == logs:
		before := m.service.at
		m.service.move(n, len(m.nodes[m.node].Services))

		if m.service.at != before {
			m.followLog()
		}
	case m.screen == networking, m.object != "":
		m.top = max(0, m.top+n)
	case m.open != nil:
		m.found.move(n, len(m.ids()))
	default:
		m.kinds.move(n, len(m.types()))
	}
}

// page moves by n pages.
func (m *model) page(n int) {
	rows := n * max(1, m.height-6)

	if m.screen == logs { // rows from the end
		m.back = max(0, min(m.back-rows, len(m.nodes[m.node].Log)-1))

		return
	}

	m.move(rows)
}
