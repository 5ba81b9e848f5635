// SPDX-License-Identifier: Apache-2.0

package rotateca

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	cosiapi "github.com/seed-59268b81/talos/api/cosi/v1alpha1"
	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/client/clienttest"
	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/configtest"
	"github.com/seed-59268b81/talos/config/generate"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/pki"
	configres "github.com/seed-59268b81/talos/resources/config"
	"github.com/seed-59268b81/talos/resources/k8s"
)

// wired returns a resource as a node sends it: the spec only in its wire form.
func wired[S resource.Spec](t *testing.T, id string, spec S) *cosiapi.Resource {
	t.Helper()

	r := resource.New[S]("", id)
	*r.TypedSpec() = spec
	r.Metadata().SetVersion(1)

	text, err := resource.MarshalWire(r)
	if err != nil {
		t.Fatal(err)
	}

	out := &cosiapi.Resource{}
	if err := proto.Unmarshal(text, out); err != nil {
		t.Fatal(err)
	}

	return out
}

// nodes are a control plane and a worker, which are in the list of Nodes too.
type nodes struct {
	control, worker *clienttest.Node
	run             *run
	said            *strings.Builder
}

func newNodes(t *testing.T) nodes {
	t.Helper()

	if err := register(); err != nil {
		t.Fatal(err)
	}

	out, err := generate.New("demo", "https://10.5.0.2:6443", "", generate.Options{Secrets: configtest.Bundle(t)})
	if err != nil {
		t.Fatal(err)
	}

	node := func(text []byte) *clienttest.Node {
		cfg, err := config.Decode(text)
		if err != nil {
			t.Fatal(err)
		}

		spec := configres.NewMachineConfigSpec(cfg)

		return &clienttest.Node{Resources: []*cosiapi.Resource{wired(t, configres.ActiveID, spec), wired(t, configres.PersistentID, spec)}}
	}

	n := nodes{control: node(out.ControlPlane), worker: node(out.Worker), said: &strings.Builder{}}

	server := clienttest.Start(t, map[string]*clienttest.Node{
		"": {Resources: []*cosiapi.Resource{
			wired(t, "one", k8s.NodeIdentitySpec{Addresses: []netip.Addr{netip.MustParseAddr("10.5.0.2")}, ControlPlane: true}),
			wired(t, "two", k8s.NodeIdentitySpec{Addresses: []netip.Addr{netip.MustParseAddr("10.5.0.3")}}),
		}},
		"10.5.0.2": n.control, "10.5.0.3": n.worker,
	})

	connected, err := connect(server.Context)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(connected.close)

	n.run = &run{
		kinds: []kind{machineAPI, kubernetes}, dryRun: true, timeout: time.Minute, cluster: connected,
		say: func(format string, args ...any) { fmt.Fprintf(n.said, format+"\n", args...) },
	}

	return n
}

// TestDryRun checks what the command says about the nodes that it finds, and that it changes nothing.
func TestDryRun(t *testing.T) {
	n := newNodes(t)

	if err := n.run.do(t.Context()); err != nil {
		t.Fatal(err)
	}

	for _, want := range []string{
		"machine API: authority ", "Kubernetes: authority ", "  10.5.0.2 (control plane) knows only the old authority\n",
		"  10.5.0.3 (worker) knows only the old authority\n", "This was a dry run",
	} {
		if !strings.Contains(n.said.String(), want) {
			t.Errorf("got\n%s\nwant %q", n.said, want)
		}
	}

	if n.control.Applied() != nil || n.worker.Applied() != nil {
		t.Error("a configuration was applied")
	}
}

// TestNotBegun lists what keeps a rotation from beginning. Nothing is changed then.
func TestNotBegun(t *testing.T) {
	for name, test := range map[string]struct {
		change func(n nodes)
		want   string
	}{
		"a staged configuration": {func(n nodes) {
			n.worker.Resources[1] = wired(t, configres.PersistentID, configres.NewMachineConfigSpec(decoded(t, "version: v1alpha1\nmachine: {type: worker}\n")))
		}, "node 10.5.0.3: another configuration is staged for the next boot, or on trial"},
		"a node is not named":              {func(n nodes) { n.run.controlPlanes = []string{"10.5.0.2"} }, "node two [10.5.0.3] of the cluster is not named"},
		"a node in the other list":         {func(n nodes) { n.run.controlPlanes = []string{"10.5.0.2", "10.5.0.3"} }, "node 10.5.0.3: the node is of type worker"},
		"a node that is down":              {func(n nodes) { n.worker.SetDown(true) }, "node 10.5.0.3: read the configuration"},
		"nothing to revert":                {func(n nodes) { n.run.revert = true }, "nothing to revert"},
		"a configuration that is not read": {func(n nodes) { n.control.Resources = nil }, "node 10.5.0.2: read the configuration: the node has none"},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNodes(t)
			n.run.dryRun = false
			test.change(n)

			if err := n.run.do(t.Context()); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}

			if n.control.Applied() != nil || n.worker.Applied() != nil {
				t.Error("a configuration was applied")
			}
		})
	}
}

func decoded(t *testing.T, text string) *config.Config {
	t.Helper()

	cfg, err := config.Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}

	return cfg
}

// TestChange checks the first change of a node: it is made from the configuration that was read, and both authorities are in it.
func TestChange(t *testing.T) {
	n := newNodes(t)

	if err := n.run.do(t.Context()); err != nil { // a dry run, for its plan
		t.Fatal(err)
	}

	h := host{"10.5.0.2", true}

	if err := n.run.change(t.Context(), h, accept); err != nil {
		t.Fatal(err)
	}

	applied := n.control.Applied()
	before := n.control.Resources[0]

	var spec configres.MachineConfigSpec
	if err := spec.UnmarshalProto(before.GetSpec().GetProtoSpec()); err != nil {
		t.Fatal(err)
	}

	if want := []string{"v1alpha1:" + config.Digest(spec.Bytes())}; !slices.Equal(n.control.AppliedFrom(), want) {
		t.Errorf("made from %q, want %q", n.control.AppliedFrom(), want)
	}

	if applied.GetMode() != machine.ApplyConfigurationRequest_NO_REBOOT || applied.GetDryRun() {
		t.Errorf("got mode %s", applied.GetMode())
	}

	for _, r := range n.run.rotations {
		if at, err := r.level(memberIn(t, r.kind, h, applied.GetData())); err != nil || at != accept {
			t.Errorf("%s: got %s, %v", r.kind, at, err)
		}
	}
}

// TestChangedMeanwhile checks that a node that someone else changes all the time is given up, and is not changed.
func TestChangedMeanwhile(t *testing.T) {
	n := newNodes(t)

	if err := n.run.do(t.Context()); err != nil {
		t.Fatal(err)
	}

	n.control.Scripts = map[string]clienttest.Script{
		"machine.MachineService/ApplyConfiguration": {Err: status.Error(codes.Aborted, "the configuration has changed since it was read")},
	}

	if err := n.run.change(t.Context(), host{"10.5.0.2", true}, accept); !changed(err) {
		t.Errorf("got %v, want the node's refusal", err)
	}
}

// TestResume: once nodes refuse the former talosconfig, an interrupted rotation goes on with the new one.
func TestResume(t *testing.T) {
	r := &run{output: "new", name: "demo"}
	if got := r.resume(); !strings.HasPrefix(got, "the same command continues, and --revert ") {
		t.Errorf("before the new talosconfig: %q", got)
	}

	r.admin = pki.Pair{Crt: []byte("x")}
	if got := r.resume(); !strings.HasPrefix(got, "the same command continues with --talosconfig new --context demo, and --revert ") {
		t.Errorf("after it: %q", got)
	}
}

// TestWait checks that a wait ends soon when an endpoint cannot be reached, and that one success is not enough.
func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &run{timeout: 10 * time.Minute, say: func(string, ...any) {}}
		began := time.Now()

		err := r.wait(t.Context(), "Kubernetes", func(context.Context) error {
			return &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}
		})

		if took := time.Since(began); err == nil || took < time.Minute || took > 62*time.Second || !strings.Contains(err.Error(), "wait for Kubernetes: the endpoint cannot be reached") {
			t.Errorf("after %s: %v", took, err)
		}

		results := []error{nil, errors.New("it stops"), nil, nil, errors.New("too late")}
		looks := 0

		if err := r.wait(t.Context(), "node", func(context.Context) error { looks++; return results[looks-1] }); err != nil || looks != 4 {
			t.Errorf("got %v after %d looks, want success after 4", err, looks)
		}

		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(3*time.Second, cancel)

		if err := r.wait(ctx, "node", func(context.Context) error { return errors.New("not yet") }); !errors.Is(err, context.Canceled) {
			t.Errorf("interrupted: got %v", err)
		}
	})
}
