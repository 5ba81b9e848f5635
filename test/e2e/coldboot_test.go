// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.yaml.in/yaml/v4"

	"github.com/seed-59268b81/talos/client"
	"github.com/seed-59268b81/talos/cosi/resource"
	discoveryclient "github.com/seed-59268b81/talos/discovery/client"
	"github.com/seed-59268b81/talos/lab"
	"github.com/seed-59268b81/talos/resources/cluster"
)

const (
	// coldTime is from the power-on of all machines to Ready nodes.
	coldTime = 4 * time.Minute
	// hostedPort is the port of the discovery service of the configuration, at the lab's gateway.
	hostedPort = 3000
)

// lies has a discovery service lie to all machines. It is the one that they prefer, as it is in their configuration, and no machine reaches
// the carrier of another any more, once its present connections have ended.
func (s *scaled) lies() {
	all := s.Lab.Nodes()
	before := s.members(all)

	key, err := base64.StdEncoding.DecodeString(s.Generated.Secrets.Cluster.Secret)
	if err != nil {
		s.t.Fatal(err)
	}

	network := s.Lab.State().World.Networks[0]

	listeners, err := s.Lab.Listen(network.Name, hostedPort)
	if err != nil {
		s.t.Fatal(err)
	}

	stop := startLiar(liesAbout(s.t, key, before[all[0].Name]), listeners)
	defer stop()

	s.patchAll(
		fmt.Sprintf(`cluster: {discovery: {registries: {service: {disabled: false, endpoint: "http://%s/"}}}}`, netip.AddrPortFrom(network.Gateway4, hostedPort)),
		opened("carriers", "tcp", "50002", "192.0.2.1/32"),
	)

	s.Until("all machines listen to the liar", 3*time.Minute, func(ctx context.Context) error {
		for _, n := range all {
			sources, err := specs[cluster.DiscoverySourceSpec](ctx, s, n, cluster.NamespaceName)
			if err != nil {
				return err
			}

			i := slices.IndexFunc(sources, func(d cluster.DiscoverySourceSpec) bool { return d.Watched })
			if i < 0 || sources[i].Kind != cluster.SourceService || sources[i].Rejected == 0 {
				return fmt.Errorf("%s has the sources %+v", n.Name, sources)
			}
		}

		return nil
	})

	s.same(before, all, "while a source lies")
}

// boot cuts the power of all machines, switches them on again, and waits until all are Ready nodes. The discovery service of the configuration
// is gone, and no machine reaches the carrier of another, so each knows the others only from its disk.
func (s *scaled) boot(planes []*lab.Node) {
	all := s.Lab.Nodes()
	worker := all[len(planes)] // a control plane may be off already
	before := s.members([]*lab.Node{worker})

	s.together(func(n *lab.Node) error { return n.PowerCut(s.t.Context()) })

	begin := time.Now()

	s.together(func(n *lab.Node) error { return n.PowerOn(s.t.Context()) })

	s.Until("all nodes are Ready after a cold boot", coldTime, func(ctx context.Context) error { return s.back(ctx, begin) })
	s.Measured(fmt.Sprintf("cold boot of %d machines without discovery: from power-on to Ready nodes", len(all)), time.Since(begin))

	s.Until("all control planes are back", joinTime, func(ctx context.Context) error {
		errs := []error{s.votes(ctx, planes[0], planes...)}
		for _, n := range planes {
			errs = append(errs, s.published(ctx, n, true))
		}

		return errors.Join(errs...)
	})

	for _, n := range all {
		before[n.Name] = before[worker.Name]
	}

	s.same(before, all, "after a cold boot")

	for _, n := range all {
		sources, err := specs[cluster.DiscoverySourceSpec](s.t.Context(), s, n, cluster.NamespaceName)
		if err != nil {
			s.t.Error(err)
		}

		for _, d := range sources {
			// A machine reaches itself.
			if d.State != discoveryclient.StateConnecting && !strings.HasPrefix(d.Endpoint, n.Addr.String()+":") {
				s.t.Errorf("%s reaches the source %+v: this was no boot without discovery", n.Name, d)
			}
		}
	}

	s.patchAll("cluster: {discovery: {registries: {service: {disabled: true}}}}", removed("NetworkRuleConfig", "carriers"))
}

// together does something to all machines at once.
func (s *scaled) together(do func(*lab.Node) error) {
	s.t.Helper()

	all := s.Lab.Nodes()
	errs := make([]error, len(all))

	var done sync.WaitGroup

	for i, n := range all {
		done.Go(func() { errs[i] = do(n) })
	}

	done.Wait()

	if err := errors.Join(errs...); err != nil {
		s.t.Fatal(err)
	}
}

// back checks that all nodes are Ready, and that their kubelets have said so since a time: Kubernetes takes a machine without power for Ready
// for a while.
func (s *scaled) back(ctx context.Context, since time.Time) error {
	for _, n := range s.Lab.Nodes() {
		if err := s.isReady(ctx, n); err != nil {
			return err
		}
	}

	text, err := s.TryKubectl(ctx, "get", "leases", "-n", "kube-node-lease", "-o", `jsonpath={range .items[*]}{.metadata.name} {.spec.renewTime}{"\n"}{end}`)
	if err != nil {
		return err
	}

	left := len(s.Lab.Nodes())

	for line := range strings.Lines(text) {
		name, renewed, _ := strings.Cut(strings.TrimSpace(line), " ")

		at, err := time.Parse(time.RFC3339, renewed)
		if err != nil || !at.After(since) {
			return fmt.Errorf("the kubelet of %s has not renewed its lease since %s (%v)", name, renewed, err)
		}

		left--
	}

	if left != 0 {
		return fmt.Errorf("the leases are those of other nodes: %q", text)
	}

	return nil
}

// members returns the members that machines know.
func (s *scaled) members(of []*lab.Node) map[string][]cluster.MemberSpec {
	s.t.Helper()

	known := map[string][]cluster.MemberSpec{}

	s.Until("all machines are members", 2*time.Minute, func(ctx context.Context) error {
		for _, n := range of {
			members, err := specs[cluster.MemberSpec](ctx, s, n, cluster.NamespaceName)
			if err != nil {
				return err
			}

			if len(members) != len(s.Lab.Nodes()) {
				return fmt.Errorf("%s knows %d members, want %d", n.Name, len(members), len(s.Lab.Nodes()))
			}

			slices.SortFunc(members, func(a, b cluster.MemberSpec) int { return strings.Compare(a.NodeID, b.NodeID) })

			known[n.Name] = members
		}

		return nil
	})

	return known
}

// same checks that machines know the members that they knew before.
func (s *scaled) same(before map[string][]cluster.MemberSpec, nodes []*lab.Node, when string) {
	s.t.Helper()

	now := s.members(nodes)

	for _, n := range nodes {
		if diff := cmp.Diff(before[n.Name], now[n.Name], cmpopts.EquateComparable(netip.Addr{})); diff != "" {
			s.t.Errorf("%s, %s knows other members (-before +now):\n%s", when, n.Name, diff)
		}
	}
}

// patchAll patches the configurations of all machines.
func (s *scaled) patchAll(patches ...string) {
	s.t.Helper()

	var addresses []string
	for _, n := range s.Lab.Nodes() {
		addresses = append(addresses, n.Addr.String())
	}

	// For good: the power is cut before a trial is over.
	args := []string{"-n", strings.Join(addresses, ","), "patch", "machineconfig", "--for-good"}
	for _, p := range patches {
		args = append(args, "--patch", p)
	}

	s.Until("all configurations are patched", 2*time.Minute, func(ctx context.Context) error {
		out, err := s.TalosctlCommand(ctx, args...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}

		return nil
	})
}

// specs returns the resources of a type on a machine, in the order of their ids.
func specs[T interface{ Definition() *resource.Definition }](ctx context.Context, s *scaled, n *lab.Node, namespace string) (all []T, err error) {
	return all, s.APIOf(ctx, n, func(ctx context.Context, api *client.Client) error {
		var zero T

		for r, err := range api.Resources(ctx, client.Kind{Namespace: namespace, Type: zero.Definition().Type}) {
			if err != nil {
				return err
			}

			var spec T
			if err := yaml.Unmarshal([]byte(r.GetSpec().GetYamlSpec()), &spec); err != nil {
				return fmt.Errorf("spec of %s: %w", r.GetMetadata().GetId(), err)
			}

			all = append(all, spec)
		}

		return nil
	})
}
