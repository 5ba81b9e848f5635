// SPDX-License-Identifier: Apache-2.0

package control

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/seed-59268b81/talos/lab/machine"
	"github.com/seed-59268b81/talos/lab/netswitch"
)

// fakeLab writes down what it is told.
type fakeLab struct{ told []string }

var status = Status{
	Name: "demo", Accel: "tcg",
	Nodes: []NodeStatus{{
		Name:    "a",
		Machine: machine.Status{Power: machine.On, Boots: 3, PID: 7},
		Link:    netswitch.Link{Out: netswitch.Impairment{Loss: 0.5}},
		Traffic: netswitch.Stats{Sent: 9},
	}},
	Paths: []PathFault{{netswitch.Path{From: "a", To: "b"}, netswitch.Impairment{Cut: true}}},
}

func (f *fakeLab) Status() Status { return status }
func (f *fakeLab) Heal()          { f.told = append(f.told, "heal") }
func (f *fakeLab) Stop()          { f.told = append(f.told, "stop") }

func (f *fakeLab) Power(_ context.Context, node string, action Action) error {
	f.told = append(f.told, fmt.Sprint(node, " ", action))
	if node == "gone" {
		return errors.New("no node gone")
	}

	return nil
}

func (f *fakeLab) SetLink(node string, l netswitch.Link) error {
	f.told = append(f.told, fmt.Sprintf("%s %+v", node, l))

	return nil
}

func (f *fakeLab) SetPath(p netswitch.Path, i netswitch.Impairment) error {
	f.told = append(f.told, fmt.Sprintf("%+v %+v", p, i))

	return nil
}

func TestClientAndServer(t *testing.T) {
	for _, name := range []string{"short", strings.Repeat("long", 40)} {
		t.Run(name[:5], func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), name)
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}

			socket := filepath.Join(dir, "control.sock")
			if err := os.WriteFile(socket, nil, 0o600); err != nil { // left by a crash
				t.Fatal(err)
			}

			l, err := Listen(socket)
			if err != nil {
				t.Fatal(err)
			}

			lab := &fakeLab{}
			server := &http.Server{Handler: Handler(lab)}

			go func() { _ = server.Serve(l) }()
			t.Cleanup(func() { _ = server.Close() })

			c, ctx := NewClient(socket), t.Context()

			got, err := c.Status(ctx)
			if err != nil {
				t.Fatal(err)
			}

			if d := cmp.Diff(&status, got); d != "" {
				t.Errorf("status (-want +got):\n%s", d)
			}

			link := netswitch.Link{In: netswitch.Impairment{Delay: time.Second}}
			path := netswitch.Path{From: "a", To: "b"}
			cut := netswitch.Impairment{Cut: true}

			for _, err := range []error{
				c.Power(ctx, "a", Reset), c.SetLink(ctx, "a/b", link), c.SetPath(ctx, path, cut), c.Heal(ctx), c.Stop(ctx),
			} {
				if err != nil {
					t.Error(err)
				}
			}

			want := []string{"a reset", fmt.Sprintf("a/b %+v", link), fmt.Sprintf("%+v %+v", path, cut), "heal", "stop"}
			if d := cmp.Diff(want, lab.told); d != "" {
				t.Errorf("told (-want +got):\n%s", d)
			}

			if err := c.Power(ctx, "gone", On); err == nil || err.Error() != "no node gone" {
				t.Errorf("got %v, want the lab's own words", err)
			}
		})
	}
}

func TestServerRefuses(t *testing.T) {
	tests := []struct {
		method, path, body string
		want               int
	}{
		{"POST", "/nodes/a/power", `{"action":`, http.StatusBadRequest},
		{"POST", "/nodes/a/power", `{"actoin":"on"}`, http.StatusBadRequest},
		{"PUT", "/links/a", `{"in":{"loss":"much"}}`, http.StatusBadRequest},
		{"PUT", "/links/a", strings.Repeat(" ", requestLimit) + "{}", http.StatusBadRequest},
		{"GET", "/nonsense", "", http.StatusNotFound},
		{"DELETE", "/status", "", http.StatusMethodNotAllowed},
	}

	for _, tt := range tests {
		lab := &fakeLab{}
		w := httptest.NewRecorder()
		Handler(lab).ServeHTTP(w, httptest.NewRequest(tt.method, tt.path, strings.NewReader(tt.body)))

		if w.Code != tt.want || len(lab.told) > 0 {
			t.Errorf("%s %s %.40s: got %d and told %q, want %d and nothing", tt.method, tt.path, tt.body, w.Code, lab.told, tt.want)
		}
	}
}
