// SPDX-License-Identifier: Apache-2.0

package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/seed-59268b81/talos/lab/gateway"
	"github.com/seed-59268b81/talos/lab/machine"
	"github.com/seed-59268b81/talos/lab/nat"
	"github.com/seed-59268b81/talos/lab/netswitch"
	"github.com/seed-59268b81/talos/lab/world"
)

// fakeLab records its calls.
type fakeLab struct{ calls []string }

var status = Status{
	Name: "demo", Accel: "tcg",
	Nodes: []NodeStatus{{
		Name:    "a",
		Machine: machine.Status{Power: machine.On, Boots: 3, PID: 7},
		Cards: []CardStatus{{
			LinkStatus: LinkStatus{
				Port: world.Port{Network: "lab", Name: "a/0"}, Traffic: netswitch.Stats{Sent: 9},
				Link: netswitch.Link{Out: netswitch.Impairment{Loss: 0.5}},
			},
			Unplugged: true,
		}},
	}},
	Networks: []NetworkStatus{{Name: "lab", Services: services, Gateway: LinkStatus{Port: world.Port{Network: "lab", Name: "gateway"}}}},
	Routers: []RouterStatus{{Name: "r", Legs: []LegStatus{{
		LinkStatus: LinkStatus{Port: world.Port{Network: "lab", Name: "r"}}, Setting: leg,
	}}}},
	Paths: []PathFault{{"lab", netswitch.Path{From: "a/0", To: "b/0"}, netswitch.Impairment{Cut: true}}},
}

var (
	services = world.Services{Cloud: "aws", NTP: gateway.NTPBehaviour{Offset: time.Hour}, SecondDHCP: &gateway.DHCPBehaviour{Silent: true}}
	leg      = world.Setting{BlockUDP: true, NAT: &nat.Config{Mapping: nat.AddressDependent}}
)

func (f *fakeLab) Status() Status { return status }
func (f *fakeLab) Stop()          { f.calls = append(f.calls, "stop") }

func (f *fakeLab) Heal() error { return f.record("heal") }

func (f *fakeLab) record(what ...any) error {
	f.calls = append(f.calls, strings.TrimSpace(fmt.Sprintln(what...)))

	return nil
}

func (f *fakeLab) Power(_ context.Context, node string, action Action) error {
	_ = f.record(node, action)

	if node == "gone" {
		return errors.New("no node gone")
	}

	return nil
}

func (f *fakeLab) SetCard(_ context.Context, node string, card int, unplugged bool) error {
	return f.record(node, card, unplugged)
}

func (f *fakeLab) SetDisk(_ context.Context, node string, d machine.Disk) error {
	return f.record(node, written(d))
}

func (f *fakeLab) SetLink(name string, l netswitch.Link) error { return f.record(name, written(l)) }
func (f *fakeLab) SetPath(p PathFault) error                   { return f.record(written(p)) }

func (f *fakeLab) SetServices(network string, s world.Services) error {
	return f.record(network, written(s))
}

func (f *fakeLab) SetLeg(router, network string, s world.Setting) error {
	return f.record(router, network, written(s))
}

func (f *fakeLab) Capture(names []string) (func(context.Context, io.Writer) error, error) {
	if slices.Contains(names, "gone") {
		return nil, errors.New("no port gone")
	}

	return func(ctx context.Context, w io.Writer) error {
		if _, err := fmt.Fprint(w, names); err != nil {
			return err
		}

		<-ctx.Done()

		return f.record("captured")
	}, nil
}

func written(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}

	return string(text)
}

// serve serves a lab on a new socket.
func serve(t *testing.T, name string) (*fakeLab, *Client) {
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

	return lab, NewClient(socket, func() error { return nil })
}

func TestClientAndServer(t *testing.T) {
	for _, name := range []string{"short", strings.Repeat("long", 40)} {
		t.Run(name[:5], func(t *testing.T) {
			lab, c := serve(t, name)
			ctx := t.Context()

			got, err := c.Status(ctx)
			if err != nil {
				t.Fatal(err)
			}

			if d := cmp.Diff(&status, got, cmpopts.EquateComparable(netip.Addr{})); d != "" {
				t.Errorf("status (-want +got):\n%s", d)
			}

			link := netswitch.Link{In: netswitch.Impairment{Delay: time.Second}}
			path := PathFault{"lab", netswitch.Path{From: "a", To: "b"}, netswitch.Impairment{Cut: true}}

			for _, err := range []error{
				c.Power(ctx, "a", Reset), c.SetCard(ctx, "a", 1, true), c.SetLink(ctx, "a/1", link), c.SetPath(ctx, path),
				c.SetDisk(ctx, "a", machine.Disk{Writes: 3}), c.SetServices(ctx, "lab", services), c.SetLeg(ctx, "r", "lab", leg), c.Heal(ctx), c.Stop(ctx),
			} {
				if err != nil {
					t.Error(err)
				}
			}

			want := []string{
				"a reset", "a 1 true", "a/1 " + written(link), written(path),
				`a {"writes":3}`, "lab " + written(services), "r lab " + written(leg), "heal", "stop",
			}
			if d := cmp.Diff(want, lab.calls); d != "" {
				t.Errorf("calls (-want +got):\n%s", d)
			}

			if err := c.Power(ctx, "gone", On); err == nil || err.Error() != "no node gone" {
				t.Errorf("got %v, want the lab's error", err)
			}
		})
	}
}

func TestCapture(t *testing.T) {
	_, c := serve(t, "lab")

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()

	r, w := io.Pipe()
	ended := make(chan error, 1)

	go func() { ended <- c.Capture(ctx, []string{"a/1", "r"}, w) }()

	got := make([]byte, 7)
	if _, err := io.ReadFull(r, got); err != nil || string(got) != "[a/1 r]" { // at once, not when it ends
		t.Errorf("got %q, %v, want what was captured", got, err)
	}

	cancel()

	if err := <-ended; err != nil {
		t.Errorf("a capture that was ended: got %v, want no error", err)
	}

	if err := c.Capture(t.Context(), []string{"gone"}, w); err == nil || err.Error() != "capture: no port gone" {
		t.Errorf("got %v, want the lab's error", err)
	}

	_ = r.Close()

	if err := c.Capture(t.Context(), nil, w); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("a file that cannot be written: got %v, want %v", err, io.ErrClosedPipe)
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
		{"PUT", "/nodes/a/cards/0", `{"plugged":true}`, http.StatusBadRequest},
		{"PUT", "/nodes/a/cards/first", `{}`, http.StatusConflict},
		{"PUT", "/nodes/a/disk", `{"writes":"few"}`, http.StatusBadRequest},
		{"PUT", "/networks/lab/services", `{"ntp":{"Offset":"late"}}`, http.StatusBadRequest},
		{"PUT", "/routers/r/legs/lab", `{"nat":7}`, http.StatusBadRequest},
		{"PUT", "/links/a", strings.Repeat(" ", requestLimit) + "{}", http.StatusBadRequest},
		{"GET", "/nonsense", "", http.StatusNotFound},
		{"DELETE", "/status", "", http.StatusMethodNotAllowed},
	}

	for _, tt := range tests {
		lab := &fakeLab{}
		w := httptest.NewRecorder()
		Handler(lab).ServeHTTP(w, httptest.NewRequest(tt.method, tt.path, strings.NewReader(tt.body)))

		if w.Code != tt.want || len(lab.calls) > 0 {
			t.Errorf("%s %s %.40s: got %d and calls %q, want %d and none", tt.method, tt.path, tt.body, w.Code, lab.calls, tt.want)
		}
	}
}
