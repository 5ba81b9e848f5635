// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/network/nethelpers"
	"github.com/seed-59268b81/talos/sys/dhcp4"
)

// OperatorSpecController runs operators and proposes, in their layer, what they learn.
func OperatorSpecController(d *Deps) controller.Controller {
	return &operatorSpecController{deps: d, running: map[string]*operator{}}
}

type operatorSpecController struct {
	deps     *Deps
	running  map[string]*operator // by id
	hostname atomic.Value         // string: what DHCP servers are told
}

// operator is a running DHCP client.
type operator struct {
	spec   network.OperatorSpecSpec
	index  uint32 // of the link: one of the same name may be another
	up     bool   // as of the last look
	told   string
	cancel context.CancelFunc
	done   chan struct{}
	check  chan struct{}

	mu    sync.Mutex
	lease *dhcp4.Lease
}

// Name implements controller.Controller.
func (*operatorSpecController) Name() string { return "network.OperatorSpecController" }

// Inputs implements controller.Controller.
func (*operatorSpecController) Inputs() []controller.Input {
	return []controller.Input{
		controller.In[network.OperatorSpecSpec](controller.Weak, ""),
		controller.In[network.LinkStatusSpec](controller.Weak, ""),
		controller.In[network.HostnameSpecSpec](controller.Weak, network.NamespaceName, network.HostnameID),
	}
}

// Outputs implements controller.Controller.
func (*operatorSpecController) Outputs() []controller.Output {
	return []controller.Output{
		controller.Out[network.AddressSpecSpec](controller.Shared),
		controller.Out[network.LinkSpecSpec](controller.Shared),
		controller.Out[network.RouteSpecSpec](controller.Shared),
		controller.Out[network.HostnameSpecSpec](controller.Shared),
		controller.Out[network.ResolverSpecSpec](controller.Shared),
		controller.Out[network.TimeServerSpecSpec](controller.Shared),
	}
}

// Run implements controller.Controller. The operators outlive a failure of a reconcile: a lease is not given up
// because a write failed.
func (c *operatorSpecController) Run(ctx context.Context, rt controller.Runtime, log *slog.Logger) error {
	defer func() {
		if ctx.Err() != nil {
			for id := range c.running {
				c.stop(id)
			}
		}
	}()

	for {
		select {
		case <-ctx.Done():
			return nil
		case <-rt.Events():
		}

		if err := c.reconcile(ctx, rt, log); err != nil {
			return err
		}

		rt.ResetRestartBackoff()
	}
}

func (c *operatorSpecController) reconcile(ctx context.Context, rt controller.Runtime, log *slog.Logger) error {
	if err := c.readHostname(ctx, rt); err != nil {
		return err
	}

	if err := c.reconcileOperators(ctx, rt, log); err != nil {
		return err
	}

	rt.StartTrackingOutputs()

	for id, op := range c.running {
		op.mu.Lock()
		lease, echo := op.lease, op.told
		op.mu.Unlock()

		if lease == nil {
			continue
		}

		if err := proposeLease(ctx, rt, id+"/", fromLease(op.spec, lease, echo)); err != nil {
			return err
		}
	}

	return rt.CleanupOutputs(ctx,
		resource.KindOf[network.AddressSpecSpec](network.ConfigNamespaceName), resource.KindOf[network.LinkSpecSpec](network.ConfigNamespaceName),
		resource.KindOf[network.RouteSpecSpec](network.ConfigNamespaceName), resource.KindOf[network.HostnameSpecSpec](network.ConfigNamespaceName),
		resource.KindOf[network.ResolverSpecSpec](network.ConfigNamespaceName), resource.KindOf[network.TimeServerSpecSpec](network.ConfigNamespaceName))
}

func proposeLease(ctx context.Context, rt controller.Runtime, prefix string, specs leaseSpecs) error {
	return errors.Join(
		propose(ctx, rt, prefix, specs.addresses), propose(ctx, rt, prefix, specs.links), propose(ctx, rt, prefix, specs.routes),
		propose(ctx, rt, prefix, specs.hostnames), propose(ctx, rt, prefix, specs.resolvers), propose(ctx, rt, prefix, specs.timeServers),
	)
}

// readHostname tells running clients to ask again when the machine has got another name. A name that came from a
// server is not told to servers: what they were told before, which made them give it, stays.
func (c *operatorSpecController) readHostname(ctx context.Context, rt controller.Runtime) error {
	spec, err := typed.Find[network.HostnameSpecSpec](ctx, rt, network.NamespaceName, network.HostnameID)
	if err != nil || spec == nil || spec.TypedSpec().Layer == network.LayerOperator {
		return err
	}

	name := spec.TypedSpec().Hostname
	if before, _ := c.hostname.Swap(name).(string); name == before {
		return nil
	}

	for _, op := range c.running {
		op.ask()
	}

	return nil
}

// reconcileOperators starts and stops operators, and has leases checked whose link was down.
func (c *operatorSpecController) reconcileOperators(ctx context.Context, rt controller.Runtime, log *slog.Logger) error {
	specs, err := typed.List[network.OperatorSpecSpec](ctx, rt, "")
	if err != nil {
		return err
	}

	wanted := map[string]bool{}

	for _, s := range specs {
		spec := *s.TypedSpec()
		if s.Metadata().Phase() != resource.PhaseRunning || spec.Operator != network.OperatorDHCP4 {
			continue
		}

		link, err := typed.Find[network.LinkStatusSpec](ctx, rt, "", spec.LinkName)
		if err != nil {
			return err
		}

		if link == nil {
			continue
		}

		id, l := s.Metadata().ID(), *link.TypedSpec()
		wanted[id] = true
		up := usable(spec, l)

		op, ok := c.running[id]
		if ok && (!sameOperator(op.spec, spec) || op.index != l.Index) {
			c.stop(id)

			ok = false
		}

		switch {
		case !ok && up:
			if err := c.start(ctx, rt, log, id, spec, l); err != nil {
				return err
			}
		case ok:
			if up && !op.up {
				op.ask()
			}

			op.up = up
		}
	}

	for id := range c.running {
		if !wanted[id] {
			c.stop(id)
		}
	}

	return nil
}

// usable tells whether packets can go over the link.
func usable(spec network.OperatorSpecSpec, l network.LinkStatusSpec) bool {
	if l.Flags&nethelpers.LinkUp == 0 {
		return false
	}

	return !spec.RequireUp || l.OperationalState == nethelpers.OperStateUp || (l.OperationalState == nethelpers.OperStateUnknown && l.LinkState)
}

// sameOperator compares all but where the wish comes from.
func sameOperator(a, b network.OperatorSpecSpec) bool {
	a.Layer = b.Layer

	return a == b
}

func (c *operatorSpecController) start(ctx context.Context, rt controller.Runtime, log *slog.Logger, id string, spec network.OperatorSpecSpec, link network.LinkStatusSpec) error {
	clientID, err := clientIdentifier(spec.DHCP4.ClientIdentifier, link)
	if err != nil {
		return fmt.Errorf("operator %s: %w", id, err)
	}

	ctx, cancel := context.WithCancel(ctx)
	op := &operator{spec: spec, index: link.Index, up: true, cancel: cancel, done: make(chan struct{}), check: make(chan struct{}, 1)}

	exchange := c.deps.DHCP4(spec.LinkName, []byte(link.HardwareAddr), DHCP4Settings{
		SkipHostname: spec.DHCP4.SkipHostnameRequest, ClientID: clientID,
		Hostname: func() string {
			name, _ := c.hostname.Load().(string)

			op.mu.Lock()
			defer op.mu.Unlock()

			op.told = name

			return name
		},
	})

	client := dhcp4.Client{
		Exchange: exchange, Check: op.check, Log: log.With("link", spec.LinkName),
		Publish: func(lease *dhcp4.Lease) {
			op.mu.Lock()
			op.lease = lease
			op.mu.Unlock()

			rt.QueueReconcile()
		},
	}

	c.running[id] = op

	go func() {
		defer close(op.done)

		client.Run(ctx)
	}()

	return nil
}

func (c *operatorSpecController) stop(id string) {
	op := c.running[id]
	delete(c.running, id)

	op.cancel()
	<-op.done
}

// ask has the lease checked, once however often it is called before the client gets to it.
func (o *operator) ask() {
	select {
	case o.check <- struct{}{}:
	default:
	}
}

// clientIdentifier is the content of option 61.
func clientIdentifier(spec network.ClientIdentifierSpec, link network.LinkStatusSpec) ([]byte, error) {
	switch spec.ClientIdentifier {
	case nethelpers.ClientIdentifierMAC:
		return append([]byte{byte(link.Type)}, link.HardwareAddr...), nil
	case nethelpers.ClientIdentifierDUID:
		duid, err := hex.DecodeString(spec.DUIDRawHex)
		if err != nil {
			return nil, fmt.Errorf("client identifier: %w", err)
		}

		// RFC 4361: type 255, an identity association (the link's index), the DUID.
		return append([]byte{255, byte(link.Index >> 24), byte(link.Index >> 16), byte(link.Index >> 8), byte(link.Index)}, duid...), nil
	default:
		return nil, nil
	}
}
