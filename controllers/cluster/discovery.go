// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/seed-59268b81/talos/controllers/volume"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/discovery/client"
	"github.com/seed-59268b81/talos/resources/cluster"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/runtime"
	"github.com/seed-59268b81/talos/resources/secrets"
)

const (
	discoveryName      = "cluster.DiscoveryServiceController"
	discoveryRequester = "discovery"
)

// Pauses between writes of many resources, and of the file.
const (
	pauseMany  = time.Second
	many       = 100
	pauseStore = 10 * time.Second
)

// discovery has one session for each source. It announces this machine at all of them and watches one. It does not use a generic: sessions
// outlive a round.
type discovery struct {
	deps Deps
	// roots are the authorities of the machines of the cluster.
	roots atomic.Pointer[x509.CertPool]
	// addresses are those of control planes, by the endpoints of their sources.
	addresses atomic.Pointer[map[string][]string]
	changed   chan struct{}

	sessions map[string]*session
	choice   choice
	roster   roster
	// view is what the roster has heard last, and rejected how many announcements of it are not valid.
	view     *client.View
	rejected int
	// question is asked now, if any, and turn counts them.
	question *question
	turn     int
	// written is when the raw affiliates were written last, and outdated is set when they are not those of the roster.
	written  time.Time
	outdated bool

	memory past
	loaded bool
	// kept is the content of the file, and unsaved is set when there may be news for it. Unstored is why it is not written.
	kept     []byte
	keptAt   time.Time
	unsaved  bool
	unstored error
	// safe is the revision that the file has.
	safe uint64
}

func discoveryServiceController(d Deps) controller.Controller {
	return &discovery{deps: d, changed: make(chan struct{}, 1), sessions: map[string]*session{}, roster: newRoster()}
}

// Name implements controller.Controller.
func (*discovery) Name() string { return discoveryName }

// Inputs implements controller.Controller.
func (*discovery) Inputs() []controller.Input {
	return append(volume.Inputs(),
		controller.In[cluster.ConfigSpec](controller.Weak, "", cluster.ConfigID),
		controller.In[cluster.IdentitySpec](controller.Weak, "", cluster.LocalIdentityID),
		controller.In[cluster.AffiliateSpec](controller.Weak, cluster.NamespaceName),
		controller.In[cluster.MemberSpec](controller.Weak, ""),
		controller.In[k8s.EndpointSpec](controller.Weak, ""),
		controller.In[secrets.OSRootSpec](controller.Weak, "", secrets.OSRootID),
		controller.In[runtime.MachineResetSignalSpec](controller.Weak, "", runtime.MachineResetSignalID),
	)
}

// Outputs implements controller.Controller.
func (*discovery) Outputs() []controller.Output {
	return []controller.Output{
		volume.Output(),
		controller.Out[cluster.AffiliateSpec](controller.Shared, cluster.RawNamespace),
		controller.Out[cluster.DiscoverySourceSpec](controller.Exclusive),
		controller.Out[network.AddressStatusSpec](controller.Shared, cluster.NamespaceName),
	}
}

// Run implements controller.Controller.
func (c *discovery) Run(ctx context.Context, rt controller.Runtime, log *slog.Logger) error {
	timer := time.NewTimer(0)
	defer timer.Stop()

	// After a failure the sessions begin again. An announcement stays at the sources: a machine that restarts comes back.
	defer c.closeAll(0)

	c.outdated, c.view, c.question = true, nil, nil

	for {
		select {
		case <-ctx.Done():
			return nil
		case <-rt.Events():
		case <-c.changed:
		case <-timer.C:
		}

		var again time.Time

		err := rt.Observe(ctx, func(round context.Context) (err error) {
			again, err = c.round(round, ctx, rt, log)

			return err
		})
		if err != nil {
			return err
		}

		timer.Stop()

		if !again.IsZero() {
			timer.Reset(max(time.Until(again), time.Millisecond))
		}

		rt.ResetRestartBackoff()
	}
}

// facts are the inputs of a round.
type facts struct {
	settings cluster.ConfigSpec
	own      string
	local    *cluster.AffiliateSpec
	sources  []source
}

// readFacts reports whether discovery is on. It is off while the machine is reset. While an input is missing it returns controller.ErrSkip.
func (c *discovery) readFacts(ctx context.Context, r state.Reader) (f facts, on bool, err error) {
	var (
		identity cluster.IdentitySpec
		root     secrets.OSRootSpec
	)

	ready, err := typed.All(
		typed.Read(ctx, r, cluster.ConfigID, &f.settings), typed.Read(ctx, r, cluster.LocalIdentityID, &identity), typed.Read(ctx, r, secrets.OSRootID, &root),
	)
	if err == nil && !ready {
		err = controller.ErrSkip
	}

	if err != nil || !f.settings.DiscoveryEnabled {
		return f, false, err
	}

	if reset := typed.Read(ctx, r, runtime.MachineResetSignalID, &runtime.MachineResetSignalSpec{}); reset.Err != nil || reset.OK {
		return f, false, reset.Err
	}

	f.own = identity.NodeID

	// Without a valid authority no carrier is trusted, which their sources show.
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(secrets.JoinCerts(root.AcceptedCAs))
	c.roots.Store(pool)

	local, err := typed.Find[cluster.AffiliateSpec](ctx, r, "", f.own)
	if err != nil {
		return f, false, err
	}

	if local != nil && local.Metadata().Phase() == resource.PhaseRunning {
		f.local = local.TypedSpec()
	}

	members, err := typed.List[cluster.MemberSpec](ctx, r, "")
	if err != nil {
		return f, false, err
	}

	endpoints, err := typed.List[k8s.EndpointSpec](ctx, r, "")
	if err != nil {
		return f, false, err
	}

	var (
		planes []cluster.MemberSpec
		others []k8s.EndpointSpec
	)

	for _, m := range members {
		planes = append(planes, *m.TypedSpec())
	}

	for _, e := range endpoints {
		if e.Metadata().ID() != k8s.EndpointDiscoveryID { // it is made of the members
			others = append(others, *e.TypedSpec())
		}
	}

	addresses := otherAddresses(planes)
	c.addresses.Store(&addresses)

	f.sources = sourcesOf(f.own, f.settings.ServiceEndpoints, others, planes)

	return f, true, nil
}

// round returns when to run again; zero means after the next change. Sessions end with the context running.
func (c *discovery) round(ctx, running context.Context, rt controller.Runtime, log *slog.Logger) (again time.Time, err error) {
	f, on, err := c.readFacts(ctx, rt)

	switch {
	case errors.Is(err, controller.ErrSkip):
		return again, nil
	case err != nil:
		return again, err
	}

	now := time.Now()

	earlier := func(t time.Time) {
		if !t.IsZero() && (again.IsZero() || t.Before(again)) {
			again = t
		}
	}

	if !on {
		c.leave()
	} else {
		if err := c.load(ctx, rt, f, log); err != nil || !c.loaded {
			return again, err
		}

		// The machines of another cluster are no members.
		if id := f.settings.ServiceClusterID; c.memory.ClusterID != id {
			c.leave()

			c.memory.ClusterID, c.unsaved = id, true
		}

		earlier(c.connect(running, f, log, now))

		if err := c.announce(f.local, now); err != nil {
			return again, err
		}

		earlier(c.listen(f, log, now))
	}

	if before := len(c.roster.kept); on {
		c.ask(running, f, log, now)

		// The answer wakes the controller.
		if end := c.roster.settle(now); c.question == nil || end.After(now) {
			earlier(end)
		}

		c.outdated = c.outdated || before != len(c.roster.kept)
	}

	end, err := c.write(ctx, rt, now)
	if err != nil {
		return again, err
	}

	earlier(end)

	if err := errors.Join(c.writeSources(ctx, rt, f.sources), c.writeAddress(ctx, rt, f.sources)); err != nil {
		return again, err
	}

	end, err = c.store(ctx, rt, log, now)
	earlier(end)

	return again, err
}

// leave ends all sessions. The sources forget this machine.
func (c *discovery) leave() {
	if len(c.sessions) > 0 || len(c.roster.present)+len(c.roster.kept) > 0 {
		c.closeAll(farewell)

		c.roster, c.choice, c.view, c.question, c.outdated = newRoster(), choice{}, nil, nil, true
	}
}

// announce publishes what this machine says at all sources. The same content keeps its revision, also after a restart. A revision is in the
// file first: after a power cut, a machine whose clock is behind would announce something else with a lower one, and the others would keep the old.
func (c *discovery) announce(local *cluster.AffiliateSpec, now time.Time) error {
	var announcement *client.Local

	if local != nil {
		spec := *local
		spec.Revision = 0

		text, err := json.Marshal(spec)
		if err != nil {
			return fmt.Errorf("encode the announcement: %w", err)
		}

		sum := sha256.Sum256(text)

		if digest := hex.EncodeToString(sum[:]); digest != c.memory.Announced {
			c.memory.Announced, c.unsaved = digest, true
			c.memory.Revision = max(c.memory.Revision+1, uint64(max(now.UnixMilli(), 0)))
		}

		spec.Revision = c.memory.Revision
		announcement = toWire(spec)
	}

	if c.safe < c.memory.Revision {
		return nil // a round follows
	}

	for _, s := range c.sessions {
		s.publish(announcement)
	}

	return nil
}

// listen chooses the source that is watched, and takes what it says.
func (c *discovery) listen(f facts, log *slog.Logger, now time.Time) (again time.Time) {
	var candidates, refusing []candidate

	for _, s := range f.sources {
		if r := c.sessions[s.name]; r != nil {
			answers, works := r.answers()
			candidates = append(candidates, candidate{s.name, works})
			refusing = append(refusing, candidate{s.name, answers})
		}
	}

	// A machine that no source takes in sees the others nevertheless.
	if !slices.ContainsFunc(candidates, func(x candidate) bool { return x.works }) {
		candidates = refusing
	}

	before := c.choice.name
	c.choice, again = c.choice.next(candidates, now)

	if c.choice.name != before {
		log.Info("the members of the cluster are those that this source knows", "source", c.choice.name, "before", before)
	}

	for name, r := range c.sessions {
		r.SetWatch(name == c.choice.name)
	}

	watched := c.sessions[c.choice.name]
	if watched == nil {
		return again
	}

	view := watched.View()

	switch {
	case view == c.view:
		return again
	case view.State != client.StateWatching || !view.Complete:
		c.roster.interrupt()

		return again
	}

	h := heard{source: c.choice.name, complete: view.Complete, young: view.Young, affiliates: make(map[string]cluster.AffiliateSpec, len(view.Affiliates))}
	rejected := 0

	for id, a := range view.Affiliates {
		a.ID = id

		switch spec, err := fromWire(a); {
		case id == f.own:
		case err != nil:
			rejected++
		default:
			h.affiliates[id] = spec
		}
	}

	if rejected != c.rejected && rejected > 0 {
		log.Warn("a discovery source lists machines that are not valid", "source", c.choice.name, "count", rejected)
	}

	c.view, c.rejected, c.outdated = view, rejected, true
	c.roster.hear(h, now)

	return again
}
