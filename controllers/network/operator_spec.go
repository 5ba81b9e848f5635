// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/guard"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/sys/netlink"
)

// operatorSpecController runs operators and proposes, in their layer, what they learn.
func operatorSpecController(d *Deps, kernel *netlink.Observer) controller.Controller {
	return &operators{deps: d, kernel: kernel, running: map[string]*operator{}, declared: declared{
		name: "network.OperatorSpecController",
		reads: []controller.Input{
			controller.In[network.OperatorSpecSpec](controller.Weak, ""),
			controller.In[network.LinkStatusSpec](controller.Weak, ""),
			controller.In[network.HostnameSpecSpec](controller.Weak, network.NamespaceName, network.HostnameID),
		},
		writes: []controller.Output{
			controller.Out[network.AddressSpecSpec](controller.Shared, network.ConfigNamespaceName),
			controller.Out[network.LinkSpecSpec](controller.Shared, network.ConfigNamespaceName),
			controller.Out[network.RouteSpecSpec](controller.Shared, network.ConfigNamespaceName),
			controller.Out[network.HostnameSpecSpec](controller.Shared, network.ConfigNamespaceName),
			controller.Out[network.ResolverSpecSpec](controller.Shared, network.ConfigNamespaceName),
			controller.Out[network.TimeServerSpecSpec](controller.Shared, network.ConfigNamespaceName),
			controller.Out[network.SpecConditionSpec](controller.Shared),
		},
	}}
}

type operators struct {
	declared
	deps     *Deps
	kernel   *netlink.Observer
	state    operatorState
	running  map[string]*operator // those of the state, by id
	hostname atomic.Value         // string: that of the state, for the clients
}

// operator is a running DHCP client.
type operator struct {
	runningOperator
	cancel context.CancelFunc
	done   <-chan error
	check  chan struct{}

	mu        sync.Mutex
	told      string
	learned   func(told string) leaseSpecs // nil before the first lease
	condition network.SpecConditionSpec
}

// Run implements controller.Controller. The operators continue after a failed reconcile: a lease is not given up because a write failed.
func (c *operators) Run(ctx context.Context, rt controller.Runtime, log *slog.Logger) error {
	defer func() {
		if ctx.Err() != nil {
			for id := range c.running {
				c.stop(id)
			}
		}
	}()

	// Clients run with this context, which outlives follow's.
	return follow(ctx, rt, c.kernel.WatchOnly(netlink.WatchLinks, nil), func(context.Context) (time.Duration, error) { return 0, c.reconcile(ctx, rt, log) })
}

func (c *operators) reconcile(ctx context.Context, rt controller.Runtime, log *slog.Logger) error {
	hostname, wanted, err := c.read(ctx, rt)
	if err != nil {
		return err
	}

	conditions := c.apply(ctx, rt, log, hostname, wanted)

	rt.StartTrackingOutputs()

	for id, op := range c.running {
		op.mu.Lock()
		learned, told := op.learned, op.told
		op.mu.Unlock()

		if learned == nil {
			continue
		}

		if err := proposeLease(ctx, rt, id+"/", learned(told)); err != nil {
			return err
		}
	}

	for id, condition := range conditions {
		if err := set(ctx, rt, "", network.SpecConditionID(network.ConditionOperator, id), condition); err != nil {
			return err
		}
	}

	return rt.CleanupOutputs(ctx,
		resource.KindOf[network.AddressSpecSpec](network.ConfigNamespaceName), resource.KindOf[network.LinkSpecSpec](network.ConfigNamespaceName),
		resource.KindOf[network.RouteSpecSpec](network.ConfigNamespaceName), resource.KindOf[network.HostnameSpecSpec](network.ConfigNamespaceName),
		resource.KindOf[network.ResolverSpecSpec](network.ConfigNamespaceName), resource.KindOf[network.TimeServerSpecSpec](network.ConfigNamespaceName),
		resource.KindOf[network.SpecConditionSpec](""))
}

func proposeLease(ctx context.Context, rt controller.Runtime, prefix string, specs leaseSpecs) error {
	return errors.Join(
		propose(ctx, rt, prefix, specs.addresses), propose(ctx, rt, prefix, specs.links), propose(ctx, rt, prefix, specs.routes),
		propose(ctx, rt, prefix, specs.hostnames), propose(ctx, rt, prefix, specs.resolvers), propose(ctx, rt, prefix, specs.timeServers),
	)
}

// read returns the name for servers, and the wanted operators. A name that came from a server is not sent to servers: the name that was
// sent before stays.
func (c *operators) read(ctx context.Context, rt controller.Runtime) (string, []wantedOperator, error) {
	name := c.state.hostname

	hostname, err1 := typed.Find[network.HostnameSpecSpec](ctx, rt, network.NamespaceName, network.HostnameID)
	specs, err2 := typed.List[network.OperatorSpecSpec](ctx, rt, "")
	now, err3 := c.kernel.Snapshot()

	if err := errors.Join(err1, err2, err3); err != nil {
		return "", nil, err
	}

	if hostname != nil && hostname.TypedSpec().Layer != network.LayerOperator {
		name = hostname.TypedSpec().Hostname
	}

	var wanted []wantedOperator

	for _, s := range specs {
		w := wantedOperator{id: s.Metadata().ID(), spec: *s.TypedSpec()}
		if s.Metadata().Phase() != resource.PhaseRunning || w.spec.Operator != network.OperatorDHCP4 && w.spec.Operator != network.OperatorDHCP6 {
			continue
		}

		link, err := typed.Find[network.LinkStatusSpec](ctx, rt, "", w.spec.LinkName)
		if err != nil {
			return "", nil, err
		}

		if link != nil {
			w.link = link.TypedSpec()
		}

		w.kernel, _ = now.Link(w.spec.LinkName)
		wanted = append(wanted, w)
	}

	return name, wanted, nil
}

// apply starts and stops operators, and requests checks of leases. It returns the condition of each.
func (c *operators) apply(ctx context.Context, rt controller.Runtime, log *slog.Logger, hostname string, wanted []wantedOperator) map[string]network.SpecConditionSpec {
	state, actions, conditions := c.state.next(hostname, wanted)
	c.state = state
	c.hostname.Store(hostname)

	for _, action := range actions {
		switch a := action.(type) {
		case stopOperator:
			c.stop(a.id)
		case startOperator:
			if err := c.start(ctx, rt, log, a); err != nil {
				delete(c.state.running, a.id)
				conditions[a.id] = network.SpecConditionSpec{State: network.SpecRefused, Cause: err.Error()}
			}
		case checkLease:
			c.running[a.id].ask()
		}
	}

	for id, op := range c.running {
		op.mu.Lock()
		conditions[id] = op.condition
		op.mu.Unlock()
	}

	return conditions
}

func (c *operators) start(ctx context.Context, rt controller.Runtime, log *slog.Logger, a startOperator) error {
	ctx, cancel := context.WithCancel(ctx)
	log = log.With("link", a.spec.LinkName)
	op := &operator{
		runningOperator: a.runningOperator, cancel: cancel, check: make(chan struct{}, 1),
		condition: network.SpecConditionSpec{State: network.SpecWaiting, Cause: "requesting a lease"},
	}

	prepare := c.dhcp4
	if a.spec.Operator == network.OperatorDHCP6 {
		prepare = c.dhcp6
	}

	run, err := prepare(op, a.link, log, rt.QueueReconcile)
	if err != nil {
		cancel()

		return err
	}

	c.running[a.id] = op

	op.done = guard.Go(func() error {
		op.live(ctx, run, rt.QueueReconcile, log)

		return nil
	})

	return nil
}

// afterPanic is the pause before a client that panicked runs again.
const afterPanic = 30 * time.Second

// live runs the client until the context ends. It handles a panic of the client, such as one caused by a server's packet, like other
// trouble.
func (o *operator) live(ctx context.Context, run func(context.Context), changed func(), log *slog.Logger) {
	for ctx.Err() == nil {
		err := guard.Call(func() error { run(ctx); return nil })
		if err == nil {
			return
		}

		log.ErrorContext(ctx, "the DHCP client panicked", "error", err, "after", afterPanic)

		o.mu.Lock()
		learned := o.learned
		o.mu.Unlock()

		o.publish(learned, errors.New("the client panicked, see talosctl logs machined"))
		changed()

		select {
		case <-ctx.Done():
		case <-time.After(afterPanic):
		}
	}
}

// name returns the name for a server, and records it.
func (c *operators) name(op *operator) string {
	name, _ := c.hostname.Load().(string)

	op.mu.Lock()
	defer op.mu.Unlock()

	op.told = name

	return name
}

// publish records what a client learned, if anything yet, and its trouble.
func (o *operator) publish(learned func(string) leaseSpecs, trouble error) {
	o.mu.Lock()
	defer o.mu.Unlock()

	o.learned, o.condition = learned, network.SpecConditionSpec{}

	if trouble != nil {
		o.condition = network.SpecConditionSpec{State: network.SpecDegraded, Cause: trouble.Error()}
		if learned == nil {
			o.condition.State = network.SpecWaiting
		}
	}
}

func (c *operators) stop(id string) {
	op := c.running[id]
	delete(c.running, id)

	op.cancel()
	<-op.done
}

// ask requests a check of the lease. Several calls before the client handles them are one check.
func (o *operator) ask() {
	select {
	case o.check <- struct{}{}:
	default:
	}
}
