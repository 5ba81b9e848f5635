// SPDX-License-Identifier: Apache-2.0

package ctl

import (
	"bytes"
	"context"
	"net"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/client/clienttest"
)

// TestDeadNodeDelaysNoOther: the answers of the other nodes are printed long before the call of a dead node times out.
// TestRowsWaitAMoment tests how long rows wait for each other, with a fake clock.
func TestDeadNodeDelaysNoOther(t *testing.T) {
	hanging := newNode("172.20.0.4")
	for _, method := range []string{"Memory", "Mounts", "Logs", "List", "ServiceList"} {
		hanging.Scripts[machineService+method] = clienttest.Script{Hang: true}
	}

	hanging.Scripts["cosi.resource.State/List"] = clienttest.Script{Hang: true}

	s := clienttest.Start(t, map[string]*clienttest.Node{
		"172.20.0.2": newNode("172.20.0.2"), "172.20.0.3": newNode("172.20.0.3"), "172.20.0.4": hanging,
	})

	path := filepath.Join(t.TempDir(), "talosconfig")
	if err := saveContext(path, s); err != nil {
		t.Fatal(err)
	}

	for _, tt := range []struct {
		args  string
		table bool
	}{
		{"memory", true},
		{"memory -o yaml", false},
		{"memory -o json", false},
		{"memory --verbose", false},
		{"mounts", true},
		{"service", true},
		{"ls /etc", true},
		{"get members", true},
		{"logs kubelet", false},
	} {
		t.Run(tt.args, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 25*time.Second) // the call of a node times out after 30
			defer cancel()

			// The interrupt comes when both living nodes have answered.
			var (
				stdout, stderr bytes.Buffer
				writes         int
				answered       bool
			)

			root := New()
			root.SetOut(writerFunc(func(p []byte) (int, error) {
				stdout.Write(p)

				if both := stdout.String(); strings.Contains(both, "172.20.0.2") && strings.Contains(both, "172.20.0.3") && ctx.Err() == nil {
					answered = true

					cancel()
				}

				writes++

				return len(p), nil
			}))
			root.SetArgs(append(strings.Fields(tt.args), "--talosconfig", path, "-n", "172.20.0.4,172.20.0.3,172.20.0.2"))

			if exit := Run(ctx, root, &stderr); exit != exitInterrupted {
				t.Errorf("got exit status %d and %q", exit, &stderr)
			}

			if !answered {
				t.Errorf("got\n%s\nwant the answers of both living nodes", &stdout)
			}

			if tt.table && writes == 1 { // on a busy machine one answer may be late
				checkAligned(t, stdout.String())
			}
		})
	}
}

// checkAligned checks that the rows of a table are in the order of the nodes, and aligned.
func checkAligned(t *testing.T, table string) {
	t.Helper()

	rows := strings.Split(strings.TrimSpace(table), "\n")
	second := regexp.MustCompile(`^\S+\s+`).FindString(rows[0])

	if !strings.HasPrefix(rows[0], "NODE ") || !strings.HasPrefix(rows[1], "172.20.0.3 ") || !strings.HasPrefix(rows[len(rows)-1], "172.20.0.2 ") {
		t.Errorf("got\n%s\nwant a header, 172.20.0.3, 172.20.0.2", table)
	}

	for _, row := range rows {
		if len(row) < len(second) || row[len(second)-1] != ' ' || row[len(second)] == ' ' {
			t.Errorf("got\n%s\nwant the second column at %d", table, len(second))
		}
	}
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// TestWatchOutlivesFailures: a dead node does not end a watched table.
func TestWatchOutlivesFailures(t *testing.T) {
	path := filepath.Join(t.TempDir(), "talosconfig")
	if err := saveContext(path, startCluster(t)); err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()

	var stdout, stderr bytes.Buffer

	root := New()
	root.SetOut(writerFunc(func(p []byte) (int, error) {
		if stdout.Write(p); strings.Count(stdout.String(), "kthreadd") == 2 {
			cancel()
		}

		return len(p), nil
	}))
	root.SetArgs([]string{"processes", "--watch", "--talosconfig", path, "-n", "172.20.0.9,172.20.0.2"})

	if exit := Run(ctx, root, &stderr); exit != exitInterrupted || strings.Count(stderr.String(), "error: 172.20.0.9: ") != 1 {
		t.Errorf("got exit status %d, %q and\n%s\nwant the second table, and the failure of the first", exit, &stderr, &stdout)
	}
}

// TestFailuresComeLast: each failure is printed once, with its node, after the answers. A failure makes the exit status 1.
func TestFailuresComeLast(t *testing.T) {
	s := startCluster(t)

	r := talosctl(t, s, "memory", "-n", "172.20.0.9,172.20.0.2,172.20.0.7,172.20.0.3")
	if r.exit != exitFailed {
		t.Errorf("got exit status %d", r.exit)
	}

	for _, node := range []string{"172.20.0.2", "172.20.0.3"} {
		if strings.Count(r.stdout, node+" ") != 1 {
			t.Errorf("got\n%s\nwant one row of %s", r.stdout, node)
		}
	}

	for _, node := range []string{"172.20.0.9", "172.20.0.7"} {
		if strings.Count(r.stderr, "error: "+node+": ") != 1 {
			t.Errorf("got\n%s\nwant one error of %s", r.stderr, node)
		}
	}
}

// TestEndpointsFailOver: the client skips an endpoint that refuses connections, and one that does not answer.
func TestEndpointsFailOver(t *testing.T) {
	s := startCluster(t)

	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	defer silent.Close()

	s.Context.Endpoints = []string{"127.0.0.1:1", silent.Addr().String(), s.Endpoint}

	for range 3 {
		if r := talosctl(t, s, "memory", "-n", "172.20.0.2,172.20.0.3"); r.exit != 0 || strings.Count(r.stdout, "\n") != 3 {
			t.Errorf("got %+v", r)
		}
	}

	if r := talosctl(t, s, "memory"); r.exit != 1 || !strings.Contains(r.stderr, "name them with --nodes") {
		t.Errorf("without nodes: got %+v", r)
	}
}

// TestEndpointsShareTheLoad: calls are distributed over the endpoints.
func TestEndpointsShareTheLoad(t *testing.T) {
	names := []string{"172.20.0.2", "172.20.0.3", "172.20.0.4", "172.20.0.5", "172.20.0.6", "172.20.0.7"}

	nodes := func() map[string]*clienttest.Node {
		all := map[string]*clienttest.Node{}
		for _, name := range names {
			all[name] = newNode(name)
			all[name].Scripts[machineService+"Memory"] = clienttest.Answer(&machine.MemoryResponse{Messages: []*machine.Memory{{}}})
		}

		return all
	}

	first, second := nodes(), nodes()
	ca := clienttest.Start(t, first)
	other := ca.Beside(t, second)

	ca.Context.Endpoints = []string{ca.Endpoint, other.Endpoint}

	served := func(nodes map[string]*clienttest.Node) (count int) {
		for _, n := range nodes {
			count += len(n.Requests(machineService + "Memory"))
		}

		return count
	}

	// All calls of one run may go to the endpoint that was connected first.
	for runs := 1; served(first) == 0 || served(second) == 0; runs++ {
		if r := talosctl(t, ca, "memory", "-n", strings.Join(names, ",")); r.exit != 0 || runs > 100 {
			t.Fatalf("after %d runs: got %+v, %d and %d calls by endpoint, want both to serve some", runs, r, served(first), served(second))
		}

		if got, want := served(first)+served(second), runs*len(names); got != want {
			t.Fatalf("got %d calls, want %d", got, want)
		}
	}
}
