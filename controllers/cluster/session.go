// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"log/slog"
	"maps"
	"net/netip"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/seed-59268b81/talos/cosi/guard"
	"github.com/seed-59268b81/talos/discovery/client"
	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/resources/cluster"
	"github.com/seed-59268b81/talos/sys/outbound"
	"github.com/seed-59268b81/talos/version"
)

// farewell is how long a session goes on to have its source forget this machine.
const farewell = 5 * time.Second

// sessionAgain is the pause before a session that failed is opened again.
const sessionAgain = 10 * time.Second

// identity is who this machine is at a source.
type identity struct {
	source
	cluster, own, key string
}

// session is an open Session.
type session struct {
	Session
	who identity
	// published is what was published last.
	published *client.Local
	cancel    context.CancelFunc
	// done is closed when Run has returned.
	done <-chan error
	// failed is why, and since when, the session does not run.
	failed error
	since  time.Time
}

// connect opens and closes sessions, so that there is one for each source. It returns when one that failed is to be opened again.
func (c *discovery) connect(ctx context.Context, f facts, log *slog.Logger, now time.Time) (again time.Time) {
	wanted := map[string]identity{}
	for _, s := range f.sources {
		wanted[s.name] = identity{s, f.settings.ServiceClusterID, f.own, string(f.settings.ServiceEncryptionKey)}
	}

	for name, s := range c.sessions {
		who, ok := wanted[name]

		// Why the machine knows the source makes no difference to the source.
		if same := s.who; ok {
			same.kind = who.kind
			if s.who.kind = who.kind; same == who {
				continue
			}
		}

		// The session that follows may be with the same service, which would be told to forget what that one has announced.
		grace := farewell
		if ok || servedBy(wanted, s.who) {
			grace = 0
		}

		s.close(grace)
		delete(c.sessions, name)
	}

	for name, who := range wanted {
		s := c.sessions[name]

		if s != nil && s.failed == nil {
			select {
			case err := <-s.done:
				s.cancel()
				s.failed, s.since = errors.Join(errors.New("the session ended"), err), now
				log.Error("a session with a discovery source failed", "source", name, "error", s.failed)
			default:
			}
		}

		if s == nil || s.failed != nil && now.Sub(s.since) >= sessionAgain {
			c.sessions[name] = c.open(ctx, who, log)
		} else if s.failed != nil {
			again = s.since.Add(sessionAgain)
		}
	}

	return again
}

// servedBy reports whether one of the sources is the same service.
func servedBy(wanted map[string]identity, was identity) bool {
	for _, who := range wanted {
		if who.endpoint == was.endpoint {
			return true
		}
	}

	return false
}

func (c *discovery) open(ctx context.Context, who identity, log *slog.Logger) *session {
	options := client.Options{
		Name: who.name, Endpoint: who.endpoint, Insecure: who.insecure, ClusterID: who.cluster, AffiliateID: who.own, Key: []byte(who.key),
		ClientVersion: version.Tag, Prove: who.carried,
	}

	if who.carried {
		options.Dialer = c.dialCarrier
		options.TLS = func() *tls.Config { return &tls.Config{MinVersion: tls.VersionTLS13, RootCAs: c.roots.Load()} }
	} else {
		options.Dialer = outbound.Connect
		options.TLS = func() *tls.Config {
			roots, err := outbound.Roots(layout.CABundle)
			if err != nil {
				log.Error("no discovery service is trusted", "error", err)

				roots = x509.NewCertPool()
			}

			return &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots}
		}
	}

	s := &session{Session: c.deps.Open(options, log), who: who}
	ctx, s.cancel = context.WithCancel(ctx)
	s.done = guard.GoThen(func() error { return s.Run(ctx) }, c.notify)

	guard.Detach(log, "discovery source", func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-s.Changed():
				c.notify()
			}
		}
	})

	return s
}

// notify wakes the controller.
func (c *discovery) notify() {
	select {
	case c.changed <- struct{}{}:
	default:
	}
}

// closeAll closes all sessions; see close.
func (c *discovery) closeAll(grace time.Duration) {
	for name, s := range c.sessions {
		s.close(grace)
		delete(c.sessions, name)
	}
}

// close ends a session. With a grace period the source is told to forget this machine, and the session ends later.
func (s *session) close(grace time.Duration) {
	if grace == 0 || s.failed != nil {
		s.cancel()

		if s.failed == nil {
			<-s.done
		}

		return
	}

	s.SetWatch(false)
	s.Publish(nil)
	time.AfterFunc(grace, s.cancel)
}

// publish publishes what is not published already.
func (s *session) publish(l *client.Local) {
	if !sameLocal(l, s.published) {
		s.published = l
		s.Publish(l)
	}
}

func sameLocal(a, b *client.Local) bool {
	if a == nil || b == nil {
		return a == b
	}

	// A message that was encoded has internal state that one which was not has not.
	return a.Revision == b.Revision && proto.Equal(a.Affiliate, b.Affiliate) && slices.Equal(a.Endpoints, b.Endpoints) &&
		maps.EqualFunc(a.Others, b.Others, slices.Equal[[]netip.AddrPort])
}

// answers reports whether the source answers, and works whether it also takes what this machine announces.
func (s *session) answers() (answers, works bool) {
	v := s.View()
	answers = s.failed == nil && v.State != client.StateConnecting

	return answers, answers && v.Err == nil
}

// status returns the resource of the source.
func (s *session) status() cluster.DiscoverySourceSpec {
	v := s.View()

	spec := cluster.DiscoverySourceSpec{
		Kind: s.who.kind, Endpoint: s.who.endpoint, State: v.State, Members: len(v.Affiliates), Rejected: v.Rejected,
		LastContact: v.LastContact, Error: errorText(v.Err), PublicIP: v.PublicIP,
	}

	if s.failed != nil {
		spec.State, spec.Error = client.StateConnecting, errorText(s.failed)
	}

	return spec
}
