// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"time"

	clientapi "github.com/seed-59268b81/talos/api/discovery/client"
	serverapi "github.com/seed-59268b81/talos/api/discovery/server"
	"github.com/seed-59268b81/talos/discovery/extension"
	"github.com/seed-59268b81/talos/discovery/seal"
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

// Local is what this machine publishes. It must not be changed after it was published.
type Local struct {
	Affiliate *clientapi.Affiliate
	Endpoints []netip.AddrPort
	// Revision orders what this machine publishes to several sources. It travels in a field that other clients ignore.
	Revision uint64
	// Others are endpoints of other affiliates, as this machine has found them, by affiliate id.
	Others map[string][]netip.AddrPort
}

// Affiliate is what another machine has published.
type Affiliate struct {
	ID        string
	Affiliate *clientapi.Affiliate
	Endpoints []netip.AddrPort
	// Revision is 0 if the other machine sends none.
	Revision uint64
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
	// Err is why the last connection ended, or what the source refuses. It is nil while all is well.
	Err error
	// LastContact is when the source was last heard of.
	LastContact time.Time
	// PublicIP is the address that the source sees this machine at, if it says so.
	PublicIP netip.Addr
	// Complete reports whether everything that the source has was received since the connection was made, so that an affiliate
	// that is absent is gone.
	Complete bool
	// Young reports whether the source has started less than a TTL ago, so that a living affiliate that this session has never
	// seen may be absent although the view is complete.
	Young bool
	// Affiliates are the others, by id. It is empty when the session does not watch, and until it has received everything once. When the
	// connection ends, they stay as they were last.
	Affiliates map[string]Affiliate
	// Rejected is how many affiliates could not be decrypted or decoded, or are more than any cluster has.
	Rejected int
}

// Session is the connection to one source. Its methods may be called from several goroutines.
type Session struct {
	options Options
	log     *slog.Logger
	cipher  *seal.Cipher
	// keyErr is why there is no cipher.
	keyErr  error
	changed chan struct{}
	// wake tells the running connection that there is something new to publish, or to watch.
	wake chan struct{}
	// backoff is Run's.
	backoff backoff

	mu sync.Mutex
	// published reports whether there is anything to publish, or to delete.
	published bool
	local     *sealed
	localErr  error
	watch     bool
	// watches counts the calls of SetWatch that have changed something.
	watches int
	// watchErr is why the source cannot be watched, and watchFailed when that was found.
	watchErr    error
	watchFailed time.Time
	status      View
	table       table
	// fresh reports whether the table was complete since SetWatch.
	fresh bool
	// api has the calls of the present connection; nil without one.
	api serverapi.ClusterClient
	// ours reports whether the source of the present connection is a service of ours.
	ours   bool
	expiry *time.Timer
	// view is the present view, nil when it must be made.
	view *View
}

// New returns a session, which does nothing before Run.
func New(o Options, log *slog.Logger) *Session {
	if o.TTL == 0 {
		o.TTL = DefaultTTL
	}

	s := &Session{
		options: o, log: log.With("source", o.Name), changed: make(chan struct{}, 1), wake: make(chan struct{}, 1),
		status: View{State: StateConnecting}, backoff: backoff{limit: maxDelay},
	}

	if o.Prove {
		s.backoff.limit = maxDelayCarried
	}

	s.cipher, s.keyErr = seal.New(o.Key)
	s.table.read = func(m extension.Member, hash uint64) *record { return read(s.cipher, m, hash) }

	return s
}

// Publish replaces what this machine publishes. With nil, the source forgets this machine.
func (s *Session) Publish(l *Local) {
	if s.cipher == nil {
		return // Run returns the error
	}

	local, err := sealLocal(s.cipher, l)

	s.mu.Lock()
	defer s.mu.Unlock()

	if err != nil {
		// What was published before stays.
		s.localErr = err
		s.touch()

		return
	}

	if s.published && s.localErr == nil && s.local.equal(local) {
		return
	}

	s.published, s.local, s.localErr = true, local, nil
	s.touch()
	notify(s.wake)
}

// SetWatch says whether to follow the other affiliates. A machine publishes to all sources and watches one.
func (s *Session) SetWatch(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()

	if s.watch == on {
		return
	}

	s.watch, s.fresh = on, false
	s.watches++
	s.touch()
	notify(s.wake)
}

// View returns the current view.
func (s *Session) View() *View {
	s.mu.Lock()
	defer s.mu.Unlock()

	if s.view == nil {
		s.view = s.compose()
	}

	return s.view
}

// compose makes the view. A view is made when it is asked for, since changes may come faster.
func (s *Session) compose() *View {
	v := s.status
	if v.Err == nil {
		v.Err = s.localErr
	}

	if v.Err == nil && time.Since(s.watchFailed) < watchAgain {
		v.Err = s.watchErr
	}

	v.Complete, v.Young = false, false

	if !s.watch || !s.fresh {
		return &v
	}

	v.Complete = v.State == StateWatching
	v.Young = s.table.keepUntil.After(time.Now())
	v.Rejected = s.table.ignored
	v.Affiliates = make(map[string]Affiliate, len(s.table.records))

	for _, r := range s.table.records {
		if r.id == s.options.AffiliateID {
			continue
		}

		if r.err != nil {
			v.Rejected++
		}

		if r.affiliate != nil {
			v.Affiliates[r.id] = *r.affiliate
		}
	}

	return &v
}

// touch says that the view has changed. The lock is held.
func (s *Session) touch() {
	s.view = nil

	notify(s.changed)
}

func notify(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Changed returns the channel that has a value when the view has changed since the last one was taken.
func (s *Session) Changed() <-chan struct{} { return s.changed }

// contact notes a state of the connection.
func (s *Session) contact(state string) {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.status.LastContact = time.Now()

	if s.status.State != state || s.status.Err != nil {
		s.status.State, s.status.Err = state, nil
		s.touch()
	}

	s.view = nil
}

// fail notes why a connection has ended, or what the source refuses.
func (s *Session) fail(state string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.status.State, s.status.Err = state, err
	s.touch()
}

// unwatchable notes that the source ended a watch before it had told what it knows. It is an error for a while, also when the source is
// not watched any more: it still takes announcements, and would be preferred again.
func (s *Session) unwatchable(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.watchErr, s.watchFailed = fmt.Errorf("discovery source %s: %w", s.options.Name, err), time.Now()
	s.touch()
}

// wants returns what to publish and whether to watch. Each watch has another number, which is zero without one.
func (s *Session) wants() (published bool, local *sealed, watch int) {
	s.mu.Lock()
	defer s.mu.Unlock()

	if s.watch {
		watch = s.watches
	}

	return s.published, s.local, watch
}
