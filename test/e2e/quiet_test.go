// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"

	"github.com/seed-59268b81/talos/client"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/lab"
	"github.com/seed-59268b81/talos/lab/gateway"
	"github.com/seed-59268b81/talos/lab/state"
	"github.com/seed-59268b81/talos/lab/world"
	"github.com/seed-59268b81/talos/machine"
	"github.com/seed-59268b81/talos/test/cluster"
)

var (
	subnet4 = netip.MustParsePrefix("10.5.0.0/24")
	subnet6 = netip.MustParsePrefix("fd00:5::/64")
	other4  = netip.MustParsePrefix("10.6.0.0/24")
)

// quietTime is how long nothing may change after the machine's network has settled.
const quietTime = 5 * time.Second

// quietWorlds are networks in which a machine must settle.
var quietWorlds = []struct {
	name     string
	networks []world.Network
	cards    []world.Card
	// addresses is how many addresses the machine gets, besides the link-local ones.
	addresses int
	// then changes the world, after which the network must settle again.
	then func(t *testing.T, c *cluster.Cluster)
}{
	{
		name:     "two cards, two default routes",
		networks: []world.Network{{Name: "one", Subnet4: subnet4}, {Name: "two", Subnet4: other4}},
		cards:    []world.Card{{Network: "one"}, {Network: "two"}}, addresses: 2,
	},
	{
		name:     "two cards on one network",
		networks: []world.Network{{Name: "one", Subnet4: subnet4}},
		cards:    []world.Card{{Network: "one"}, {Network: "one"}}, addresses: 2,
	},
	{
		name:     "IPv6 only",
		networks: []world.Network{{Name: "one", Subnet6: subnet6}},
		cards:    []world.Card{{Network: "one"}}, addresses: 1,
	},
	{
		name:     "dual stack",
		networks: []world.Network{{Name: "one", Subnet4: subnet4, Subnet6: subnet6}},
		cards:    []world.Card{{Network: "one"}}, addresses: 2,
	},
	{
		name: "a second DHCP server",
		networks: []world.Network{{
			Name: "one", Subnet4: subnet4,
			Services: world.Services{SecondDHCP: &gateway.DHCPBehaviour{LeaseTime: 10 * time.Second}},
		}},
		cards: []world.Card{{Network: "one"}}, addresses: 1,
	},
	{
		name:     "a card that vanishes and returns",
		networks: []world.Network{{Name: "one", Subnet4: subnet4}, {Name: "two", Subnet4: other4}},
		cards:    []world.Card{{Network: "one"}, {Network: "two"}}, addresses: 2,
		then: func(t *testing.T, c *cluster.Cluster) {
			if err := c.Node.Unplug(t.Context(), 1); err != nil {
				t.Fatal(err)
			}

			comesToRest(t, c, 1)

			if err := c.Node.Plug(t.Context(), 1); err != nil {
				t.Fatal(err)
			}

			comesToRest(t, c, 2)
		},
	},
}

// TestQuiet runs a container in each of these worlds.
func TestQuiet(t *testing.T) {
	for _, w := range quietWorlds {
		t.Run(w.name, func(t *testing.T) {
			quiet(t, state.Container, w.networks, w.cards, w.addresses, w.then)
		})
	}
}

// TestVirtualQuiet runs a virtual machine in one of them.
func TestVirtualQuiet(t *testing.T) {
	cluster.Above(t, cluster.All, "boots six virtual machines, which takes long where they are emulated")

	for _, w := range quietWorlds {
		t.Run(w.name, func(t *testing.T) {
			quiet(t, state.QEMU, w.networks, w.cards, w.addresses, w.then)
		})
	}
}

func quiet(t *testing.T, as state.Provisioner, networks []world.Network, cards []world.Card, addresses int, then func(*testing.T, *cluster.Cluster)) {
	c := cluster.StartIn(t, lab.Options{Provisioner: as, Networks: networks, ControlPlaneCards: cards})

	c.Maintenance()
	takesConfiguration(t, c)
	comesToRest(t, c, addresses)

	if then != nil {
		then(t, c)
	}
}

// comesToRest waits until the machine has that many addresses and its network is ready, and then until no network
// resource has changed for quietTime.
func comesToRest(t *testing.T, c *cluster.Cluster, addresses int) {
	t.Helper()

	var (
		now   map[string]string
		since time.Time
	)

	c.Until(fmt.Sprintf("the network has settled with %d addresses", addresses), 2*time.Minute, func(ctx context.Context) error {
		if err := settled(ctx, c, addresses); err != nil {
			now = nil

			return err
		}

		seen, err := networkVersions(ctx, c)
		if err != nil {
			return err
		}

		if diff := cmp.Diff(now, seen); diff != "" {
			changed := now != nil
			now, since = seen, time.Now()

			if changed {
				return fmt.Errorf("resources change (-before +after):\n%s", diff)
			}
		}

		if rest := time.Since(since); rest < quietTime {
			return fmt.Errorf("nothing has changed for %s", rest)
		}

		return nil
	})
}

// settled returns what the machine's network still lacks.
func settled(ctx context.Context, c *cluster.Cluster, addresses int) error {
	var status struct {
		AddressReady      bool `yaml:"addressReady"`
		ConnectivityReady bool `yaml:"connectivityReady"`
	}

	var current struct{ Addresses []netip.Prefix }

	if err := spec(ctx, c, "NetworkStatuses.net.talos.dev", "status", &status); err != nil {
		return err
	}

	if err := spec(ctx, c, "NodeAddresses.net.talos.dev", "current", &current); err != nil {
		return err
	}

	if !status.AddressReady || !status.ConnectivityReady || len(current.Addresses) != addresses {
		return fmt.Errorf("the network is %+v, with the addresses %v", status, current.Addresses)
	}

	return nil
}

func spec(ctx context.Context, c *cluster.Cluster, kind, id string, into any) error {
	return c.API(ctx, func(ctx context.Context, api *client.Client) error {
		r, err := api.Resource(ctx, client.Kind{Namespace: "network", Type: kind}, id)
		if err != nil {
			return err
		}

		return yaml.Unmarshal([]byte(r.GetSpec().GetYamlSpec()), into)
	})
}

// networkVersions returns the versions of all resources in the network's namespace.
func networkVersions(ctx context.Context, c *cluster.Cluster) (map[string]string, error) {
	if err := machine.RegisterTypes(); err != nil {
		return nil, err
	}

	versions := map[string]string{}

	err := c.API(ctx, func(ctx context.Context, api *client.Client) error {
		for _, def := range resource.RegisteredTypes() {
			if !strings.HasSuffix(def.Type, ".net.talos.dev") {
				continue
			}

			for r, err := range api.Resources(ctx, client.Kind{Namespace: "network", Type: def.Type}) {
				if err != nil {
					return err
				}

				versions[def.Type+"/"+r.GetMetadata().GetId()] = r.GetMetadata().GetVersion()
			}
		}

		return nil
	})

	return versions, err
}
