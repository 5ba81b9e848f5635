// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"bufio"
	"context"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	cosiapi "github.com/seed-59268b81/talos/api/cosi/v1alpha1"
	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/client"
	"github.com/seed-59268b81/talos/client/clienttest"
	"github.com/seed-59268b81/talos/ctl/session"
	"github.com/seed-59268b81/talos/resources/network"
)

// endpoint serves a machine that answers, a machine that is down, and a machine that never answers.
func endpoint(t *testing.T) []session.Node {
	t.Helper()

	const service = "machine.MachineService/"

	questions := []string{"Version", "Memory", "LoadAvg", "SystemStat", "Processes", "ServiceList"}
	hanging := &clienttest.Node{Scripts: map[string]clienttest.Script{}}

	for _, q := range questions {
		hanging.Scripts[service+q] = clienttest.Script{Hang: true}
	}

	down := &clienttest.Node{}
	down.SetDown(true)

	added := clienttest.Resource("network", kindOf[network.LinkStatusSpec]().Type, "eth1", "type: ether\nlinkState: true\n")
	live := &clienttest.Node{
		Version: sampleVersion, Memory: sampleMemory(), Services: sampleServices(), Resources: sampleResources(t),
		Logs:    map[string]string{client.SystemNamespace + "/etcd": sampleLog},
		Changes: []*cosiapi.Event{{EventType: cosiapi.EventType_CREATED, Resource: added}},
		Scripts: map[string]clienttest.Script{
			service + "LoadAvg":    clienttest.Answer(&machine.LoadAvgResponse{Messages: []*machine.LoadAvg{{Load1: 1.5}}}),
			service + "SystemStat": clienttest.Answer(&machine.SystemStatResponse{Messages: []*machine.SystemStat{sampleStat(10, 10)}}),
			service + "Processes":  clienttest.Answer(&machine.ProcessesResponse{Messages: []*machine.Process{{Processes: sampleProcesses()}}}),
		},
	}

	server := clienttest.Start(t, map[string]*clienttest.Node{"live": live, "down": down, "hanging": hanging})

	c, err := client.Connect(server.Context)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { c.Close() })

	var targets []session.Node
	for _, name := range []string{"down", "hanging", "live"} {
		targets = append(targets, session.Node{Name: name, Client: c})
	}

	return targets
}

// watcher applies the messages of a feed to a model, as the program would.
type watcher struct {
	mu sync.Mutex
	m  *model
}

func (w *watcher) send(msg tea.Msg) {
	w.mu.Lock()
	defer w.mu.Unlock()

	w.m.Update(msg)
}

func (w *watcher) until(t *testing.T, what string, holds func(m *model) bool) {
	t.Helper()

	for deadline := time.Now().Add(40 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		w.mu.Lock()
		ok := holds(w.m)
		w.mu.Unlock()

		if ok {
			return
		}

		if time.Now().After(deadline) {
			t.Fatalf("timed out: %s", what)
		}
	}
}

// TestFeed: a machine that answers is shown completely while another one is down and a third one hangs. No goroutine is left at the end.
func TestFeed(t *testing.T) {
	targets := endpoint(t)

	// A question may take as long as the interval: longer than is waited here for the node that answers.
	f, w, end := begin(t, targets, time.Minute)

	w.until(t, "all is known of the live node", func(m *model) bool {
		n := m.nodes[2]

		return n.Version.GetTag() == sampleVersion.GetTag() && n.Load.GetLoad1() == 1.5 && len(n.Processes) == 4 && n.Stat != nil &&
			n.Memory.GetMemtotal() > 0 && len(n.Services) == 6 && len(specs[network.LinkStatusSpec](n)) == 3
	})

	w.until(t, "the node that is down is called dead", func(m *model) bool { return m.nodes[0].dead() })
	w.mu.Lock()
	if problems := w.m.nodes[0].problems(); len(problems) == 0 || !strings.Contains(problems[0].cause, "connection refused") {
		t.Errorf("got %v of the node that is down, want that connections are refused", problems)
	}
	w.mu.Unlock()

	stop := f.logs(2, "etcd")

	w.until(t, "the log is there, without what drives a terminal", func(m *model) bool {
		return slices.Contains(m.nodes[2].Log, "a line with colours, a bell and a tab")
	})
	stop()

	stop = f.logs(2, "unknown")

	w.until(t, "a missing log is reported", func(m *model) bool { return strings.Contains(m.nodes[2].LogErr, "unknown") })
	stop()

	kind := client.Kind{Namespace: "n", Type: "Things.test.dev"}
	failing := func(m *model) bool { return m.nodes[0].Errors[watchOf(kind)].cause != "" }
	stop = f.watch(0, kind)

	w.until(t, "a watch that fails is reported", failing)
	stop()
	w.until(t, "a watch that is over fails no more", func(m *model) bool { return !failing(m) })

	end()

	_, w, end = begin(t, targets, time.Second)

	w.until(t, "the node that hangs is called dead", func(m *model) bool { return m.nodes[1].dead() })
	end()
}

// begin starts a feed of the targets; end stops it and waits until it has ended.
func begin(t *testing.T, targets []session.Node, interval time.Duration) (f *feed, w *watcher, end func()) {
	t.Helper()

	ctx, cancel := context.WithCancel(t.Context())

	f = &feed{ctx: ctx, targets: targets, interval: interval}
	w = &watcher{m: newModel([]string{"down", "hanging", "live"}, f)}
	f.send = w.send
	f.start()

	return f, w, func() {
		cancel()
		f.running.Wait()
	}
}

// TestLogComesBack: the log of a node that was down is followed again.
func TestLogComesBack(t *testing.T) {
	n := &clienttest.Node{Logs: map[string]string{client.SystemNamespace + "/etcd": "one\ntwo\n"}}
	n.SetDown(true)

	c, err := client.Connect(clienttest.Start(t, map[string]*clienttest.Node{"a": n}).Context)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { c.Close() })

	ctx, cancel := context.WithCancel(t.Context())
	f := &feed{ctx: ctx, targets: []session.Node{{Client: c, Name: "a"}}}
	w := &watcher{m: newModel([]string{"a"}, f)}
	f.send = w.send

	f.logs(0, "etcd")
	w.until(t, "the failure is reported", func(m *model) bool { return m.nodes[0].LogErr != "" })
	n.SetDown(false)
	w.until(t, "the log is there", func(m *model) bool {
		return m.nodes[0].LogErr == "" && slices.Equal(m.nodes[0].Log, []string{"one", "two"})
	})

	cancel()
	f.running.Wait()
}

// TestWholeLine: a line without its end is not a whole line.
func TestWholeLine(t *testing.T) {
	in := bufio.NewReader(io.MultiReader(strings.NewReader("one\ntwo\nthr"), strings.NewReader("ee\n")))

	var got []bool

	for range 3 {
		if _, _, err := in.ReadLine(); err != nil {
			t.Fatal(err)
		}

		got = append(got, wholeLine(in))
	}

	if want := []bool{true, false, false}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
