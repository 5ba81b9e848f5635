// SPDX-License-Identifier: Apache-2.0

// Package network holds the controllers of the machine's network.
//
// A setting passes these controllers: a *ConfigController writes specs of one layer (default, cmdline, platform, configuration) to namespace
// network-config; an operator, such as the DHCP client, writes those of its layer; a *MergeController writes the winner of each id to
// namespace network; a *SpecController compares it with the kernel and changes only differences; a *StatusController publishes the
// kernel's state. Pure functions compute the changes from specs and the kernel's state; Deps are the thin shells that make them.
//
// All share one snapshot of the kernel (netlink.Observer). Specs of addresses, routes, rules and links are planned by the kernel's own keys: of
// two specs for one object the same one always wins. A SpecCondition reports the result of each spec: a spec that waits, loses or is
// refused does not block others. An address that another machine on the link has too is kept, and a condition names that machine.
//
// The specs have the finalizer of their controller, so that objects that are removed from the configuration are removed from the kernel.
package network

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/proto"

	"github.com/seed-59268b81/talos/controllers/network/packetfilter"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/guard"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/sys/acd"
	"github.com/seed-59268b81/talos/sys/dhcp"
	"github.com/seed-59268b81/talos/sys/dhcp4"
	"github.com/seed-59268b81/talos/sys/dhcp6"
	"github.com/seed-59268b81/talos/sys/ethtool"
	"github.com/seed-59268b81/talos/sys/nd"
	"github.com/seed-59268b81/talos/sys/netlink"
	"github.com/seed-59268b81/talos/sys/nft"
	"github.com/seed-59268b81/talos/sys/nic"
	"github.com/seed-59268b81/talos/sys/platform"
	"github.com/seed-59268b81/talos/sys/platform/cloud"
	"github.com/seed-59268b81/talos/version"
)

// Deps are what the controllers use outside of the state.
type Deps struct {
	Kernel netlink.Kernel
	// Platform is where the machine runs, and Metadata asks it about the machine; nil if it has nothing to say.
	Platform platform.Platform
	Metadata func(ctx context.Context) (cloud.Machine, error)
	// Probe returns the properties of a physical link.
	Probe func(name string, index uint32) nic.Info
	// SetHostname sets the hostname in the kernel.
	SetHostname func(hostname, domainname string) error
	// DHCP4 and DHCP6 return how the client of a link asks servers.
	DHCP4 func(*dhcp4.Link) dhcp.Ask[*dhcp4.Lease]
	DHCP6 func(*dhcp6.Link) dhcp.Ask[*dhcp6.Lease]
	// SolicitRouters asks the routers on a link to advertise at once; nil does nothing.
	SolicitRouters func(index uint32) error
	// ListenDNS opens the sockets of the machine's DNS server; with nil there is none.
	ListenDNS ListenDNS
	// ProbeOnce makes one attempt of a probe; nil connects to its target.
	ProbeOnce ProbeOnce
	// Elect runs a function while this machine is elected; nil is by its etcd.
	Elect Elect
	// MoveVIP makes a cloud send the packets to a virtual address to this machine; nil is by the API of the cloud.
	MoveVIP MoveVIP
	// vipRemoval is how long a machine that lost an election may take to remove the address; 0 is what the lease leaves.
	vipRemoval time.Duration
	// Announce tells the machines on a link that this one has an address now; nil does nothing.
	Announce Announce
	// Built is when this version was built.
	Built time.Time
	// ARP is that of all links; with nil no conflicts of IPv4 addresses are detected.
	ARP ARP
	// Cards are the settings of network cards; nil if the kernel has no ethtool.
	Cards ethtool.Cards
	// Filter is the machine's table of the packet filter; nil if there is none.
	Filter nft.Filter
	// Publish sends an event to the watchers; nil sends none.
	Publish func(event proto.Message)
}

// Open returns the Deps of the real machine, and a function that closes them.
func Open(p platform.Platform) (*Deps, func() error, error) {
	kernel, err := netlink.Open()
	if err != nil {
		return nil, nil, err
	}

	prober := nic.NewProber("/sys")

	deps := &Deps{
		Kernel:   kernel,
		Platform: p,
		Probe:    prober.Probe,
		SetHostname: func(hostname, domainname string) error {
			if err := unix.Sethostname([]byte(hostname)); err != nil {
				return fmt.Errorf("sethostname %q: %w", hostname, err)
			}

			if err := unix.Setdomainname([]byte(domainname)); err != nil {
				return fmt.Errorf("setdomainname %q: %w", domainname, err)
			}

			return nil
		},
		DHCP4:          func(l *dhcp4.Link) dhcp.Ask[*dhcp4.Lease] { return l.Ask },
		DHCP6:          func(l *dhcp6.Link) dhcp.Ask[*dhcp6.Lease] { return l.Ask },
		SolicitRouters: func(index uint32) error { return nd.SolicitRouters(int(index)) },
		ListenDNS:      listenDNS,
	}

	deps.Announce = func(ctx context.Context, link uint32, from [6]byte, addr netip.Addr) error {
		if addr.Is6() {
			return nd.Announce(int(link), from, addr)
		}

		return acd.Announce(ctx, link, from, addr)
	}

	deps.Built, _ = time.Parse(time.RFC3339, version.Built) // the zero time if it is not known

	// A container may lack the permission: then conflicts are not detected.
	closeARP := func() error { return nil }

	if arp, err := acd.Open(); err == nil {
		deps.ARP, closeARP = arp, arp.Close
	}

	closeCards := func() error { return nil }

	if cards, err := ethtool.Open(); err == nil {
		deps.Cards, closeCards = cards, cards.Close
	}

	deps.Filter = nft.New(packetfilter.TableName)

	return deps, func() error {
		return errors.Join(kernel.Close(), prober.Close(), closeARP(), closeCards())
	}, nil
}

// Controllers returns all controllers of the network.
func Controllers(d *Deps) []controller.Controller {
	kernel := netlink.NewObserver(d.Kernel)

	controllers := []controller.Controller{
		// Layers.
		layerController("network.AddressConfigController", addressLayers), layerController("network.LinkConfigController", linkLayers),
		layerController("network.RouteConfigController", routeLayers), layerController("network.OperatorConfigController", operatorLayers),
		layerController("network.RoutingRuleConfigController", ruleLayers),
		layerController("network.TimeServerConfigController", timeServerLayers), HostnameConfigController(), ResolverConfigController(),
		platformConfigController(d), platformConfigApplyController(), platformConfigLoadController(d), platformConfigStoreController(d),
		operatorSpecController(d, kernel), routerDNSController(d, kernel),
		// Winners.
		mergeController[network.AddressSpecSpec]("network.AddressMergeController", nil),
		mergeController[network.RouteSpecSpec]("network.RouteMergeController", nil),
		mergeController[network.OperatorSpecSpec]("network.OperatorMergeController", nil),
		mergeController[network.RoutingRuleSpecSpec]("network.RoutingRuleMergeController", nil),
		mergeController("network.LinkMergeController", combineLinks), mergeController("network.ResolverMergeController", combineResolvers),
		mergeController("network.TimeServerMergeController", combineTimeServers),
		mergeCompleted("network.HostnameMergeController", nil, keepGivenName()),
		// The kernel.
		addressSpecController(kernel), linkSpecController(kernel, d.Platform), routeSpecController(kernel), HostnameSpecController(d),
		routingRuleSpecController(kernel), routingRuleStatusController(kernel),
		addressStatusController(kernel), linkStatusController(kernel, d), routeStatusController(kernel),
		// What follows.
		ResolverSpecController(), TimeServerSpecController(), EtcFileController(), HardwareAddrController(), LinkParamController(),
		addressConflictController(d, kernel), podBridgeController(d),
		// Network cards.
		EthernetConfigController(), ethernetSpecController(d.Cards), ethernetStatusController(d.Cards),
		LinkAliasConfigController(), linkAliasSpecController(kernel),
		// Packets.
		NfTablesChainConfigController(), nfTablesChainController(d.Filter),
		NodeAddressController(), NodeAddressSortAlgorithmController(), AddressFilterController(), StatusController(),
		addressEventController(d.Publish),
		// The machine's DNS server.
		HostDNSConfigController(), DNSUpstreamController(), StaticHostController(),
		// Probes.
		layerController("network.ProbeConfigController", probeLayers), mergeController[network.ProbeSpecSpec]("network.ProbeMergeController", nil),
		probeController(d),
		// Virtual addresses.
		layerController("network.OperatorVIPConfigController", vipLayers), vipController(d, kernel), addressAnnounceController(d, kernel),
	}

	if d.ListenDNS != nil {
		controllers = append(controllers, dnsResolveCacheController(d))
	}

	return controllers
}

// declared is what a controller with a Run of its own declares.
type declared struct {
	name   string
	reads  []controller.Input
	writes []controller.Output
}

// Name implements controller.Controller.
func (d declared) Name() string { return d.name }

// Inputs implements controller.Controller.
func (d declared) Inputs() []controller.Input { return d.reads }

// Outputs implements controller.Controller.
func (d declared) Outputs() []controller.Output { return d.writes }

// follow runs a controller that also watches something outside of the state: watch calls its argument after each change until the context
// ends. Reconcile returns after which time it must be called even if nothing changes; 0 is never.
func follow(ctx context.Context, rt controller.Runtime, watch func(context.Context, func()) error, reconcile func(context.Context) (time.Duration, error)) error {
	ctx, cancel := context.WithCancel(ctx)
	ended := guard.Go(func() error { return watch(ctx, rt.QueueReconcile) })

	defer func() {
		cancel()

		if ended != nil {
			<-ended
		}
	}()

	var again <-chan time.Time

	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-ended:
			ended = nil

			return err
		case <-rt.Events():
		case <-again:
		}

		after, err := reconcile(ctx)
		if err != nil {
			return err
		}

		again = nil
		if after > 0 {
			again = time.After(after)
		}

		rt.ResetRestartBackoff()
	}
}

// onlyIf returns a watch that reports changes only while of is set: a controller that has nothing to do must not run for each of hundreds of
// changes in a second.
func onlyIf(of *atomic.Bool, watch func(context.Context, func()) error) func(context.Context, func()) error {
	return func(ctx context.Context, changed func()) error {
		return watch(ctx, func() {
			if of.Load() {
				changed()
			}
		})
	}
}
