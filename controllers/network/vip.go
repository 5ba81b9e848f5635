// SPDX-License-Identifier: Apache-2.0

package network

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/config"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/runtime"
	"github.com/seed-59268b81/talos/resources/secrets"
	"github.com/seed-59268b81/talos/resources/service"
	"github.com/seed-59268b81/talos/sys/netlink"
)

// The services that a virtual address needs, by their ids.
const (
	etcdServiceID    = "etcd"
	kubeletServiceID = "kubelet"
)

// vipController takes part in the elections for virtual addresses, and proposes those that it won. It does not use a generic: elections go
// on between reconciles. A finalizer on the Lifecycle of the kubelet makes a machine that goes down give its addresses to others first.
func vipController(d *Deps, kernel *netlink.Observer) controller.Controller {
	elect := d.Elect
	if elect == nil {
		elect = electInEtcd
	}

	moveVIP := d.MoveVIP
	if moveVIP == nil {
		moveVIP = moveByCloud
	}

	return &vips{elect: elect, move: moveVIP, removal: cmp.Or(d.vipRemoval, vipRemoval), kernel: kernel, running: map[string]*vip{}, declared: declared{
		name: "network.VIPController",
		reads: []controller.Input{
			controller.In[network.OperatorSpecSpec](controller.Weak, ""),
			controller.In[network.LinkStatusSpec](controller.Weak, ""),
			controller.In[config.MachineTypeSpec](controller.Weak, "", config.MachineTypeID),
			controller.In[service.ServiceSpec](controller.Weak, "", etcdServiceID),
			controller.In[secrets.EtcdRootSpec](controller.Weak, "", secrets.EtcdRootID),
			controller.In[secrets.EtcdCertsSpec](controller.Weak, "", secrets.EtcdID),
			controller.In[runtime.LifecycleSpec](controller.Strong, "", kubeletServiceID),
		},
		writes: []controller.Output{
			controller.Out[network.AddressSpecSpec](controller.Shared, network.ConfigNamespaceName),
			controller.Out[network.SpecConditionSpec](controller.Shared),
		},
	}}
}

type vips struct {
	declared
	elect   Elect
	move    MoveVIP
	removal time.Duration
	kernel  *netlink.Observer
	running map[string]*vip // by the id of the spec
	access  atomic.Pointer[credentials]
	busy    atomic.Bool // there are virtual addresses
}

// vip is a virtual address on this machine.
type vip struct {
	spec     network.OperatorSpecSpec
	phase    vipPhase
	campaign *campaign // nil while it waits
	obstacle string
	// settings are those of spec, for the campaign.
	settings atomic.Pointer[network.VIPOperatorSpec]
}

// Run implements controller.Controller.
func (c *vips) Run(ctx context.Context, rt controller.Runtime, log *slog.Logger) error {
	defer func() {
		if ctx.Err() != nil {
			for _, v := range c.running {
				if v.campaign != nil {
					v.campaign.end()
				}
			}
		}
	}()

	campaigning := ctx

	return follow(ctx, rt, onlyIf(&c.busy, c.kernel.WatchOnly(netlink.WatchLinks|netlink.WatchAddresses, nil)), func(ctx context.Context) (time.Duration, error) { return 0, c.reconcile(ctx, campaigning, rt, log) })
}

func (c *vips) reconcile(ctx, campaigning context.Context, rt controller.Runtime, log *slog.Logger) error {
	obstacles, lifecycle, err := c.read(ctx, rt)
	if err != nil {
		return err
	}

	c.busy.Store(len(c.running) > 0)

	now, err := c.kernel.Snapshot()
	if err != nil {
		return err
	}

	rt.StartTrackingOutputs()

	held := false

	for id, v := range c.running {
		v.obstacle = obstacles[id]

		c.advance(campaigning, rt, v, now, log)

		held = held || v.phase != vipWaiting

		if err := c.propose(ctx, rt, id, v); err != nil {
			return err
		}

		if v.obstacle == notWanted && v.phase == vipWaiting {
			delete(c.running, id)
		}
	}

	if err := c.holdShutdown(ctx, rt, lifecycle, held); err != nil {
		return err
	}

	return rt.CleanupOutputs(ctx,
		resource.KindOf[network.AddressSpecSpec](network.ConfigNamespaceName), resource.KindOf[network.SpecConditionSpec](""))
}

// advance runs the state machine of an address until it rests.
func (c *vips) advance(ctx context.Context, rt controller.Runtime, v *vip, now *netlink.Snapshot, log *slog.Logger) {
	for {
		look := vipLook{obstacle: v.obstacle, present: hasAddress(now, v.spec.LinkName, v.spec.VIP.IP)}
		if v.campaign != nil {
			look.won, _ = v.campaign.state()
		}

		next, action := v.phase.next(look)
		if next == v.phase {
			return
		}

		switch action {
		case vipCampaign:
			key := vipElection + v.spec.VIP.IP.String()
			v.campaign = startCampaign(ctx, c.electAndMove(v), func() credentials { return *c.access.Load() }, key, c.removal, rt.QueueReconcile)
		case vipYield:
			v.campaign.giveWay()
		case vipAbandon:
			v.campaign.end()
			v.campaign = nil
		case vipNothing:
			log.Info("virtual address", "address", v.spec.VIP.IP, "link", v.spec.LinkName, "phase", next)
		}

		v.phase = next
	}
}

// propose writes the address if this machine has it, and the condition of the operator.
func (c *vips) propose(ctx context.Context, rt controller.Runtime, id string, v *vip) error {
	if v.phase == vipHolding {
		address := addressSpec(v.spec.LinkName, netip.PrefixFrom(v.spec.VIP.IP, v.spec.VIP.IP.BitLen()), network.LayerOperator)
		address.AnnounceWithARP = v.spec.VIP.GratuitousARP

		if err := propose(ctx, rt, id+"/", []network.AddressSpecSpec{address}); err != nil {
			return err
		}
	}

	if v.obstacle == notWanted {
		return nil
	}

	return set(ctx, rt, "", network.SpecConditionID(network.ConditionOperator, id), v.condition())
}

func (v *vip) condition() network.SpecConditionSpec {
	switch {
	case v.phase == vipHolding:
		return network.SpecConditionSpec{}
	case v.obstacle != "":
		return network.SpecConditionSpec{State: network.SpecWaiting, Cause: v.obstacle}
	case v.campaign != nil:
		if _, err := v.campaign.state(); err != nil {
			return network.SpecConditionSpec{State: network.SpecWaiting, Cause: err.Error()}
		}
	}

	return network.SpecConditionSpec{Cause: "another control plane machine has the address, or is about to"}
}

// holdShutdown makes the shutdown wait while this machine takes part in an election.
func (c *vips) holdShutdown(ctx context.Context, rt controller.Runtime, lifecycle *resource.Typed[runtime.LifecycleSpec], held bool) error {
	if lifecycle == nil {
		return nil
	}

	md := lifecycle.Metadata()

	switch has := md.HasFinalizer(c.name); {
	case held && !has && md.Phase() == resource.PhaseRunning:
		return rt.AddFinalizer(ctx, md.Pointer(), c.name)
	case !held && has:
		return rt.RemoveFinalizer(ctx, md.Pointer(), c.name)
	default:
		return nil
	}
}

// notWanted is the obstacle for an address that is not configured any more.
const notWanted = "it is not configured"

// read updates the running addresses from the specs, and returns the obstacle of each.
func (c *vips) read(ctx context.Context, rt controller.Runtime) (map[string]string, *resource.Typed[runtime.LifecycleSpec], error) {
	specs, err1 := typed.List[network.OperatorSpecSpec](ctx, rt, "")
	lifecycle, err2 := typed.Find[runtime.LifecycleSpec](ctx, rt, "", kubeletServiceID)
	shared, err3 := c.readCluster(ctx, rt)

	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, nil, err
	}

	if shared == "" && (lifecycle == nil || lifecycle.Metadata().Phase() != resource.PhaseRunning) {
		shared = "the kubelet does not run, or the machine goes down"
	}

	obstacles := map[string]string{}
	for id := range c.running {
		obstacles[id] = notWanted
	}

	for _, s := range specs {
		spec, id := *s.TypedSpec(), s.Metadata().ID()
		if spec.Operator != network.OperatorVIP || s.Metadata().Phase() != resource.PhaseRunning {
			continue
		}

		var link network.LinkStatusSpec

		f := typed.Read(ctx, rt, spec.LinkName, &link)
		if f.Err != nil {
			return nil, nil, f.Err
		}

		if c.running[id] == nil {
			c.running[id] = &vip{phase: vipWaiting}
		}

		c.running[id].spec = spec
		c.running[id].settings.Store(&spec.VIP)
		obstacles[id] = shared

		if !f.OK || !usable(spec, link) {
			obstacles[id] = "link " + spec.LinkName + " is not up"
		}
	}

	return obstacles, lifecycle, nil
}

// readCluster returns why this machine cannot take part in elections. A machine whose etcd is not healthy for a moment stays in
// its election: the lease decides.
func (c *vips) readCluster(ctx context.Context, rt controller.Runtime) (obstacle string, err error) {
	var (
		role   config.MachineTypeSpec
		etcd   service.ServiceSpec
		access credentials
	)

	isControlPlane := typed.Read(ctx, rt, config.MachineTypeID, &role)
	serves := typed.Read(ctx, rt, etcdServiceID, &etcd)
	known, err := typed.All(typed.Read(ctx, rt, secrets.EtcdRootID, &access.root), typed.Read(ctx, rt, secrets.EtcdID, &access.certs))

	if err := errors.Join(isControlPlane.Err, serves.Err, err); err != nil {
		return "", err
	}

	if known {
		c.access.Store(&access)
	}

	campaigning := slices.ContainsFunc(slices.Collect(maps.Values(c.running)), func(v *vip) bool { return v.campaign != nil })

	switch {
	case !isControlPlane.OK || !role.MachineType.IsControlPlane():
		return "a worker has no etcd, which elects the machine that has the address", nil
	case c.access.Load() == nil, !serves.OK, !etcd.Healthy && !campaigning:
		return "etcd is not healthy yet", nil
	default:
		return "", nil
	}
}

// hasAddress reports whether the kernel has an address on a link.
func hasAddress(now *netlink.Snapshot, link string, addr netip.Addr) bool {
	l, ok := now.Link(link)

	return ok && slices.ContainsFunc(now.Addresses, func(a netlink.Address) bool {
		return a.LinkIndex == l.Index && a.Prefix == netip.PrefixFrom(addr, addr.BitLen())
	})
}
