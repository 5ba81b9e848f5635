// SPDX-License-Identifier: Apache-2.0

package ctl

import (
	"bytes"
	"context"
	"errors"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/client/clienttest"
)

// TestDeadNodeDelaysNobody: a node that never answers is waited for while the answers of the others are printed.
func TestDeadNodeDelaysNobody(t *testing.T) {
	hanging := newNode("172.20.0.4")
	for _, method := range []string{"Memory", "Mounts", "Logs", "List"} {
		hanging.Scripts[machineService+method] = clienttest.Script{Hang: true}
	}

	s := clienttest.Start(t, map[string]*clienttest.Node{
		"172.20.0.2": newNode("172.20.0.2"), "172.20.0.3": newNode("172.20.0.3"), "172.20.0.4": hanging,
	})

	path := filepath.Join(t.TempDir(), "talosconfig")
	if err := saveContext(path, s); err != nil {
		t.Fatal(err)
	}

	for _, args := range [][]string{{"memory"}, {"mounts"}, {"logs", "kubelet"}, {"ls", "/etc"}} {
		t.Run(args[0], func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()

			// The interrupt comes when both living nodes have answered: without their answers the test would not end.
			var stderr bytes.Buffer

			out := &interrupter{text: "172.20.0.2", cancel: func() {}}
			both := writerFunc(func(p []byte) (int, error) {
				n, err := out.Write(p)
				if got := out.got.String(); strings.Contains(got, "172.20.0.2") && strings.Contains(got, "172.20.0.3") {
					cancel()
				}

				return n, err
			})

			root := New()
			root.SetOut(both)
			root.SetArgs(append(args, "--talosconfig", path, "-n", "172.20.0.4,172.20.0.2,172.20.0.3"))

			if exit := Run(ctx, root, &stderr); exit != exitInterrupted {
				t.Errorf("got exit status %d and %q", exit, &stderr)
			}
		})
	}
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()

		_, err := bounded(t.Context(), node{}, func(_ node, ctx context.Context) (int, error) {
			<-ctx.Done()

			return 0, ctx.Err()
		})
		if !errors.Is(err, errNoAnswer) || time.Since(began) != answerTimeout {
			t.Errorf("got %v after %s, want %v after %s", err, time.Since(began), errNoAnswer, answerTimeout)
		}
	})
}

// TestFailuresComeLast: every failure is said once, with the node, after the answers; any of them makes the exit status 1.
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

// TestEndpointsFailOver: an endpoint that refuses, and one that does not speak, are passed by.
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

	if r := talosctl(t, s, "memory"); r.exit != 1 || !strings.Contains(r.stderr, "say which to work on with --nodes") {
		t.Errorf("without nodes: got %+v", r)
	}
}

// TestEndpointsShareTheLoad: calls go round the endpoints.
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

	// The first calls may find one endpoint only.
	for range 5 {
		if r := talosctl(t, ca, "memory", "-n", strings.Join(names, ",")); r.exit != 0 {
			t.Fatalf("got %+v", r)
		}
	}

	served := func(nodes map[string]*clienttest.Node) (count int) {
		for _, n := range nodes {
			count += len(n.Requests(machineService + "Memory"))
		}

		return count
	}

	if got := []int{served(first), served(second)}; slices.Min(got) == 0 || got[0]+got[1] != 5*len(names) {
		t.Errorf("calls by endpoint: got %v, want both to serve some of %d", got, 5*len(names))
	}
}
