// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/config/generate"
	"github.com/seed-59268b81/talos/config/v1alpha1"
	"github.com/seed-59268b81/talos/ctl/session"
	"github.com/seed-59268b81/talos/lab"
	"github.com/seed-59268b81/talos/lab/gateway"
	"github.com/seed-59268b81/talos/lab/nat"
	"github.com/seed-59268b81/talos/lab/state"
	"github.com/seed-59268b81/talos/lab/world"
)

// worldFlags holds the flags of the networks; lab.Options has more settings.
type worldFlags struct {
	cards, sites   int
	ipv6, ipv6Only bool
	nat            string
}

func (f *worldFlags) flags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.IntVar(&f.cards, "cards", 1, "network cards of each machine, each on a network of its own; only the first one's leads out")
	flags.IntVar(&f.sites, "sites", 0, "put the workers on this many sites behind NAT routers, and the control plane on the network between")
	flags.StringVar(&f.nat, "nat", string(nat.PortRestricted), "NAT of the sites: "+strings.Join(kinds(), ", "))
	flags.BoolVar(&f.ipv6, "ipv6", false, "give the machines' network, pods and Services IPv6 as well")
	flags.BoolVar(&f.ipv6Only, "ipv6-only", false, "give the machines' network, pods and Services IPv6 alone")
	session.Complete(cmd, "nat", kinds()...)
}

// The networks of pods and Services with IPv6.
var (
	podSubnet6     = netip.MustParsePrefix("fd00:10:244::/56")
	serviceSubnet6 = netip.MustParsePrefix("fd00:10:96::/112")
)

// apply sets the networks in the options.
func (f *worldFlags) apply(o *lab.Options, config *generate.Options) error {
	mapping, filtering, ok := nat.Kind(f.nat).Behaviors()

	switch {
	case f.cards < 1 || f.cards > world.MaxCards:
		return fmt.Errorf("--cards %d: want 1 to %d", f.cards, world.MaxCards)
	case f.sites < 0 || f.sites > 200:
		return fmt.Errorf("--sites %d: want 0 to 200", f.sites)
	case !ok:
		return fmt.Errorf("--nat %q: want %s", f.nat, strings.Join(kinds(), ", "))
	case f.ipv6 && f.ipv6Only:
		return fmt.Errorf("--ipv6 and --ipv6-only: want one of them")
	case f.sites > 0 && (f.ipv6 || f.ipv6Only):
		return fmt.Errorf("--sites: the sites have IPv4 alone, so --ipv6 and --ipv6-only do not go with it")
	}

	if f.ipv6 || f.ipv6Only {
		o.Subnet6 = gateway.DefaultSubnet6(state.OnlyNetwork)
		config.PodSubnets, config.ServiceSubnets = []netip.Prefix{podSubnet6}, []netip.Prefix{serviceSubnet6}
	}

	if f.ipv6 { // the first family is that of a Service that names none
		config.PodSubnets = slices.Insert(config.PodSubnets, 0, netip.MustParsePrefix(v1alpha1.DefaultPodSubnet))
		config.ServiceSubnets = slices.Insert(config.ServiceSubnets, 0, netip.MustParsePrefix(v1alpha1.DefaultServiceSubnet))
	}

	if f.ipv6Only {
		o.Subnet = netip.Prefix{}
	}

	for i := range f.sites {
		o.Sites = append(o.Sites, world.Site{Name: fmt.Sprintf("site-%d", i+1), NAT: nat.Config{Mapping: mapping, Filtering: filtering}})
	}

	f.more(o)

	return nil
}

// more adds the networks of further cards.
func (f *worldFlags) more(o *lab.Options) {
	if f.cards == 1 {
		return
	}

	if f.sites == 0 {
		o.Networks = append(o.Networks, world.Network{Name: state.OnlyNetwork, Subnet4: o.Subnet, Subnet6: o.Subnet6})
	} else {
		o.Networks = append(o.Networks, world.Network{Name: world.Internet, Subnet4: world.InternetSubnet})
	}

	for i := 2; i <= f.cards; i++ {
		n := world.Network{Name: fmt.Sprintf("net-%d", i), Subnet4: netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 7, byte(i), 0}), 24)}
		n.Services.DHCP.NoRouter = !f.ipv6Only

		if f.ipv6 || f.ipv6Only {
			n.Subnet6 = gateway.DefaultSubnet6(n.Name)
			n.Services.RA.NotDefault = true
		}

		if f.ipv6Only {
			n.Subnet4 = netip.Prefix{}
		}

		o.Networks = append(o.Networks, n)
		o.ExtraCards = append(o.ExtraCards, world.Card{Network: n.Name})
	}
}
