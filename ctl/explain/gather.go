// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/api/common"
	cosiapi "github.com/seed-59268b81/talos/api/cosi/v1alpha1"
	"github.com/seed-59268b81/talos/api/inspect"
	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/client"
	"github.com/seed-59268b81/talos/resources/network"
	timeres "github.com/seed-59268b81/talos/resources/time"
)

const (
	callTimeout = 10 * time.Second // of each call
	parallel    = 8                // calls at a time
	logLines    = 60               // of the log of a service that is not up
	longLines   = 400              // of etcd's, which says much of each request while it has no leader, and of machined's
	maxLog      = 256 << 10        // bytes of it
	maxServers  = 3                // time servers that are asked
)

// machined is the service that is the machine's own.
const machined = "machined"

// Gather reads the facts. What cannot be read is noted in them; an error means that the machine does not answer at all.
func Gather(ctx context.Context, c *client.Client) (*Facts, client.Definitions, error) {
	listCtx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()

	definitions, err := c.Definitions(listCtx)
	if err != nil {
		return nil, nil, err
	}

	g := &gatherer{Client: c, facts: &Facts{Clock: map[string]string{}}, slots: make(chan struct{}, parallel)}
	g.call(ctx, "the graph of controllers", g.edges)
	g.call(ctx, "services", g.services)

	for _, kind := range kinds(definitions) {
		g.call(ctx, kind.String(), func(ctx context.Context) error { return g.list(ctx, kind) })
	}

	g.wait()
	g.further(ctx)
	g.wait()

	slices.SortFunc(g.facts.Resources, func(a, b Resource) int { return strings.Compare(a.Name(), b.Name()) })
	slices.SortFunc(g.facts.Services, func(a, b Service) int { return strings.Compare(a.ID, b.ID) })
	slices.Sort(g.facts.Hidden)
	slices.Sort(g.facts.Missing)

	return g.facts, definitions, nil
}

// kinds are all types in their usual namespaces.
func kinds(definitions client.Definitions) []client.Kind {
	var out []client.Kind

	for _, d := range definitions {
		if !strings.HasSuffix(d.Type, ".meta.cosi.dev") || strings.HasPrefix(d.Type, "ControllerStatuses.") {
			out = append(out, client.Kind{Namespace: d.DefaultNamespace, Type: d.Type})
		}
	}

	return out
}

type gatherer struct {
	*client.Client

	slots chan struct{}
	calls sync.WaitGroup
	mu    sync.Mutex
	facts *Facts
}

func (g *gatherer) wait() { g.calls.Wait() }

// call does one thing beside others, in bounded time, and notes its failure.
func (g *gatherer) call(ctx context.Context, what string, do func(ctx context.Context) error) {
	g.calls.Go(func() {
		g.slots <- struct{}{}
		defer func() { <-g.slots }()

		ctx, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()

		if err := do(ctx); err != nil {
			cause, _ := client.Explain(err)

			g.mu.Lock()
			g.facts.Missing = append(g.facts.Missing, what+": "+cause)
			g.mu.Unlock()
		}
	})
}

func (g *gatherer) list(ctx context.Context, kind client.Kind) error {
	var found []Resource

	for r, err := range g.Resources(ctx, kind) {
		if status.Code(err) == codes.PermissionDenied {
			g.mu.Lock()
			g.facts.Hidden = append(g.facts.Hidden, kind.Type)
			g.mu.Unlock()

			return nil
		}

		if err != nil {
			return err
		}

		found = append(found, resourceOf(r))
	}

	g.mu.Lock()
	g.facts.Resources = append(g.facts.Resources, found...)
	g.mu.Unlock()

	return nil
}

func resourceOf(r *cosiapi.Resource) Resource {
	md := r.GetMetadata()

	return Resource{
		Namespace: md.GetNamespace(), Type: md.GetType(), ID: md.GetId(), Owner: md.GetOwner(), Phase: md.GetPhase(),
		Finalizers: md.GetFinalizers(), Spec: r.GetSpec().GetYamlSpec(),
	}
}

func (g *gatherer) edges(ctx context.Context) error {
	edges, err := g.ControllerDependencies(ctx)

	g.mu.Lock()
	defer g.mu.Unlock()

	for _, e := range edges {
		out := e.GetEdgeType() == inspect.DependencyEdgeType_OUTPUT_EXCLUSIVE || e.GetEdgeType() == inspect.DependencyEdgeType_OUTPUT_SHARED
		g.facts.Edges = append(g.facts.Edges, Edge{
			Controller: e.GetControllerName(), Namespace: e.GetResourceNamespace(), Type: e.GetResourceType(), ID: e.GetResourceId(), Output: out,
		})
	}

	return err
}

func (g *gatherer) services(ctx context.Context) error {
	list, err := g.Client.Services(ctx)

	g.mu.Lock()
	defer g.mu.Unlock()

	for _, s := range list {
		service := Service{
			ID: s.GetId(), State: s.GetState(), HasHealth: s.GetHealth() != nil && !s.GetHealth().GetUnknown(),
			Healthy: s.GetHealth().GetHealthy(), Health: s.GetHealth().GetLastMessage(),
		}
		for _, e := range s.GetEvents().GetEvents() {
			service.Messages = append(service.Messages, e.GetMsg())
		}

		g.facts.Services = append(g.facts.Services, service)
	}

	return err
}

// further asks what only matters of a machine that is as the first answers say.
func (g *gatherer) further(ctx context.Context) {
	fine := g.facts.fine() // before logs are written into the facts

	for i := range g.facts.Services {
		s := &g.facts.Services[i]

		// The kubelet is as healthy as can be while it does not get through to its API server. machined tells which of the
		// API servers that KubePrism knows do not answer, which nothing else does as long as another answers.
		if !s.up() || s.ID == "kubelet" && !fine || s.ID == machined && g.facts.controlPlane() {
			g.call(ctx, "log of "+s.ID, func(ctx context.Context) error { return g.log(ctx, s) })
		}

		if s.ID == "etcd" && !s.up() && s.State == "Running" {
			g.call(ctx, "members of etcd", g.members)
		}
	}

	if clock, ok := find[timeres.StatusSpec](g.facts, timeres.StatusID); !ok || clock.Usable() {
		return
	}

	servers, _ := find[network.TimeServerStatusSpec](g.facts, network.TimeServerID)
	for i, server := range servers.NTPServers {
		if i < maxServers {
			g.call(ctx, "time of "+server, func(ctx context.Context) error { return g.time(ctx, server) })
		}
	}
}

func (f *Facts) fine() bool { return Explain(f, Symptom{Kind: Machine}) == nil }

func (g *gatherer) log(ctx context.Context, s *Service) error {
	lines := int32(logLines)
	if s.ID == "etcd" || s.ID == machined {
		lines = longLines
	}

	stream := g.Logs(ctx, &machine.LogsRequest{
		Namespace: client.SystemNamespace, Id: s.ID, Driver: common.ContainerDriver_CONTAINERD, TailLines: lines,
	})
	defer stream.Close()

	text, err := io.ReadAll(io.LimitReader(stream, maxLog))
	if lines := strings.TrimRight(string(text), "\n"); lines != "" {
		s.Log = strings.Split(lines, "\n")
	}

	return err
}

func (g *gatherer) members(ctx context.Context) error {
	members, err := g.EtcdMembers(ctx, true)

	g.mu.Lock()
	defer g.mu.Unlock()

	for _, m := range members {
		g.facts.Members = append(g.facts.Members, Member{Name: m.GetHostname(), ID: fmt.Sprintf("%x", m.GetId()), PeerURLs: m.GetPeerUrls()})
	}

	return err
}

func (g *gatherer) time(ctx context.Context, server string) error {
	_, err := g.Time(ctx, server)

	said := ""

	switch status.Code(err) { // the others are what the server said, or that it did not
	case codes.Unimplemented, codes.PermissionDenied:
		return err
	case codes.OK:
	default:
		said, _ = client.Explain(err)
		said = strings.TrimPrefix(said, "time of "+server+": ")
	}

	g.mu.Lock()
	defer g.mu.Unlock()

	g.facts.Clock[server] = said

	return nil
}
