// SPDX-License-Identifier: Apache-2.0

package carrier

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"runtime/debug"
	"sync/atomic"

	"golang.org/x/time/rate"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/discovery/extension"
	"github.com/seed-59268b81/talos/discovery/registry"
	"github.com/seed-59268b81/talos/discovery/server"
	"github.com/seed-59268b81/talos/pki"
)

// Carrier is the service with the view that decides who may use it.
type Carrier struct {
	log     *slog.Logger
	service *server.Server
	view    atomic.Pointer[View]
	door    *door
	// refusals limits the log of refused calls.
	refusals *rate.Limiter
}

// New returns a service that refuses all connections until it has a view.
func New(log *slog.Logger) *Carrier {
	c := &Carrier{log: log, door: newDoor(), refusals: rate.NewLimiter(1, 20)}
	c.service = server.New(server.Options{Limits: registry.ProvedLimits, Admit: c.admit}, log)

	return c
}

// SetView replaces the view. Open connections stay open; their next calls are checked against the new view.
func (c *Carrier) SetView(v *View) { c.view.Store(v) }

// Serve serves on a listener until the context ends.
func (c *Carrier) Serve(ctx context.Context, l net.Listener) error {
	secure := credentials.NewTLS(pki.Serving(func() (*tls.Certificate, error) { return c.view.Load().certificate() }))

	g := grpc.NewServer(append(server.ServerOptions(),
		grpc.Creds(admission{TransportCredentials: secure, door: c.door}),
		grpc.ChainUnaryInterceptor(c.recovered), grpc.ChainStreamInterceptor(c.recoveredStream),
		grpc.MaxConcurrentStreams(16),
	)...)
	c.service.Register(g)

	return c.service.With(ctx, func() error {
		stop := context.AfterFunc(ctx, g.Stop)
		defer stop()

		if err := g.Serve(l); err != nil && ctx.Err() == nil {
			return fmt.Errorf("serve %s: %w", l.Addr(), err)
		}

		return nil
	})
}

// admit lets a caller use its cluster if it proves that it knows the secret.
func (c *Carrier) admit(ctx context.Context, cluster string) error {
	view := c.view.Load()

	p, ok := peer.FromContext(ctx)
	if !ok || view == nil {
		return status.Error(codes.Unavailable, errNotReady.Error())
	}

	info, ok := p.AuthInfo.(*identity)
	if !ok {
		return status.Error(codes.Unauthenticated, "the connection has no TLS")
	}

	md, _ := metadata.FromIncomingContext(ctx)
	proofs := md.Get(extension.KeyProof)

	if cluster != view.Cluster || len(proofs) != 1 || !view.Prover.Proved(&info.State, cluster, []byte(proofs[0])) {
		if c.refusals.Allow() {
			c.log.Warn("refused", "peer", p.Addr, "reason", "the caller has not proved that it knows the secret of this cluster")
		}

		return status.Error(codes.Unauthenticated, "want a proof of this cluster's secret")
	}

	info.stranger.known()

	return nil
}

func (c *Carrier) panicked(method string, err *error) {
	if p := recover(); p != nil {
		c.log.Error("call panicked", "method", method, "panic", p, "stack", string(debug.Stack()))

		*err = status.Error(codes.Internal, "the call failed in the server (its log has the details)")
	}
}

func (c *Carrier) recovered(ctx context.Context, in any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (out any, err error) {
	defer c.panicked(info.FullMethod, &err)

	return next(ctx, in)
}

func (c *Carrier) recoveredStream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) (err error) {
	defer c.panicked(info.FullMethod, &err)

	return next(srv, stream)
}
