// SPDX-License-Identifier: Apache-2.0

//go:build linux

package apid

import (
	"context"
	"crypto/tls"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	cosiapi "github.com/seed-59268b81/talos/api/cosi/v1alpha1"
	"github.com/seed-59268b81/talos/client"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/pki"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/secrets"
)

// firstLife is how long the first certificates of the nodes and of the client are valid. They are renewed at half of it, when the
// watches must be running.
const firstLife = 20 * time.Second

// TestWatchOutlivesItsCertificates watches two nodes, one of them through the other, while a resource changes all the time and every
// certificate in between is replaced: by the clock, for other names, then by another authority. Every change arrives once and in
// order. A watch ends with the certificate that it started with, and when its authority is no longer accepted.
func TestWatchOutlivesItsCertificates(t *testing.T) {
	ca, next := newCA(t), newCA(t)
	began := time.Now()
	a, b := startControlPlane(t, "rollover-a", ca, firstLife), startControlPlane(t, "rollover-b", ca, firstLife)
	nodes := []*controlPlane{a, b}
	old := newClient(t, a, []*pki.CA{ca, next}, ca, firstLife-time.Since(began))

	numbers := startNumbers(t, nodes...)

	var first, watches []*watch
	for _, target := range []string{"", b.name} {
		first = append(first, watchNumbers(t, old, target))
	}

	// The controllers renew at half of the life, and the first certificates end while the watch runs.
	swap(t, nodes, "by the clock", func(*controlPlane) {})
	time.Sleep(time.Until(began.Add(firstLife + time.Second)))
	refused(t, old, "expired")

	for _, w := range first {
		w.ended(t, "has expired")
	}

	current := newClient(t, a, []*pki.CA{ca, next}, ca, time.Hour)
	for _, target := range []string{"", b.name} {
		watches = append(watches, watchNumbers(t, current, target))
	}

	for _, step := range []struct {
		name   string
		change func(n *controlPlane)
	}{
		{"another name", func(n *controlPlane) {
			put(n, network.HostnameID, network.HostnameStatusSpec{Hostname: n.name, Domainname: "example.org"})
		}},
		{"the name as it was", func(n *controlPlane) {
			put(n, network.HostnameID, network.HostnameStatusSpec{Hostname: n.name})
		}},
		{"a second authority is accepted", func(n *controlPlane) {
			n.root.AcceptedCAs = []secrets.Cert{{Crt: ca.PEM.Crt}, {Crt: next.PEM.Crt}}
			put(n, secrets.OSRootID, n.root)
		}},
		{"the second authority issues", func(n *controlPlane) {
			n.root.IssuingCA = secrets.CertAndKey(next.PEM)
			put(n, secrets.OSRootID, n.root)
		}},
	} {
		swap(t, nodes, step.name, step.change)

		for _, target := range []string{"", b.name} {
			if err := read(t, current, target); err != nil {
				t.Errorf("%s: a new call to node %q: %v", step.name, target, err)
			}
		}
	}

	last := numbers.stop()

	for _, w := range watches {
		w.check(t, last)
	}

	swap(t, nodes, "the first authority is not accepted", func(n *controlPlane) {
		n.root.AcceptedCAs = []secrets.Cert{{Crt: next.PEM.Crt}}
		put(n, secrets.OSRootID, n.root)
	})
	refused(t, current, "no longer accepted")

	for _, w := range watches {
		w.ended(t, "no longer accepted")
	}

	for _, target := range []string{"", b.name} {
		if err := read(t, newClient(t, a, []*pki.CA{next}, next, time.Hour), target); err != nil {
			t.Errorf("a client of the second authority, to node %q: %v", target, err)
		}
	}
}

// swap changes the source of certificates and waits until apid on every node serves the new ones.
func swap(t *testing.T, nodes []*controlPlane, name string, change func(*controlPlane)) {
	t.Helper()

	before := map[*controlPlane]*View{}

	for _, n := range nodes {
		before[n] = n.router.View()
	}

	for _, n := range nodes {
		change(n)
		n.until("its certificates are replaced: "+name, func() bool {
			now := n.router.View()

			return now.Server != before[n].Server && now.Client != before[n].Client && now.CAs != before[n].CAs
		})

		// New connections get the new certificate.
		conn, err := tls.Dial("tcp", n.addr, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS13}) // it is looked at
		if err != nil {
			t.Fatal(err)
		}

		if got := conn.ConnectionState().PeerCertificates[0]; !slices.Equal(got.Raw, n.router.View().Server.Certificate[0]) {
			t.Errorf("%s: node %s shows the certificate of %s", name, n.name, got.NotBefore)
		}

		conn.Close() // it was looked at
	}
}

// newClient returns a client of the node that trusts some authorities, with a certificate of one of them.
func newClient(t *testing.T, n *controlPlane, trusted []*pki.CA, ca *pki.CA, life time.Duration) *client.Client {
	t.Helper()

	leaf, err := ca.Sign(pki.LeafOptions{Organization: []string{"os:reader"}, Client: true, TTL: life})
	if err != nil {
		t.Fatal(err)
	}

	var roots []byte
	for _, ca := range trusted {
		roots = append(roots, ca.PEM.Crt...)
	}

	c, err := client.New([]string{n.addr}, client.WithCertificates(roots, leaf.Crt, leaf.Key))
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { c.Close() })

	return c
}

func numbered() client.Kind {
	kind := resource.KindOf[k8s.NodenameSpec]("")

	return client.Kind{Namespace: kind.Namespace, Type: kind.Type}
}

func to(ctx context.Context, node string) context.Context {
	if node == "" {
		return ctx
	}

	return client.WithNode(ctx, node)
}

// read makes a new call.
func read(t *testing.T, c *client.Client, node string) error {
	t.Helper()

	_, err := c.Resource(to(t.Context(), node), numbered(), "n")

	return err
}

// refused checks that new calls on the existing connection of a client fail with a reason.
func refused(t *testing.T, c *client.Client, why string) {
	t.Helper()

	if err := read(t, c, ""); status.Code(err) != codes.Unauthenticated || !strings.Contains(err.Error(), why) {
		t.Errorf("a new call: got %v, want Unauthenticated, %q", err, why)
	}
}

// numbers change a resource on some nodes repeatedly.
type numbers struct {
	nodes   []*controlPlane
	last    atomic.Int64
	stopped chan struct{}
	end     func()
	done    chan struct{}
	err     error // once done is closed
}

// startNumbers returns when the first number is written.
func startNumbers(t *testing.T, nodes ...*controlPlane) *numbers {
	t.Helper()

	n := &numbers{nodes: nodes, stopped: make(chan struct{}), done: make(chan struct{})}
	n.end = sync.OnceFunc(func() { close(n.stopped) })

	if err := n.write(0); err != nil {
		t.Fatal(err)
	}

	go n.run()

	t.Cleanup(func() {
		if n.stop(); n.err != nil {
			t.Error(n.err)
		}
	})

	return n
}

func (n *numbers) write(i int64) error {
	for _, node := range n.nodes {
		if err := typed.Set(context.Background(), node.state, "", "n", k8s.NodenameSpec{Nodename: strconv.FormatInt(i, 10)}); err != nil {
			return err
		}
	}

	n.last.Store(i)

	return nil
}

func (n *numbers) run() {
	defer close(n.done)

	for i := int64(1); n.err == nil; i++ {
		select {
		case <-n.stopped:
			return
		case <-time.After(time.Millisecond):
			n.err = n.write(i)
		}
	}
}

// stop ends the changes and returns the last one.
func (n *numbers) stop() int64 {
	n.end()
	<-n.done

	return n.last.Load()
}

// watch is what a client receives of the numbers.
type watch struct {
	name string
	seen chan int64
	end  func()
	err  error // once seen is closed
}

// watchNumbers returns when the watch has started.
func watchNumbers(t *testing.T, c *client.Client, node string) *watch {
	t.Helper()

	ctx, cancel := context.WithCancel(to(t.Context(), node))
	w := &watch{name: fmt.Sprintf("of node %q from %s on", node, time.Now().Format(time.TimeOnly)), seen: make(chan int64, 1<<20), end: cancel}
	begun := make(chan struct{})

	go func() {
		defer close(w.seen)

		for event, err := range c.WatchResources(ctx, numbered(), "") {
			if err != nil {
				w.err = err

				return
			}

			if event.GetEventType() == cosiapi.EventType_BOOTSTRAPPED {
				close(begun)

				continue
			}

			var spec k8s.NodenameSpec
			if w.err = yaml.Unmarshal([]byte(event.GetResource().GetSpec().GetYamlSpec()), &spec); w.err != nil {
				return
			}

			i, err := strconv.ParseInt(spec.Nodename, 10, 64)
			if err != nil {
				w.err = err

				return
			}

			w.seen <- i
		}
	}()

	select {
	case <-begun:
	case <-time.After(time.Minute):
		t.Fatalf("the watch %s does not start", w.name)
	}

	return w
}

// check checks that the watch has received every number from its first to the last, in order.
func (w *watch) check(t *testing.T, last int64) {
	t.Helper()

	first := <-w.seen
	late := time.AfterFunc(time.Minute, w.end)

	for want := first + 1; want <= last; want++ {
		if got, ok := <-w.seen; !ok {
			t.Fatalf("the watch %s ended before %d: %v", w.name, want, w.err)
		} else if got != want {
			t.Fatalf("the watch %s: got %d, want %d", w.name, got, want)
		}
	}

	late.Stop()

	select {
	case got, more := <-w.seen:
		t.Errorf("the watch %s: got %d after the last (more: %t, %v)", w.name, got, more, w.err)
	default:
	}

	t.Logf("the watch %s: %d changes seen, from %d on", w.name, last-first+1, first)
}

// ended checks that the watch ends within a second, and why.
func (w *watch) ended(t *testing.T, why string) {
	t.Helper()

	late := time.After(endsWithin)

	for {
		select {
		case _, more := <-w.seen:
			if more {
				continue
			}

			if status.Code(w.err) != codes.Unauthenticated || !strings.Contains(w.err.Error(), why) {
				t.Errorf("the watch %s ended with %v, want Unauthenticated, %q", w.name, w.err, why)
			}
		case <-late:
			t.Errorf("the watch %s is alive", w.name)
			w.end()
		}

		return
	}
}
