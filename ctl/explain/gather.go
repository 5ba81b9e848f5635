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
	"github.com/seed-59268b81/talos/ctl/session"
	"github.com/seed-59268b81/talos/resources/network"
	timeres "github.com/seed-59268b81/talos/resources/time"
)

const (
	callTimeout = 10 * time.Second // of each call
	parallel    = 8                // calls at a time
	logLines    = 60               // of the log of a service that is not up
	longLines   = 400              // of etcd's log, which is long while it has no leader, and of machined's and containerd's
	maxLog      = 256 << 10        // bytes of it
	maxServers  = 3                // number of time servers that are tested
)

// machined is the id of the service whose log is machined's own, and runtimeService that of containerd's.
const (
	machined       = "machined"
	runtimeService = "cri"
)

// Gather reads the facts, which also have what could not be read. It fails only if the machine does not answer at all.
func Gather(ctx context.Context, c *client.Client) (*Facts, client.Definitions, error) {
	listCtx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()

	definitions, err := c.Definitions(listCtx)
	if err != nil {
		return nil, nil, err
	}

	g := &gatherer{Client: c, facts: &Facts{Clock: map[string]string{}, Now: time.Now()}, slots: make(chan struct{}, parallel)}
	g.call(ctx, "the graph of controllers", g.edges)
	g.call(ctx, "services", g.services)

	for _, d := range definitions {
		if strings.HasSuffix(d.Type, ".meta.cosi.dev") && !strings.HasPrefix(d.Type, "ControllerStatuses.") {
			continue
		}

		kind := client.Kind{Namespace: d.DefaultNamespace, Type: d.Type}
		g.call(ctx, kind.String(), func(ctx context.Context) (func(*Facts), error) { return g.list(ctx, kind) })
	}

	g.calls.Wait()
	g.further(ctx)
	g.calls.Wait()

	slices.SortFunc(g.facts.Resources, func(a, b Resource) int { return strings.Compare(a.Name(), b.Name()) })
	slices.SortFunc(g.facts.Services, func(a, b Service) int { return strings.Compare(a.ID, b.ID) })
	slices.Sort(g.facts.Hidden)
	slices.Sort(g.facts.Missing)

	return g.facts, definitions, nil
}

type gatherer struct {
	*client.Client

	slots chan struct{}
	calls sync.WaitGroup
	mu    sync.Mutex
	facts *Facts
}

// call runs do in the background, with a timeout. It adds to the facts what do has learned, also if do fails, and its failure.
func (g *gatherer) call(ctx context.Context, what string, do func(ctx context.Context) (func(*Facts), error)) {
	g.calls.Go(func() {
		g.slots <- struct{}{}
		defer func() { <-g.slots }()

		ctx, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()

		learn, err := do(ctx)

		g.mu.Lock()
		defer g.mu.Unlock()

		learn(g.facts)

		if err != nil {
			cause, _ := client.Explain(err)
			g.facts.Missing = append(g.facts.Missing, what+": "+cause)
		}
	})
}

func (g *gatherer) list(ctx context.Context, kind client.Kind) (func(*Facts), error) {
	found, err := session.All(g.Resources(ctx, kind))

	switch {
	case status.Code(err) == codes.PermissionDenied:
		return func(f *Facts) { f.Hidden = append(f.Hidden, kind.Type) }, nil
	case status.Code(err) == codes.Unimplemented: // as the resources of the cluster are on workers
		return func(*Facts) {}, nil
	case err != nil:
		found = nil
	}

	return func(f *Facts) {
		for _, r := range found {
			f.Resources = append(f.Resources, resourceOf(r))
		}
	}, err
}

func resourceOf(r *cosiapi.Resource) Resource {
	md := r.GetMetadata()

	return Resource{
		Namespace: md.GetNamespace(), Type: md.GetType(), ID: md.GetId(), Owner: md.GetOwner(), Phase: md.GetPhase(),
		Finalizers: md.GetFinalizers(), Spec: r.GetSpec().GetYamlSpec(),
	}
}

func (g *gatherer) edges(ctx context.Context) (func(*Facts), error) {
	edges, err := g.ControllerDependencies(ctx)

	return func(f *Facts) {
		for _, e := range edges {
			out := e.GetEdgeType() == inspect.DependencyEdgeType_OUTPUT_EXCLUSIVE || e.GetEdgeType() == inspect.DependencyEdgeType_OUTPUT_SHARED
			f.Edges = append(f.Edges, Edge{
				Controller: e.GetControllerName(), Namespace: e.GetResourceNamespace(), Type: e.GetResourceType(), ID: e.GetResourceId(), Output: out,
			})
		}
	}, err
}

func (g *gatherer) services(ctx context.Context) (func(*Facts), error) {
	list, err := g.Client.Services(ctx)

	return func(f *Facts) {
		for _, s := range list {
			f.Services = append(f.Services, Service{
				ID: s.GetId(), State: s.GetState(), HasHealth: s.GetHealth() != nil && !s.GetHealth().GetUnknown(),
				Healthy: s.GetHealth().GetHealthy(), Health: s.GetHealth().GetLastMessage(),
				Messages: session.Names(s.GetEvents().GetEvents(), (*machine.ServiceEvent).GetMsg),
			})
		}
	}, err
}

// further reads what the first facts call for: logs, members of etcd, time servers.
func (g *gatherer) further(ctx context.Context) {
	fine := g.facts.fine() // before logs are written into the facts

	for i := range g.facts.Services {
		s := &g.facts.Services[i]

		// The kubelet is healthy even if it cannot connect to its API server. Only the log of machined says which of the API servers of
		// KubePrism do not answer, as long as another one answers. Only the log of containerd says which images cannot be pulled for pods,
		// and why a registry behind the image cache does not answer.
		if !s.up() || s.ID == "kubelet" && !fine || s.ID == runtimeService || s.ID == machined && g.facts.controlPlane() {
			g.call(ctx, "log of "+s.ID, func(ctx context.Context) (func(*Facts), error) { return g.log(ctx, s) })
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
			g.call(ctx, "time of "+server, func(ctx context.Context) (func(*Facts), error) { return g.time(ctx, server) })
		}
	}
}

func (f *Facts) fine() bool { return Explain(f, Symptom{Kind: Machine}) == nil }

func (g *gatherer) log(ctx context.Context, s *Service) (func(*Facts), error) {
	lines := int32(logLines)
	if s.ID == "etcd" || s.ID == machined || s.ID == runtimeService {
		lines = longLines
	}

	stream := g.Logs(ctx, &machine.LogsRequest{
		Namespace: client.SystemNamespace, Id: s.ID, Driver: common.ContainerDriver_CONTAINERD, TailLines: lines,
	})
	defer stream.Close()

	text, err := io.ReadAll(io.LimitReader(stream, maxLog))

	return func(*Facts) {
		if lines := strings.TrimRight(string(text), "\n"); lines != "" {
			s.Log = strings.Split(lines, "\n")
		}
	}, err
}

func (g *gatherer) members(ctx context.Context) (func(*Facts), error) {
	members, err := g.EtcdMembers(ctx, true)

	return func(f *Facts) {
		for _, m := range members {
			f.Members = append(f.Members, Member{Name: m.GetHostname(), ID: fmt.Sprintf("%x", m.GetId()), PeerURLs: m.GetPeerUrls()})
		}
	}, err
}

func (g *gatherer) time(ctx context.Context, server string) (func(*Facts), error) {
	_, err := g.Time(ctx, server)

	failure := ""

	switch status.Code(err) { // other codes are failures of the time server
	case codes.Unimplemented, codes.PermissionDenied:
		return func(*Facts) {}, err
	case codes.OK:
	default:
		failure, _ = client.Explain(err)
		failure = strings.TrimPrefix(failure, "time of "+server+": ")
	}

	return func(f *Facts) { f.Clock[server] = failure }, nil
}
