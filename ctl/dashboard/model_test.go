// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/client"
	"github.com/seed-59268b81/talos/client/clienttest"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the expected screens")

// recorder is a source that notes what it is asked for.
type recorder struct{ open, asked []string }

func (r *recorder) ask(what string) func() {
	r.open, r.asked = append(r.open, what), append(r.asked, what)

	return func() {
		if i := slices.Index(r.open, what); i >= 0 {
			r.open = slices.Delete(r.open, i, i+1)
		}
	}
}

func (r *recorder) logs(node int, service string) func() {
	return r.ask(fmt.Sprintf("log of %s on %d", service, node))
}

func (r *recorder) watch(node int, kind client.Kind) func() {
	return r.ask(fmt.Sprintf("%s on %d", kind.Type, node))
}

// sample is a model with a machine that lives and one that is dead.
func sample(t *testing.T) (*model, *recorder) {
	t.Helper()

	source := &recorder{}
	m := newModel([]string{"10.5.0.2", "10.5.0.3"}, source)
	m.now = func() time.Time { return now }
	m.nodes[0] = sampleNode(t)

	refused := status.Error(codes.Unavailable, `connection error: desc = "transport: Error while dialing: dial tcp 10.5.0.3:50000: connect: connection refused"`)
	for _, question := range []string{questionAlive, "load", "memory"} {
		m.Update(learned{1, func(n *Node) { n.answered(question, now, fmt.Errorf("%s: %w", question, refused)) }})
	}

	return m, source
}

func press(m *model, keys ...string) {
	special := map[string]rune{
		"tab": tea.KeyTab, "up": tea.KeyUp, "down": tea.KeyDown, "pgup": tea.KeyPgUp, "pgdown": tea.KeyPgDown, "end": tea.KeyEnd,
		"enter": tea.KeyEnter, "esc": tea.KeyEscape, "backspace": tea.KeyBackspace, "left": tea.KeyLeft, "right": tea.KeyRight, "home": tea.KeyHome,
	}

	for _, k := range keys {
		if code, ok := special[k]; ok {
			m.Update(tea.KeyPressMsg{Code: code})
		} else {
			m.Update(tea.KeyPressMsg{Code: []rune(k)[0], Text: k})
		}
	}
}

// TestScreens compares what is drawn, without colours, with testdata; every screen is exactly as large as the terminal.
func TestScreens(t *testing.T) {
	for _, tc := range []struct {
		name          string
		width, height int
		keys          []string
		change        func(m *model)
	}{
		{name: "overview", width: 132, height: 30},
		{name: "overview-narrow", width: 80, height: 24, keys: []string{"down"}},
		{name: "overview-not-ready", width: 132, height: 24, change: func(m *model) {
			m.nodes[0].Resources[watched[0]]["machine"] = clienttest.Resource("runtime", watched[0].Type, "machine",
				"stage: booting\nstatus:\n  ready: false\n  unmetConditions:\n    - {name: time, reason: time is not synced}\n    - {name: services, reason: \"etcd not healthy\\e[2J\"}\n")
		}},
		{name: "overview-dead", width: 132, height: 16, keys: []string{"tab"}},
		{name: "logs", width: 110, height: 16, keys: []string{"2", "down", "down"}},
		{name: "logs-scrolled", width: 80, height: 10, keys: []string{"2", "pgup"}, change: func(m *model) {
			for i := range 30 {
				m.nodes[0].addLog([]string{fmt.Sprintf("line %d", i)})
			}
		}},
		{name: "resources", width: 100, height: 12, keys: []string{"3", "down"}},
		{name: "resources-filter", width: 100, height: 12, keys: []string{"3", "/", "p", "o", "d"}},
		{name: "resources-list", width: 100, height: 12, keys: []string{"3", "down", "enter", "down"}},
		{name: "resources-yaml", width: 100, height: 30, keys: []string{"3", "down", "enter", "enter"}},
		{name: "network", width: 120, height: 26, keys: []string{"4"}},
		{name: "network-small", width: 60, height: 12, keys: []string{"4", "down", "down", "down"}},
		{name: "too-small", width: 30, height: 5},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m, _ := sample(t)
			m.Update(tea.WindowSizeMsg{Width: tc.width, Height: tc.height})

			if tc.change != nil {
				tc.change(m)
			}

			press(m, tc.keys...)

			view := m.View()
			if !view.AltScreen {
				t.Error("got the terminal's own screen, want the other one")
			}

			lines := strings.Split(view.Content, "\n")
			if got, want := len(lines), tc.height; got != want {
				t.Errorf("got %d lines, want %d", got, want)
			}

			for i, l := range lines {
				if got, want := ansi.StringWidth(l), tc.width; got != want {
					t.Errorf("line %d is %d cells wide, want %d: %q", i, got, want, ansi.Strip(l))
				}

				lines[i] = strings.TrimRight(ansi.Strip(l), " ")
			}

			golden(t, tc.name, strings.Join(lines, "\n")+"\n")
		})
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()

	path := filepath.Join("testdata", name+".txt")

	if *rewrite {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// TestSources: each screen follows what it shows, and nothing after it was left.
func TestSources(t *testing.T) {
	m, source := sample(t)
	m.Update(tea.WindowSizeMsg{Width: 100, Height: 30})

	for _, step := range []struct {
		keys []string
		want []string
	}{
		{[]string{"2"}, []string{"log of machined on 0"}},
		{[]string{"down"}, []string{"log of apid on 0"}},
		{[]string{"tab"}, nil}, // the services of the other node are not known yet
		{[]string{"tab"}, []string{"log of apid on 0"}},
		{[]string{"3"}, nil},
		{[]string{"enter"}, []string{"MachineStatuses.runtime.talos.dev on 0"}},
		{[]string{"enter"}, []string{"MachineStatuses.runtime.talos.dev on 0"}},
		{[]string{"right"}, []string{"MachineStatuses.runtime.talos.dev on 1"}},
		{[]string{"esc"}, nil},
		{[]string{"esc", "esc", "backspace"}, nil},
		{[]string{"2", "left", "4"}, nil},
	} {
		press(m, step.keys...)

		if diff := cmp.Diff(step.want, source.open, cmp.Transformer("nil", func(s []string) string { return strings.Join(s, ",") })); diff != "" {
			t.Errorf("after %v (-want +got):\n%s", step.keys, diff)
		}
	}

	if _, cmd := m.Update(tea.KeyPressMsg{Code: 'q', Text: "q"}); cmd == nil || cmd() != tea.Quit() {
		t.Error("q does not quit")
	}
}

// TestLogBegins: the log is read as soon as the services are known.
func TestLogBegins(t *testing.T) {
	m, source := sample(t)

	press(m, "2", "tab")
	m.Update(learned{1, func(n *Node) { n.Services = sampleServices() }})

	if got, want := source.open, []string{"log of machined on 1"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestLogStays: new lines do not move those that one has scrolled back to.
func TestLogStays(t *testing.T) {
	m, _ := sample(t)
	m.Update(tea.WindowSizeMsg{Width: 80, Height: 10})
	press(m, "2")

	add := func(from, to int) {
		m.Update(learned{0, func(n *Node) {
			for i := from; i < to; i++ {
				n.addLog([]string{fmt.Sprintf("line %d", i)})
			}
		}})
	}

	last := func() string {
		lines := m.logs(m.nodes[0], 7)

		return strings.TrimSpace(ansi.Strip(lines[len(lines)-1]))
	}

	add(0, 50)

	for _, step := range []struct {
		keys []string
		want string
	}{{nil, "line 49"}, {[]string{"pgup"}, "line 55"}, {nil, "line 55"}, {[]string{"end"}, "line 79"}, {nil, "line 89"}} {
		press(m, step.keys...)

		if got := last(); !strings.HasSuffix(got, step.want) {
			t.Errorf("after %v: got %q, want %q", step.keys, got, step.want)
		}

		next := m.nodes[0].logged - 3 // the sample has three lines
		add(next, next+10)
	}
}

// FuzzScreens: whatever keys are pressed, on whatever terminal, the screen is as large as that.
func FuzzScreens(f *testing.F) {
	f.Add("3jje/pode\x1b", uint8(80), uint8(24), "etcd\x1b[2J\u202e")
	f.Add("2uuudd1234", uint8(41), uint8(10), "日本語")
	f.Add("4", uint8(0), uint8(0), "")

	known := sampleNode(f)

	f.Fuzz(func(t *testing.T, keys string, width, height uint8, text string) {
		m := newModel([]string{"a", text}, &recorder{})
		m.now = func() time.Time { return now }

		n := *known
		n.Log = []string{clean(text)}
		n.Services = append([]*machine.ServiceInfo{{Id: text}}, n.Services...)
		n.Types = append(client.Definitions{{Type: text, DisplayType: text}}, n.Types...)
		m.nodes[0] = &n
		m.Update(tea.WindowSizeMsg{Width: int(width), Height: int(height)})

		for _, k := range keys {
			switch k {
			case 'e':
				press(m, "enter")
			case 'u':
				press(m, "pgup")
			case 'd':
				press(m, "pgdown")
			case 't':
				press(m, "tab")
			case '\x1b':
				press(m, "esc")
			default:
				press(m, string(k))
			}

			content := m.View().Content
			if width == 0 || height == 0 {
				continue
			}

			lines := strings.Split(content, "\n")
			if len(lines) != int(height) {
				t.Fatalf("got %d lines, want %d", len(lines), height)
			}

			for _, l := range lines {
				if got := ansi.StringWidth(l); got != int(width) {
					t.Fatalf("got a line of %d cells, want %d: %q", got, width, l)
				}
			}
		}
	})
}
