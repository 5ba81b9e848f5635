// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	cosiapi "github.com/seed-59268b81/talos/api/cosi/v1alpha1"
	"github.com/seed-59268b81/talos/api/inspect"
	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/client"
	"github.com/seed-59268b81/talos/client/clienttest"
	"github.com/seed-59268b81/talos/cosi/meta"
	"github.com/seed-59268b81/talos/cosi/resource"
)

// node returns a machine with the facts.
func node(t *testing.T, f *Facts) *clienttest.Node {
	t.Helper()

	n := &clienttest.Node{Logs: map[string]string{}}

	for _, def := range resource.RegisteredTypes() {
		if slices.Contains(f.Hidden, def.Type) {
			continue // clienttest has no roles: leave out what readers may not see
		}

		rd, err := meta.NewResourceDefinition(def)
		if err != nil {
			t.Fatal(err)
		}

		text, err := resource.YAMLSpec(rd)
		if err != nil {
			t.Fatal(err)
		}

		n.Resources = append(n.Resources, clienttest.Resource(meta.NamespaceName, "ResourceDefinitions.meta.cosi.dev", rd.Metadata().ID(), text))
	}

	for _, r := range f.Resources {
		wire := clienttest.Resource(r.Namespace, r.Type, r.ID, r.Spec)
		wire.Metadata.Owner, wire.Metadata.Phase, wire.Metadata.Finalizers = r.Owner, r.Phase, r.Finalizers
		n.Resources = append(n.Resources, wire)
	}

	for _, s := range f.Services {
		info := &machine.ServiceInfo{Id: s.ID, State: s.State, Events: &machine.ServiceEvents{},
			Health: &machine.ServiceHealth{Unknown: !s.HasHealth, Healthy: s.Healthy, LastMessage: s.Health}}
		for _, m := range s.Messages {
			info.Events.Events = append(info.Events.Events, &machine.ServiceEvent{Msg: m})
		}

		n.Services = append(n.Services, info)
		n.Logs[client.SystemNamespace+"/"+s.ID] = strings.Join(s.Log, "\n") + "\n"
	}

	n.Scripts = scripts(t, f)

	return n
}

func scripts(t *testing.T, f *Facts) map[string]clienttest.Script {
	t.Helper()

	graph, members := &inspect.ControllerRuntimeDependency{}, &machine.EtcdMembers{}

	for _, e := range f.Edges {
		kind := inspect.DependencyEdgeType_INPUT_WEAK
		if e.Output {
			kind = inspect.DependencyEdgeType_OUTPUT_EXCLUSIVE
		}

		graph.Edges = append(graph.Edges, &inspect.ControllerDependencyEdge{
			ControllerName: e.Controller, EdgeType: kind, ResourceNamespace: e.Namespace, ResourceType: e.Type, ResourceId: e.ID,
		})
	}

	for _, m := range f.Members {
		id, err := strconv.ParseUint(m.ID, 16, 64)
		if err != nil {
			t.Fatal(err)
		}

		members.Members = append(members.Members, &machine.EtcdMember{Id: id, Hostname: m.Name, PeerUrls: m.PeerURLs})
	}

	answer := func(m proto.Message) clienttest.Script { return clienttest.Answer(m) }
	out := map[string]clienttest.Script{
		"inspect.InspectService/ControllerRuntimeDependencies": answer(&inspect.ControllerRuntimeDependenciesResponse{
			Messages: []*inspect.ControllerRuntimeDependency{graph},
		}),
		"machine.MachineService/EtcdMemberList": answer(&machine.EtcdMemberListResponse{Messages: []*machine.EtcdMembers{members}}),
	}

	for _, said := range f.Clock {
		out["time.TimeService/TimeCheck"] = clienttest.Script{Err: status.Error(codes.Internal, said)}
	}

	return out
}

// TestGather: facts that are read over the API give the same result as the facts themselves.
func TestGather(t *testing.T) {
	for _, scenario := range []string{"default-route", "time-not-synced", "kubelet-image", "endpoint", "endpoint-name", "endpoint-ready", "etcd-quorum"} {
		t.Run(scenario, func(t *testing.T) {
			server := clienttest.Start(t, map[string]*clienttest.Node{"": node(t, facts(t, scenario))})

			c, err := client.Connect(server.Context)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()

			got, _, err := Gather(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}

			if len(got.Missing) > 0 {
				t.Errorf("got %q missing, want nothing", got.Missing)
			}

			// The time servers that the machine cannot reach share one script.
			got.Hidden = facts(t, scenario).Hidden
			for server := range got.Clock {
				if _, known := facts(t, scenario).Clock[server]; !known {
					delete(got.Clock, server)
				}
			}

			var b bytes.Buffer

			start := Symptom{Kind: Machine}
			if err := Print(&b, "10.5.0.2", got, start, Explain(got, start)); err != nil {
				t.Fatal(err)
			}

			golden(t, scenario, b.String())
		})
	}
}

// TestGatherFromLittle: a machine that answers few calls is explained as far as possible, and the missing facts are listed.
func TestGatherFromLittle(t *testing.T) {
	n := node(t, facts(t, "default-route"))
	n.Scripts = map[string]clienttest.Script{
		"machine.MachineService/ServiceList": {Err: status.Error(codes.PermissionDenied, "not for you")},
	}
	n.Resources = slices.DeleteFunc(n.Resources, func(r *cosiapi.Resource) bool { return r.GetMetadata().GetType() == "RouteSpecs.net.talos.dev" })

	server := clienttest.Start(t, map[string]*clienttest.Node{"": n})

	c, err := client.Connect(server.Context)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()

	got, definitions, err := Gather(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}

	missing := strings.Join(got.Missing, "\n")
	for _, want := range []string{"services: list services: not for you", "the graph of controllers"} {
		if !strings.Contains(missing, want) {
			t.Errorf("got missing\n%s\nwant %q too", missing, want)
		}
	}

	definition, err := definitions.Find("networkstatus")
	if err != nil {
		t.Fatal(err)
	}

	for _, s := range Subjects(got, definition.Type, definition.DefaultNamespace, "") {
		step := Explain(got, s)
		if step == nil {
			t.Fatalf("got nothing wrong with %s, want that there is no default route", s)
		}

		chain := step.Roots()[0]
		if got, want := chain[len(chain)-1].Says, "there is no default route"; got != want {
			t.Errorf("root cause: got %q, want %q", got, want)
		}
	}
}

// TestNotServedIsNotMissing: what a machine does not serve by its nature, as a worker the resources of the cluster, is no failure.
func TestNotServedIsNotMissing(t *testing.T) {
	for code, missing := range map[codes.Code]bool{codes.Unimplemented: false, codes.PermissionDenied: false, codes.Unavailable: true} {
		server := clienttest.Start(t, map[string]*clienttest.Node{"": {Scripts: map[string]clienttest.Script{
			"cosi.resource.State/List": {Err: status.Error(code, "ask a control plane")},
		}}})

		c, err := client.Connect(server.Context)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()

		g := &gatherer{Client: c}
		if _, err := g.list(t.Context(), client.Kind{Namespace: "cluster-wide", Type: "ClusterLocks.clusterstate.talos.dev"}); (err != nil) != missing {
			t.Errorf("%s: got %v, want a failure: %t", code, err, missing)
		}
	}
}
