// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"crypto/rand"
	"log/slog"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	serverapi "github.com/seed-59268b81/talos/api/discovery/server"
	"github.com/seed-59268b81/talos/cosi/guard"
	"github.com/seed-59268b81/talos/discovery/extension"
	"github.com/seed-59268b81/talos/discovery/registry"
)

// Options of a service. The zero Options are those of an open service that any cluster may use.
type Options struct {
	// Limits of each cluster; zero: registry.OpenLimits.
	Limits registry.Limits
	// MaxAffiliates of all clusters together, and as many again that were removed in the last minutes; zero: no limit.
	MaxAffiliates int
	// Rate and Burst limit the calls of a caller without a proof; zero: DefaultRate and DefaultBurst.
	Rate  float64
	Burst int
	// Watches is how many such a caller may have at once; zero: DefaultWatches.
	Watches int
	// Redirect is where clients are sent to instead.
	Redirect string
	// Trust says which headers of which peers say where a call comes from.
	Trust Trust
	// Admit decides whether a caller may use a cluster. Without it, any caller may. Callers that it has decided on have no rate limit.
	Admit func(ctx context.Context, cluster string) error
	// Interval is how often what has expired is removed; zero: each second. In between, it is removed when its cluster is used.
	Interval time.Duration
	// ClientVersion is told about the version of each client that says hello.
	ClientVersion func(version string)
}

// Server is a discovery service.
type Server struct {
	serverapi.UnimplementedClusterServer

	options Options
	log     *slog.Logger
	limiter *limiter
	boot    extension.Boot
	started time.Time

	clusters clusters
	closing  chan struct{}
	close    func()
	watches  atomic.Int64
}

// New returns a service without members. Run keeps it tidy.
func New(o Options, log *slog.Logger) *Server {
	if o.Limits == (registry.Limits{}) {
		o.Limits = registry.OpenLimits
	}

	s := &Server{options: o, log: log, limiter: newLimiter(o.Rate, o.Burst, o.Watches), started: time.Now(), closing: make(chan struct{})}
	s.close = sync.OnceFunc(func() { close(s.closing) })
	s.clusters.limits = o.Limits
	s.clusters.of = map[string]*cluster{}

	rand.Read(s.boot[:]) // it never fails

	return s
}

// ServerOptions are the options of a gRPC server for this service.
func ServerOptions() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.ForceServerCodecV2(extension.Codec{}),
		// A watcher costs its buffers, and is silent nearly always.
		grpc.ReadBufferSize(2 << 10), grpc.WriteBufferSize(8 << 10), grpc.SharedWriteBuffer(true),
		// Without a window that is estimated: requests are small.
		grpc.InitialWindowSize(64 << 10), grpc.InitialConnWindowSize(64 << 10),
		grpc.MaxRecvMsgSize(64 << 10), grpc.MaxHeaderListSize(32 << 10),
		grpc.ConnectionTimeout(10 * time.Second),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 10 * time.Second, PermitWithoutStream: true}),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: time.Minute, Timeout: 20 * time.Second}),
	}
}

// Register adds the service to a gRPC server that was made with ServerOptions.
func (s *Server) Register(g grpc.ServiceRegistrar) { serverapi.RegisterClusterServer(g, s) }

// Run removes what has expired, until the context ends. Then all watches end.
func (s *Server) Run(ctx context.Context) {
	defer s.close()

	interval := s.options.Interval
	if interval <= 0 {
		interval = time.Second
	}

	tick := time.NewTicker(interval)
	defer tick.Stop()

	for forgotten := time.Now(); ; {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			forget := now.Sub(forgotten) >= forgetInterval
			s.clusters.sweep(now, forget)

			if forget {
				forgotten = now

				s.limiter.sweep(now)
			}
		}
	}
}

// forgetInterval is how often removals, caches and accounts of callers are dropped that no one needs any more.
const forgetInterval = 10 * time.Second

// Wait waits until a caller at this address may make a call, as calls of the service do.
func (s *Server) Wait(ctx context.Context, addr netip.Addr) error {
	return s.limiter.wait(ctx, addr, 1)
}

// Changes returns how many changes of members there were since the start, by which a snapshot knows that it is old.
func (s *Server) Changes() int64 { return s.clusters.changes.Load() }

// young returns for how long a living member may still be missing.
func (s *Server) young(now time.Time) time.Duration { return s.started.Add(maxTTL).Sub(now) }

// Hello implements the service.
func (s *Server) Hello(ctx context.Context, in *serverapi.HelloRequest) (*serverapi.HelloResponse, error) {
	if s.options.ClientVersion != nil {
		s.options.ClientVersion(in.GetClientVersion())
	}

	if err := checkCluster(in.GetClusterId()); err != nil {
		return nil, err
	}

	if err := s.admit(ctx, in.GetClusterId()); err != nil {
		return nil, err
	}

	if err := grpc.SetHeader(ctx, metadata.Pairs(extension.KeyBoot, s.boot.String())); err != nil {
		return nil, err
	}

	if s.options.Redirect != "" {
		return &serverapi.HelloResponse{Redirect: &serverapi.RedirectMessage{Endpoint: s.options.Redirect}}, nil
	}

	out := &serverapi.HelloResponse{}
	if addr := s.options.Trust.caller(ctx); addr.IsValid() {
		out.ClientIp, _ = addr.MarshalBinary() // it never fails
	}

	return out, nil
}

// AffiliateUpdate implements the service.
func (s *Server) AffiliateUpdate(ctx context.Context, in *serverapi.AffiliateUpdateRequest) (*serverapi.AffiliateUpdateResponse, error) {
	if err := checkUpdate(in); err != nil {
		return nil, err
	}

	if err := s.admit(ctx, in.GetClusterId()); err != nil {
		return nil, err
	}

	now := time.Now()

	c, done := s.clusters.hold(in.GetClusterId())
	defer done()

	if s.full() && !c.has(in.GetAffiliateId()) {
		return nil, status.Error(codes.ResourceExhausted, "too many affiliates in this discovery service")
	}

	err := c.update(now, in)
	if err != nil {
		return nil, status.Error(codes.ResourceExhausted, err.Error())
	}

	return &serverapi.AffiliateUpdateResponse{}, nil
}

// full reports whether there is no room for another member.
func (s *Server) full() bool {
	limit := int64(s.options.MaxAffiliates)

	return limit > 0 && (s.clusters.total.Load() >= limit || s.clusters.entries.Load() >= 2*limit)
}

// AffiliateDelete implements the service.
func (s *Server) AffiliateDelete(ctx context.Context, in *serverapi.AffiliateDeleteRequest) (*serverapi.AffiliateDeleteResponse, error) {
	if err := checkCluster(in.GetClusterId()); err != nil {
		return nil, err
	}

	if err := checkAffiliate(in.GetAffiliateId()); err != nil {
		return nil, err
	}

	if err := s.admit(ctx, in.GetClusterId()); err != nil {
		return nil, err
	}

	c, done := s.clusters.hold(in.GetClusterId())
	defer done()

	c.delete(time.Now(), in.GetAffiliateId())

	return &serverapi.AffiliateDeleteResponse{}, nil
}

// List implements the service.
func (s *Server) List(ctx context.Context, in *serverapi.ListRequest) (*serverapi.ListResponse, error) {
	if err := checkCluster(in.GetClusterId()); err != nil {
		return nil, err
	}

	if err := s.admit(ctx, in.GetClusterId()); err != nil {
		return nil, err
	}

	out, size := &serverapi.ListResponse{}, 0

	for _, m := range s.Members(in.GetClusterId()) {
		a := &serverapi.Affiliate{Id: m.ID, Data: m.Data}
		size += len(m.ID) + len(m.Data) + len(m.Endpoints)*maxEndpoint

		for _, e := range m.Endpoints {
			a.Endpoints = append(a.Endpoints, []byte(e.Data))
		}

		out.Affiliates = append(out.Affiliates, a)
	}

	if addr := s.options.Trust.caller(ctx); s.options.Admit == nil && addr.IsValid() && size >= bytesPerCall {
		return out, s.limiter.wait(ctx, addr, size/bytesPerCall)
	}

	return out, nil
}

// admit enforces the rate limit and decides about the caller.
func (s *Server) admit(ctx context.Context, cluster string) error {
	if s.options.Admit != nil {
		return s.options.Admit(ctx, cluster)
	}

	addr := s.options.Trust.caller(ctx)
	if !addr.IsValid() {
		return nil
	}

	return s.limiter.wait(ctx, addr, 1)
}

// Members returns the members of a cluster.
func (s *Server) Members(id string) []registry.Member {
	c, done := s.clusters.find(id)
	if c == nil {
		return nil
	}
	defer done()

	c.mu.Lock()
	defer c.mu.Unlock()

	now := time.Now()

	return c.present(now).All(now)
}

// Affiliates returns how many members there are in all clusters.
func (s *Server) Affiliates() int64 { return s.clusters.total.Load() }

// Counts are what the service holds.
type Counts struct {
	Clusters, Affiliates, Endpoints, Watches int
	// Sweeps, and what they have removed, since the start.
	Sweeps, RemovedClusters, RemovedAffiliates int64
}

// Counts returns what the service holds.
func (s *Server) Counts() Counts {
	n := s.clusters.counts()
	n.Watches = int(s.watches.Load())

	return n
}

// With runs the service beside f, and ends it when f ends.
func (s *Server) With(ctx context.Context, f func() error) error {
	ctx, cancel := context.WithCancel(ctx)
	ended := guard.Go(func() error { s.Run(ctx); return nil })

	err := f()

	cancel()
	<-ended

	return err
}
