// SPDX-License-Identifier: Apache-2.0

package trustd

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
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

	"github.com/seed-59268b81/talos/api/contract"
	securityapi "github.com/seed-59268b81/talos/api/security"
	"github.com/seed-59268b81/talos/pki"
)

// maxSigning is how many requests the signer handles at once.
const maxSigning = 4

// Server is the public signing service. It enforces limits and passes requests on to the signer.
type Server struct {
	securityapi.UnimplementedSecurityServiceServer

	// sign calls the signer.
	sign  func(ctx context.Context, in *securityapi.CertificateRequest) (*securityapi.CertificateResponse, error)
	log   *slog.Logger
	view  atomic.Pointer[View]
	limit *limiter
	// busy holds a token for each request at the signer.
	busy chan struct{}
	// refusals limits the log of refused requests.
	refusals *rate.Limiter
}

// NewServer returns a server that refuses all connections until it has a view.
func NewServer(log *slog.Logger, signer securityapi.SecurityServiceClient) *Server {
	return &Server{
		log: log, limit: newLimiter(), busy: make(chan struct{}, maxSigning), refusals: rate.NewLimiter(1, 20),
		sign: func(ctx context.Context, in *securityapi.CertificateRequest) (*securityapi.CertificateResponse, error) {
			return signer.Certificate(ctx, in)
		},
	}
}

// SetView replaces the view. Open connections stay open.
func (s *Server) SetView(v *View) { s.view.Store(v) }

// Serve serves on a listener until the context ends.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	g := grpc.NewServer(
		// Callers show no certificate: they request one.
		grpc.Creds(credentials.NewTLS(pki.Serving(func() (*tls.Certificate, error) { return s.view.Load().certificate() }))),
		grpc.UnaryInterceptor(s.recovered),
		// Silent and slow connections are closed, and no client needs one for long.
		grpc.ConnectionTimeout(5*time.Second),
		grpc.KeepaliveParams(keepalive.ServerParameters{
			MaxConnectionIdle: 30 * time.Second, MaxConnectionAge: time.Minute, MaxConnectionAgeGrace: 10 * time.Second,
			Time: 20 * time.Second, Timeout: 10 * time.Second,
		}),
		grpc.MaxConcurrentStreams(4),
		grpc.MaxHeaderListSize(8<<10),
		// gRPC refuses larger requests. Smaller ones get our own error.
		grpc.MaxRecvMsgSize(4*maxRequest),
		grpc.ReadBufferSize(4<<10), grpc.WriteBufferSize(4<<10),
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

	// Before any costly step, and before the token, which must not be guessed.
	if !s.limit.allow(from, time.Now()) {
		return nil, s.refuse(p, codes.ResourceExhausted, "too many requests from %s: try again in some seconds", from)
	}

	if n := len(in.GetCsr()); n > maxRequest {
		return nil, s.refuse(p, codes.InvalidArgument, "the signing request has %d bytes, want at most %d", n, maxRequest)
	}

	// Strangers can use only a little of process 1 at once.
	select {
	case s.busy <- struct{}{}:
		defer func() { <-s.busy }()
	case <-ctx.Done():
		return nil, status.FromContextError(ctx.Err()).Err()
	}

	answer, err := s.sign(s.passOn(ctx, from), in)
	if err != nil {
		return nil, s.refuse(p, status.Code(err), "%s", status.Convert(err).Message())
	}

	s.log.Info("signed", "peer", p.Addr)

	return answer, nil
}

// passOn returns the context for the call to the signer: token and address of the caller.
func (s *Server) passOn(ctx context.Context, from netip.Addr) context.Context {
	incoming, _ := metadata.FromIncomingContext(ctx)
	md := metadata.MD{contract.KeyToken: incoming.Get(contract.KeyToken), keyAddress: {from.String()}}

	return metadata.NewOutgoingContext(ctx, md)
}

// refuse returns the error, and logs it within the limit.
func (s *Server) refuse(p *peer.Peer, code codes.Code, format string, args ...any) error {
	err := status.Errorf(code, format, args...)

	if s.refusals.Allow() {
		s.log.Warn("refused", "peer", p.Addr, "code", code, "reason", status.Convert(err).Message())
	}

	return err
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
