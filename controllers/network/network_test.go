// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/resource"
	cosiruntime "github.com/seed-59268b81/talos/cosi/runtime"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
	configres "github.com/seed-59268b81/talos/resources/config"
	"github.com/seed-59268b81/talos/resources/runtime"
	"github.com/seed-59268b81/talos/sys/dhcp"
	"github.com/seed-59268b81/talos/sys/dhcp4"
	"github.com/seed-59268b81/talos/sys/netlink"
	"github.com/seed-59268b81/talos/sys/netlink/netlinktest"
)

// machine runs all controllers of the network on a state and a kernel in memory.
type machine struct {
	// patience is how long await waits.
	patience time.Duration

	t      testing.TB
	state  state.State
	kernel *netlinktest.Kernel

	mu       sync.Mutex
	hostname string
	lease    *dhcp4.Lease // what the DHCP server grants; nil is silence
	told     []string
	asked    int
}

// newMachine starts the controllers; the links are plugged in before.
func newMachine(t testing.TB, links ...netlink.Link) *machine {
	t.Helper()

	return newMachineWith(t, func(*Deps) {}, links...)
}

// newMachineWith is newMachine with a change of what the controllers use.
func newMachineWith(t testing.TB, change func(*Deps), links ...netlink.Link) *machine {
	t.Helper()

	m := &machine{t: t, patience: patience, state: memory.New(), kernel: &netlinktest.Kernel{}}

	for _, l := range append([]netlink.Link{{Name: "lo", Type: 772, Flags: 0x8, MTU: 65536}}, links...) {
		m.kernel.Plug(l)
	}

	deps := &Deps{
		Kernel:      m.kernel,
		SetHostname: m.setHostname,
		DHCP4:       func(l *dhcp4.Link) dhcp.Ask[*dhcp4.Lease] { return (&server{machine: m, link: l}).answer },
	}
	change(deps)

	run(t, m.state, Controllers(deps))

	return m
}

func ethernet(name string, last byte) netlink.Link {
	return netlink.Link{Name: name, Type: 1, MTU: 1500, Address: []byte{0x52, 0x54, 0, 0, 0, last}, OperState: 2}
}

// run starts controllers and stops them with the test.
func run(t testing.TB, st state.State, controllers []controller.Controller) {
	t.Helper()

	rt := cosiruntime.New(st, slog.New(slog.DiscardHandler))

	for _, c := range controllers {
		if err := rt.RegisterController(c); err != nil {
			t.Fatal(err)
		}
	}

	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)

	go func() { done <- rt.Run(ctx) }()

	t.Cleanup(func() {
		cancel()

		// A test may end before all controllers have started.
		if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

func (m *machine) setHostname(hostname, domainname string) error {
	m.mu.Lock()
	defer m.mu.Unlock()

	m.hostname = hostname
	if domainname != "" {
		m.hostname += "." + domainname
	}

	return nil
}

func (m *machine) grant(l *dhcp4.Lease) {
	m.mu.Lock()
	defer m.mu.Unlock()

	m.lease = l
}

// configure applies a configuration.
func (m *machine) configure(text string) {
	m.t.Helper()

	cfg, err := config.Decode([]byte(text))
	if err != nil {
		m.t.Fatal(err)
	}

	if err := typed.Set(m.t.Context(), m.state, "", configres.ActiveID, configres.NewMachineConfigSpec(cfg)); err != nil {
		m.t.Fatal(err)
	}
}

func (m *machine) boot(cmdline string) {
	m.t.Helper()

	if err := typed.Set(m.t.Context(), m.state, "", runtime.KernelCmdlineID, runtime.KernelCmdlineSpec{Cmdline: cmdline}); err != nil {
		m.t.Fatal(err)
	}
}

// echo as the hostname of a lease makes the server repeat the client's name, as some do.
const echo = "ECHO"

// server answers by the fields of the machine.
type server struct {
	machine *machine
	link    *dhcp4.Link
}

func (s *server) answer(ctx context.Context, _ dhcp.Question, _ *dhcp4.Lease, timeout time.Duration) (*dhcp4.Lease, error) {
	m := s.machine

	name := s.link.Hostname()

	m.mu.Lock()
	lease := m.lease
	m.told = append(m.told, name)
	m.asked++
	m.mu.Unlock()

	if lease != nil && lease.Hostname == echo {
		repeated := *lease
		repeated.Hostname = name

		return &repeated, nil
	}

	if lease != nil {
		return lease, nil
	}

	select {
	case <-ctx.Done():
	case <-time.After(timeout):
	}

	return nil, context.DeadlineExceeded
}

// patience is how long a test waits in real time for an event that should occur at once: machines may be ten times slower.
const patience = 2 * time.Minute

// await waits until a resource exists and satisfies the condition.
func await[S resource.Spec](m *machine, namespace, id string, holds func(S) bool) S {
	m.t.Helper()

	ctx, cancel := context.WithTimeout(m.t.Context(), m.patience)
	defer cancel()

	r, err := m.state.WatchFor(ctx, resource.PointerOf[S](namespace, id), state.ResourceIs(func(r resource.Resource) bool {
		return holds == nil || holds(*r.Spec().(*S))
	}))
	if err != nil {
		now, _ := typed.Find[S](m.t.Context(), m.state, namespace, id)
		m.t.Fatalf("%s %s/%s did not become what was expected: %v; it is %+v", resource.DefinitionOf[S]().Type, namespace, id, err, now)
	}

	return *r.Spec().(*S)
}

// awaitGone waits until a resource is destroyed.
func awaitGone[S resource.Spec](m *machine, namespace, id string) {
	m.t.Helper()

	ctx, cancel := context.WithTimeout(m.t.Context(), m.patience)
	defer cancel()

	if _, err := m.state.WatchFor(ctx, resource.PointerOf[S](namespace, id), state.EventTypeIs(state.Destroyed)); err != nil {
		m.t.Fatalf("%s %s/%s is still there: %v", resource.DefinitionOf[S]().Type, namespace, id, err)
	}
}

func prefix(s string) netip.Prefix { return netip.MustParsePrefix(s) }
func addr(s string) netip.Addr     { return netip.MustParseAddr(s) }

// eventually waits for what no resource shows.
func (m *machine) eventually(what string, holds func() bool) {
	m.t.Helper()

	for until := time.Now().Add(m.patience); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(until) {
			m.t.Fatalf("%s: not within %v", what, m.patience)
		}
	}
}
