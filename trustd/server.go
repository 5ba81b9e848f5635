// SPDX-License-Identifier: Apache-2.0

package trustd

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"runtime/debug"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	securityapi "github.com/seed-59268b81/talos/api/security"
	"github.com/seed-59268b81/talos/pki"
)

// Server implements the signing service.
type Server struct {
	securityapi.UnimplementedSecurityServiceServer

	// Lifetime of what is signed for a Node of the cluster, and for a machine that is none yet.
	Lifetime, FirstLifetime time.Duration

	log   *slog.Logger
	view  atomic.Pointer[View]
	limit *limiter
	// claims are what nodes have.
	claims *claims
	// refusals are logged only so often.
	refusals *rate.Limiter
}

// NewServer returns a server that refuses all until it has a view.
func NewServer(log *slog.Logger) *Server {
	return &Server{Lifetime: Lifetime, FirstLifetime: FirstLifetime, log: log, limit: newLimiter(), claims: newClaims(), refusals: rate.NewLimiter(1, 20)}
}

// SetView replaces what the server knows. Connections that are open stay so.
func (s *Server) SetView(v *View) { s.view.Store(v) }

// Serve answers on a listener until the context ends.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	g := grpc.NewServer(
		grpc.Creds(credentials.NewTLS(&tls.Config{
			MinVersion:         tls.VersionTLS13,
			NextProtos:         []string{"h2"},
			GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return s.view.Load().tls() },
		})),
		grpc.UnaryInterceptor(s.recovered),
		// Whoever connects and says nothing, or says it slowly, is let go; nobody has to stay for long.
		grpc.ConnectionTimeout(5*time.Second),
		grpc.KeepaliveParams(keepalive.ServerParameters{
			MaxConnectionIdle: 30 * time.Second, MaxConnectionAge: time.Minute, MaxConnectionAgeGrace: 10 * time.Second,
			Time: 20 * time.Second, Timeout: 10 * time.Second,
		}),
		grpc.MaxConcurrentStreams(4),
		grpc.MaxHeaderListSize(8<<10),
		// A larger request is the gRPC library's to refuse; up to that the reason is ours.
		grpc.MaxRecvMsgSize(4*maxRequest),
		grpc.ReadBufferSize(4<<10), grpc.WriteBufferSize(4<<10), grpc.SharedWriteBuffer(true),
	)
	securityapi.RegisterSecurityServiceServer(g, s)

	stop := context.AfterFunc(ctx, g.Stop)
	defer stop()

	if err := g.Serve(bounded(l, maxConnections, maxConnectionsEach)); err != nil && ctx.Err() == nil {
		return fmt.Errorf("serve %s: %w", l.Addr(), err)
	}

	return nil
}

// Certificate implements the service.
func (s *Server) Certificate(ctx context.Context, in *securityapi.CertificateRequest) (*securityapi.CertificateResponse, error) {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return nil, status.Error(codes.PermissionDenied, "the call has no peer")
	}

	from := addrOf(p.Addr)

	// Before anything that costs, and before the token, which is not to be guessed at.
	if !s.limit.allow(from, time.Now()) {
		return nil, s.refuse(p, codes.ResourceExhausted, "too many requests from %s: try again in some seconds", from)
	}

	view := s.view.Load()
	if view == nil {
		return nil, status.Error(codes.Unavailable, errNotReady.Error())
	}

	if err := view.authorize(ctx); err != nil {
		return nil, s.refuse(p, codes.Unauthenticated, "%v", err)
	}

	request, err := ParseRequest(in.GetCsr())
	if err != nil {
		return nil, s.refuse(p, codes.InvalidArgument, "%v", err)
	}

	granted, left, err := request.Grant(from, view.Reserved)
	if err != nil {
		return nil, s.refuse(p, codes.PermissionDenied, "%v", err)
	}

	granted, others, confirmed := view.Nodes.own(granted, from, view.Reserved.Addresses[from.Unmap().WithZone("")])
	left = append(left, others...)

	life := s.FirstLifetime
	if len(confirmed) > 0 {
		life = s.Lifetime
	}

	granted, others = s.claims.take(granted, from, confirmed, time.Now(), life)
	left = append(left, others...)

	crt, err := view.CA.SignPublicKey(granted.Key, pki.LeafOptions{
		CommonName: granted.CommonName, DNSNames: granted.DNSNames, IPs: granted.Addresses, Server: true, TTL: life,
	})
	if err != nil {
		s.log.Error("a certificate could not be signed", "peer", p.Addr, "error", err)

		return nil, status.Errorf(codes.Internal, "sign: %v", err)
	}

	s.log.Info("signed", "peer", p.Addr, "name", granted.CommonName, "names", granted.DNSNames, "addresses", granted.Addresses, "left out", left)

	return &securityapi.CertificateResponse{Ca: view.Bundle, Crt: crt}, nil
}

// refuse returns the error, and logs it unless there was too much of that lately.
func (s *Server) refuse(p *peer.Peer, code codes.Code, format string, args ...any) error {
	err := status.Errorf(code, format, args...)

	if s.refusals.Allow() {
		s.log.Warn("refused", "peer", p.Addr, "code", code, "reason", status.Convert(err).Message())
	}

	return err
}

// authorize compares the token that a call carries with the machine's. Both are hashed first, so that not even the
// length of the machine's shows in the time that it takes.
func (v *View) authorize(ctx context.Context) error {
	md, _ := metadata.FromIncomingContext(ctx)

	tokens := md.Get(keyToken)
	if len(tokens) != 1 {
		return fmt.Errorf("the call carries %d machine tokens, want one, in metadata %q", len(tokens), keyToken)
	}

	got, want := sha256.Sum256([]byte(tokens[0])), sha256.Sum256([]byte(v.Token))
	if subtle.ConstantTimeCompare(got[:], want[:]) != 1 || v.Token == "" {
		return errToken
	}

	return nil
}

func (s *Server) recovered(ctx context.Context, in any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (out any, err error) {
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("call panicked", "method", info.FullMethod, "panic", p, "stack", string(debug.Stack()))

			err = status.Error(codes.Internal, "the call failed in the server (its log has the details)")
		}
	}()

	return next(ctx, in)
}
