// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	serverapi "github.com/seed-59268b81/talos/api/discovery/server"
	"github.com/seed-59268b81/talos/cosi/guard"
	"github.com/seed-59268b81/talos/discovery/extension"
	"github.com/seed-59268b81/talos/discovery/seal"
)

const (
	helloTimeout   = 10 * time.Second
	publishTimeout = 30 * time.Second
	// watchTimeout is how long a source may be silent before it has told what it knows: a service of ours waits up to 8 seconds.
	watchTimeout = 30 * time.Second
	// watchAgain is how long it is an error that a source cannot be watched.
	watchAgain = 10 * time.Minute
	// keepaliveTime is how long a silent connection is trusted. Services refuse less than 10 seconds.
	keepaliveTime    = 30 * time.Second
	keepaliveTimeout = 10 * time.Second
	// maxMessage is the largest message of a service: 5,000 members of the largest size do not exceed it.
	maxMessage = 32 << 20
	// otherDelay is between the endpoints of two other affiliates: services limit the rate of calls.
	otherDelay = 100 * time.Millisecond
	// window is how much a service may send ahead. gRPC would estimate it, with a ping for nearly each message.
	window = 1 << 20
)

// dial returns a connection that is made at the first call.
func (s *Session) dial(endpoint string) (*grpc.ClientConn, error) {
	o := &s.options

	dialer := o.Dialer
	if dialer == nil {
		dialer = func(ctx context.Context, address string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", address)
		}
	}

	options := []grpc.DialOption{
		grpc.WithContextDialer(dialer),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage), grpc.ForceCodecV2(extension.Codec{})),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: keepaliveTime, Timeout: keepaliveTimeout, PermitWithoutStream: true}),
		grpc.WithReadBufferSize(4 << 10), grpc.WithWriteBufferSize(4 << 10), grpc.WithSharedWriteBuffer(true),
		grpc.WithInitialWindowSize(window), grpc.WithInitialConnWindowSize(window),
		grpc.WithIdleTimeout(0), grpc.WithDisableServiceConfig(),
	}

	if o.Insecure {
		options = append(options, grpc.WithTransportCredentials(insecure.NewCredentials()))
	} else {
		config := &tls.Config{MinVersion: tls.VersionTLS12}
		if o.TLS != nil {
			if own := o.TLS(); own != nil {
				config = own
			}
		}

		options = append(options, grpc.WithTransportCredentials(credentials.NewTLS(config)))
	}

	if o.Prove {
		options = append(options, grpc.WithPerRPCCredentials(&prover{prover: seal.NewProver(seal.ProofKey(o.Key)), cluster: o.ClusterID}))
	}

	return grpc.NewClient("passthrough:///"+endpoint, options...)
}

// connection makes one connection and uses it until it fails. It reports whether this machine was published.
func (s *Session) connection(ctx context.Context, endpoint string) (published bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	conn, err := s.dial(endpoint)
	if err != nil {
		return false, err
	}
	defer conn.Close()

	api := serverapi.NewClusterClient(conn)

	if err := s.hello(ctx, api); err != nil {
		return false, err
	}

	s.use(api)
	defer s.use(nil)

	p := publisher{session: s, api: api}
	if err := p.publish(ctx); err != nil {
		return false, err
	}

	var group guard.Group
	defer group.Wait()
	defer cancel()

	broken := make(chan error, 3)

	start := func(f func(ctx context.Context) error) (stop func()) {
		ctx, cancel := context.WithCancel(ctx)
		ended := make(chan struct{})

		group.Go(func() error {
			defer close(ended)

			err := guard.Call(func() error { return f(ctx) })
			if ctx.Err() == nil {
				broken <- err
			}

			return nil
		})

		return func() { cancel(); <-ended }
	}

	start(func(ctx context.Context) error { return lost(ctx, conn) })

	var (
		stopWatch func()
		following int
	)

	for {
		_, _, watch := s.wants()

		if watch != following && stopWatch != nil {
			stopWatch()

			stopWatch = nil

			s.contact(StatePublishing)
		}

		if following = watch; watch != 0 && stopWatch == nil {
			stopWatch = start(func(ctx context.Context) error { return s.follow(ctx, conn) })
		}

		again := time.NewTimer(p.next())

		select {
		case <-ctx.Done():
			again.Stop()

			return true, ctx.Err()
		case err := <-broken:
			again.Stop()

			return true, err
		case <-s.wake:
		case <-again.C:
		}

		again.Stop()

		if err := p.publish(ctx); err != nil {
			return true, err
		}
	}
}

// use notes the calls of a connection.
func (s *Session) use(api serverapi.ClusterClient) {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.api = api
}

// lost returns when the connection was lost. A call would find that out only at the next refresh.
func lost(ctx context.Context, conn *grpc.ClientConn) error {
	for {
		state := conn.GetState()
		if state != connectivity.Ready {
			return errors.New("the connection was lost")
		}

		if !conn.WaitForStateChange(ctx, state) {
			return ctx.Err()
		}
	}
}

// hello makes the first call.
func (s *Session) hello(ctx context.Context, api serverapi.ClusterClient) error {
	ctx, cancel := context.WithTimeout(ctx, helloTimeout)
	defer cancel()

	var md metadata.MD

	in := &serverapi.HelloRequest{ClusterId: s.options.ClusterID, ClientVersion: s.options.ClientVersion}

	answer, err := api.Hello(ctx, in, grpc.Header(&md))
	if err != nil {
		return fmt.Errorf("hello: %w", err)
	}

	if r := answer.GetRedirect(); r.GetEndpoint() != "" {
		return &redirected{to: r.GetEndpoint()}
	}

	addr, _ := netip.AddrFromSlice(answer.GetClientIp()) // a service may say nothing

	s.mu.Lock()
	defer s.mu.Unlock()

	s.ours = len(md.Get(extension.KeyBoot)) > 0

	if addr = addr.Unmap(); s.status.PublicIP != addr {
		s.status.PublicIP = addr
		s.touch()
	}

	return nil
}

// publisher publishes over one connection.
type publisher struct {
	session *Session
	api     serverapi.ClusterClient

	// sent is what the source has, if done.
	done bool
	sent *sealed
	// refresh is when it is sent again, and refused whether the source has refused it.
	refresh time.Time
	refused bool
}

// next returns the time until the next refresh.
func (p *publisher) next() time.Duration { return time.Until(p.refresh) }

// publish sends what this machine publishes, if the source does not have it or it is time for a refresh. It returns an error when the
// connection cannot be used any more.
func (p *publisher) publish(ctx context.Context) error {
	published, local, watch := p.session.wants()
	now := time.Now()

	if p.done && p.sent == local && now.Before(p.refresh) {
		return nil
	}

	ttl := p.session.options.TTL
	// Somewhat before half of the TTL, and not all machines at once.
	p.refresh = now.Add(ttl*2/5 + rand.N(ttl/10+1))

	if !published {
		p.done, p.sent = true, nil
		p.session.contact(stateOf(watch, p.session))

		return nil
	}

	ctx, cancel := context.WithTimeout(ctx, publishTimeout)
	defer cancel()

	err := p.send(ctx, local)

	switch status.Code(err) {
	case codes.OK:
		p.done, p.sent, p.refused = true, local, false
		p.session.contact(stateOf(watch, p.session))
	case codes.InvalidArgument, codes.ResourceExhausted:
		// The others can be watched nevertheless.
		p.done, p.sent, p.refused = true, local, true
		p.refresh = now.Add(min(ttl/4, time.Minute)/2 + rand.N(min(ttl/4, time.Minute)+1))
		p.session.fail(stateOf(watch, p.session), fmt.Errorf("discovery source %s: publish: %w", p.session.options.Name, err))
	default:
		return fmt.Errorf("publish: %w", err)
	}

	return nil
}

// stateOf returns the state of a connection that works.
func stateOf(watch int, s *Session) string {
	s.mu.Lock()
	defer s.mu.Unlock()

	if watch != 0 && s.status.State == StateWatching {
		return StateWatching
	}

	return StatePublishing
}

func (p *publisher) send(ctx context.Context, local *sealed) error {
	o := &p.session.options

	if local == nil {
		_, err := p.api.AffiliateDelete(ctx, &serverapi.AffiliateDeleteRequest{ClusterId: o.ClusterID, AffiliateId: o.AffiliateID})

		return err
	}

	ttl := durationpb.New(o.TTL)

	if _, err := p.api.AffiliateUpdate(ctx, &serverapi.AffiliateUpdateRequest{
		ClusterId: o.ClusterID, AffiliateId: o.AffiliateID, AffiliateData: local.data, AffiliateEndpoints: local.endpoints, Ttl: ttl,
	}); err != nil {
		return err
	}

	for i, other := range local.others {
		if i > 0 && !o.Prove {
			select {
			case <-ctx.Done():
				return nil // the rest has time until the next refresh
			case <-time.After(otherDelay):
			}
		}

		if _, err := p.api.AffiliateUpdate(ctx, &serverapi.AffiliateUpdateRequest{
			ClusterId: o.ClusterID, AffiliateId: other.id, AffiliateEndpoints: other.endpoints, Ttl: ttl,
		}); err != nil && status.Code(err) != codes.ResourceExhausted {
			return err
		}
	}

	return nil
}
