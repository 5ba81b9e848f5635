// SPDX-License-Identifier: Apache-2.0

package clusterstate_test

import (
	"context"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/controllers/clusterstate"
	"github.com/seed-59268b81/talos/controllers/controllertest"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
	clusterstateres "github.com/seed-59268b81/talos/resources/clusterstate"
	"github.com/seed-59268b81/talos/resources/config"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/resources/secrets"
	serviceres "github.com/seed-59268b81/talos/resources/service"
)

// bench is a control plane with an etcd that does not run yet.
type bench struct {
	*controllertest.Node

	t      *testing.T
	server *server
	shared *clusterstate.Shared
}

func newBench(t *testing.T) *bench {
	t.Helper()

	b := &bench{t: t, server: newServer(t), shared: clusterstate.New()}
	b.Node = controllertest.Start(t, clusterstate.Controllers(clusterstate.Deps{Shared: b.shared, Endpoint: b.server.client})...)

	return b
}

// ready makes it a control plane whose etcd is healthy.
func (b *bench) ready() {
	b.t.Helper()

	root, certs := b.server.secrets()

	controllertest.Set(b.Node, config.MachineTypeID, config.MachineTypeSpec{MachineType: config.TypeControlPlane})
	controllertest.Set(b.Node, secrets.EtcdRootID, root)
	controllertest.Set(b.Node, secrets.EtcdID, certs)

	b.server.start()
	controllertest.Set(b.Node, "etcd", serviceres.ServiceSpec{Running: true, Healthy: true})
	b.lists("")
}

// locks returns the locks in one line, or the class and the text of the error, soon.
func (b *bench) locks() (string, error) {
	ctx, cancel := context.WithTimeout(b.t.Context(), time.Second)
	defer cancel()

	locks, err := typed.List[clusterstateres.LockSpec](ctx, b.shared, "")

	var got []string
	for _, l := range locks {
		got = append(got, l.Metadata().ID()+" "+l.TypedSpec().Holder)
	}

	return strings.Join(got, ", "), err
}

func (b *bench) lists(want string) {
	b.t.Helper()
	until(b.t, "the locks", b.locks, want)
}

// refuses waits until reads and writes are refused.
func (b *bench) refuses(class state.Class, text string) {
	b.t.Helper()

	ptr := resource.PointerOf[clusterstateres.LockSpec]("", "lock")

	until(b.t, "an error with "+text, func() (string, error) {
		_, err := b.locks()
		if state.ClassOf(err) != class || !strings.Contains(err.Error(), text) {
			return "", err
		}

		_, got := b.shared.Get(b.t.Context(), ptr)
		watched := b.shared.Watch(b.t.Context(), ptr, make(chan state.Event))
		written := b.shared.Create(b.t.Context(), resource.New[clusterstateres.LockSpec]("", "lock"))

		for _, also := range []error{got, watched, written} {
			if state.ClassOf(also) != class {
				return "", also
			}
		}

		return "refused", nil
	}, "refused")
}

// next returns the next event of a lock as text.
func next(t testing.TB, events <-chan state.Event) string {
	t.Helper()

	select {
	case ev := <-events:
		if ev.Type == state.Errored {
			return "errored " + ev.Error.Error()
		}

		return ev.Type.String() + " " + ev.Resource.Metadata().ID()
	case <-time.After(patience):
		t.Fatalf("no event within %s", patience)

		return ""
	}
}

// TestStore: a control plane serves the namespace while its etcd answers. All calls return at once when it does not.
func TestStore(t *testing.T) {
	b := newBench(t)

	b.refuses(state.Unavailable, "no configuration")

	controllertest.Set(b.Node, config.MachineTypeID, config.MachineTypeSpec{MachineType: config.TypeControlPlane})
	b.refuses(state.Unavailable, "etcd of this control plane does not run")

	controllertest.Set(b.Node, "etcd", serviceres.ServiceSpec{Running: true})

	root, certs := b.server.secrets()
	controllertest.Set(b.Node, secrets.EtcdRootID, root)
	controllertest.Set(b.Node, secrets.EtcdID, certs)
	b.refuses(state.Unavailable, "is not healthy")

	b.ready()

	client := b.server.dial()

	first, err := clusterstate.Claim(t.Context(), client, "etcd-members", "cp-1")
	ok(t, err)
	b.lists("etcd-members cp-1")

	events := make(chan state.Event)
	ok(t, b.shared.WatchKind(t.Context(), resource.KindOf[clusterstateres.LockSpec](""), events))

	// etcd restarts: reads fail at once, the watch continues.
	b.server.kill()
	b.refuses(state.Unavailable, "etcd of this control plane does not answer")
	b.server.start()
	b.lists("etcd-members cp-1")

	ok(t, first.Release(t.Context()))

	if got := next(t, events); got != "destroyed etcd-members" {
		t.Errorf("the watch after etcd has restarted: got %q", got)
	}

	// With a new certificate there is a new connection. The watch ends, so its reader starts it again.
	_, certs = b.server.secrets()
	controllertest.Set(b.Node, secrets.EtcdID, certs)

	if got := next(t, events); !strings.HasPrefix(got, "errored ") || !strings.Contains(got, "the store is closed") {
		t.Errorf("the watch after the certificate has changed: got %q", got)
	}

	b.lists("")

	// The service of etcd ends.
	ok(t, b.shared.WatchKind(t.Context(), resource.KindOf[clusterstateres.LockSpec](""), events))
	controllertest.Set(b.Node, "etcd", serviceres.ServiceSpec{})
	b.refuses(state.Unavailable, "etcd of this control plane does not run")

	if got := next(t, events); !strings.HasPrefix(got, "errored ") {
		t.Errorf("the watch after etcd has ended: got %q", got)
	}
}

// TestHungServer: an etcd that accepts connections and does not answer blocks no call for long.
func TestHungServer(t *testing.T) {
	b := newBench(t)
	b.ready()

	ok(t, b.server.cmd.Process.Signal(syscall.SIGSTOP))

	defer b.server.cmd.Process.Signal(syscall.SIGCONT)

	began := time.Now()

	var err error
	for err == nil || state.IsNotFound(err) && time.Since(began) < patience { // until it has stopped, which the signal does not wait for
		_, err = b.shared.Get(t.Context(), resource.PointerOf[clusterstateres.LockSpec]("", "lock"), state.WithCurrent())
	}

	if !state.IsUnavailable(err) || time.Since(began) > patience {
		t.Errorf("got %v after %s, want Unavailable within %s", err, time.Since(began), patience)
	}
}

// TestWorker: a worker refuses at once and for good, and names the control planes.
func TestWorker(t *testing.T) {
	b := newBench(t)

	controllertest.Set(b.Node, config.MachineTypeID, config.MachineTypeSpec{MachineType: config.TypeWorker})
	b.refuses(state.Unsupported, "a worker does not serve the namespace, ask a control plane")

	for id, text := range map[string]string{"k8s": "10.5.0.3", "discovery": "10.5.0.2"} {
		controllertest.Set(b.Node, id, k8s.EndpointSpec{Addresses: []netip.Addr{netip.MustParseAddr(text), netip.MustParseAddr("10.5.0.3")}})
	}

	b.refuses(state.Unsupported, "ask a control plane: 10.5.0.2, 10.5.0.3 (talosctl --nodes 10.5.0.2)")
}
