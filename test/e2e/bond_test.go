// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"

	cosiapi "github.com/seed-59268b81/talos/api/cosi/v1alpha1"
	"github.com/seed-59268b81/talos/client"
	"github.com/seed-59268b81/talos/test/cluster"
)

// vlans is how many VLANs the bond has; vrfVLANs of them are in the VRF.
const (
	vlans    = 20
	vrfVLANs = 2
)

// bondTime is how long the links may take. Two seconds are the aim, which TestBond of test/budgets checks in a machine that does nothing else. An
// emulated node takes six seconds, and much longer on a busy computer.
const bondTime = 4 * time.Minute

// bondLinks returns a bond that speaks LACP with another one, over two pairs of links; twenty VLANs on it; and a VRF.
func bondLinks() string {
	const bond = "\nlinks: [%s]\nbondMode: 802.3ad\nmiimon: 100\nlacpRate: fast\nxmitHashPolicy: layer3+4"

	documents := []string{document("DHCPv4Config", "name: eth0")} // a document about a link ends DHCP on other cards

	for _, pair := range []string{"a", "b"} {
		documents = append(documents, document("VethConfig", "name: near-"+pair+"\npeer: {name: far-"+pair+"}"))
	}

	for _, side := range []string{"near", "far"} {
		documents = append(documents, document("BondConfig", "name: bond-"+side+fmt.Sprintf(bond, side+"-a, "+side+"-b")))
	}

	inVRF := make([]string, 0, vrfVLANs)

	for i := 1; i <= vlans; i++ {
		name := fmt.Sprintf("vlan-%d", i)
		documents = append(documents, document("VLANConfig", fmt.Sprintf("name: %s\nparent: bond-near\nvlanID: %d\naddresses: [{address: 192.0.2.%d/30}]", name, 100+i, 4*i+1)))

		if i <= vrfVLANs {
			inVRF = append(inVRF, name)
		}
	}

	documents = append(documents, document("VRFConfig", "name: vrf-blue\ntable: \"123\"\nlinks: ["+strings.Join(inVRF, ", ")+"]"))

	return strings.Join(documents, "---\n")
}

// otherLinks returns a bond with a primary link, dummies for it and beside it, and a WireGuard link.
func otherLinks() string {
	documents := []string{
		document("DHCPv4Config", "name: eth0"),
		document("BondConfig", "name: bond-primary\nlinks: [dummy-a, dummy-b]\nbondMode: active-backup\nmiimon: 100\nprimary: dummy-b"),
		document("DummyLinkConfig", "name: dummy-c\naddresses: [{address: 192.0.2.101/32}]"),
		document("WireguardConfig", `name: wg-e2e
privateKey: "0NSW1TVZAPhYcCQk3fcQQTqsgZfE8tOvPWEA3xbMmVI="
listenPort: 51820
peers: [{publicKey: "a1AmpJpNUXb9JCfX+WLBPkkpQNYqFgOC4gEnrt8jKjM=", endpoint: "192.0.2.77:51820", allowedIPs: [198.51.100.0/24]}]`),
	}

	for _, slave := range []string{"dummy-a", "dummy-b"} {
		documents = append(documents, document("DummyLinkConfig", "name: "+slave))
	}

	return strings.Join(documents, "---\n")
}

// link is a link of a machine.
type link struct {
	Index            uint32     `yaml:"index"`
	LinkIndex        uint32     `yaml:"linkIndex"`
	MasterIndex      uint32     `yaml:"masterIndex"`
	OperationalState string     `yaml:"operationalState"`
	Kind             string     `yaml:"kind"`
	VLAN             vlanMember `yaml:"vlan"`
	Bond             bondMaster `yaml:"bondMaster"`
	VRF              vrfMaster  `yaml:"vrfMaster"`
	WireGuard        wireGuard  `yaml:"wireguard"`
}

type vlanMember struct {
	ID int `yaml:"vlanID"`
}

type bondMaster struct {
	Mode     string `yaml:"mode"`
	LACPRate string `yaml:"lacpRate"`
	Primary  uint32 `yaml:"primary"`
}

type vrfMaster struct {
	Table string `yaml:"table"`
}

type wireGuard struct {
	ListenPort int `yaml:"listenPort"`
	Peers      []struct {
		Endpoint string `yaml:"endpoint"`
	} `yaml:"peers"`
}

// bonded returns what the links still lack.
func bonded(links map[string]link) error {
	bond, vrf := links["bond-near"], links["vrf-blue"]

	if want := (bondMaster{Mode: "802.3ad", LACPRate: "fast"}); bond.Bond != want || vrf.VRF.Table != "123" {
		return fmt.Errorf("the bond is %+v, the VRF %+v", bond, vrf)
	}

	want := map[string]link{"bond-near": {Kind: "bond"}, "bond-far": {Kind: "bond"}, "vrf-blue": {Kind: "vrf"}}

	for _, pair := range []string{"a", "b"} {
		want["near-"+pair] = link{Kind: "veth", MasterIndex: bond.Index}
		want["far-"+pair] = link{Kind: "veth", MasterIndex: links["bond-far"].Index}
	}

	for i := 1; i <= vlans; i++ {
		vlan := link{Kind: "vlan", LinkIndex: bond.Index, VLAN: vlanMember{100 + i}}
		if i <= vrfVLANs {
			vlan.MasterIndex = vrf.Index
		}

		want[fmt.Sprintf("vlan-%d", i)] = vlan
	}

	var errs []error

	for name, w := range want {
		got := links[name]

		if got.OperationalState != "up" || got.Kind != w.Kind || got.MasterIndex != w.MasterIndex || got.VLAN != w.VLAN || w.LinkIndex != 0 && got.LinkIndex != w.LinkIndex {
			errs = append(errs, fmt.Errorf("link %s is %+v, want it up and %+v", name, got, w))
		}
	}

	return errors.Join(errs...)
}

// othersMade returns what the links of otherLinks still lack.
func othersMade(links map[string]link) error {
	bond, wg := links["bond-primary"], links["wg-e2e"]
	a, b, c := links["dummy-a"], links["dummy-b"], links["dummy-c"]

	switch {
	case bond.OperationalState != "up" || bond.Bond.Mode != "active-backup" || b.Index == 0 || bond.Bond.Primary != b.Index:
		return fmt.Errorf("the bond is %+v, want it up with link %d as primary", bond, b.Index)
	case a.MasterIndex != bond.Index || b.MasterIndex != bond.Index || c.Kind != "dummy" || c.MasterIndex != 0:
		return fmt.Errorf("the dummies are %+v, %+v and %+v, want two of them in the bond %d", a, b, c, bond.Index)
	case wg.Kind != "wireguard" || wg.WireGuard.ListenPort != 51820 || len(wg.WireGuard.Peers) != 1 || wg.WireGuard.Peers[0].Endpoint != "192.0.2.77:51820":
		return fmt.Errorf("the WireGuard link is %+v", wg)
	default:
		return nil
	}
}

// unbonded returns which of the links are still there.
func unbonded(links map[string]link) error {
	var left []string

	for name := range links {
		if kind, _, ok := strings.Cut(name, "-"); ok && slices.Contains([]string{"near", "far", "bond", "vlan", "vrf", "dummy", "wg"}, kind) {
			left = append(left, name)
		}
	}

	if len(left) > 0 {
		return fmt.Errorf("there are %q", left)
	}

	return nil
}

// bond makes links of many kinds with one patch, and removes them with another.
func bond(t *testing.T, c *cluster.Cluster) {
	for _, step := range []struct {
		name    string
		text    []byte
		reached func(map[string]link) error
		then    func(*cluster.Cluster)
	}{
		{"a bond with twenty VLANs and a VRF is up", patched(t, c, bondLinks()), bonded, negotiated},
		{"they are gone", c.Generated.ControlPlane, unbonded, nil},
		{"a bond with a primary link, dummies and a WireGuard link are up", patched(t, c, otherLinks()), othersMade, nil},
		{"they are gone too", c.Generated.ControlPlane, unbonded, nil},
	} {
		took, err := linksFollow(t, c, func() { c.Apply(step.text) }, step.reached)
		if err != nil {
			c.Fail("%s: %v", step.name, err)
		}

		c.Measured("  "+step.name, took)

		if step.then != nil {
			step.then(c)
		}
	}
}

// negotiated waits until LACP has made one of the two links of the bond: before that it carries no packets.
func negotiated(c *cluster.Cluster) {
	took := c.Until("LACP has found the partner of both links", time.Minute, func(context.Context) error {
		text := c.Talosctl("read", "/proc/net/bonding/bond-near")
		if !strings.Contains(text, "Number of ports: 2\n") || strings.Contains(text, "Partner Mac Address: 00:00:00:00:00:00\n") {
			return fmt.Errorf("the bond is\n%s", text)
		}

		return nil
	})

	c.Measured("  the bond carries packets after that", took)
}

// linksFollow watches the links of the machine, makes a change, and returns how long after it they were as they should. The watch is a
// connection that must survive the change.
func linksFollow(t *testing.T, c *cluster.Cluster, change func(), reached func(map[string]link) error) (took time.Duration, err error) {
	t.Helper()

	ctx, cancel := context.WithTimeout(t.Context(), c.Patience(bondTime))
	defer cancel()

	var (
		links = map[string]link{}
		start time.Time
		lacks = errors.New("the links are not known")
	)

	err = c.API(ctx, func(ctx context.Context, api *client.Client) error {
		for event, err := range api.WatchResources(ctx, client.Kind{Namespace: "network", Type: "LinkStatuses.net.talos.dev"}, "") {
			if err != nil {
				return fmt.Errorf("%w; %w", err, lacks)
			}

			if event.GetEventType() == cosiapi.EventType_BOOTSTRAPPED {
				start = time.Now()
				change()
			} else if err := updateLinks(links, event); err != nil {
				return err
			}

			if start.IsZero() {
				continue
			}

			if lacks = reached(links); lacks == nil {
				took = time.Since(start)

				return nil
			}
		}

		return lacks
	})

	return took, err
}

func updateLinks(links map[string]link, event *cosiapi.Event) error {
	id := event.GetResource().GetMetadata().GetId()

	if event.GetEventType() == cosiapi.EventType_DESTROYED {
		delete(links, id)

		return nil
	}

	var l link

	if err := yaml.Unmarshal([]byte(event.GetResource().GetSpec().GetYamlSpec()), &l); err != nil {
		return fmt.Errorf("link %s: %w", id, err)
	}

	links[id] = l

	return nil
}

// ethernet switches a feature of the network card off and on again.
func ethernet(t *testing.T, c *cluster.Cluster) {
	is := func(offload string, ring int) {
		t.Helper()
		c.Until(fmt.Sprintf("generic receive offload is %s, and the receive ring has %d entries", offload, ring), time.Minute, func(ctx context.Context) error {
			var status struct {
				Rings    struct{ RX int }
				Features []struct{ Name, Status string }
			}

			if err := spec(ctx, c, "EthernetStatuses.net.talos.dev", "eth0", &status); err != nil {
				return err
			}

			for _, f := range status.Features {
				if f.Name == "rx-gro" && f.Status == offload && status.Rings.RX == ring {
					return nil
				}
			}

			return fmt.Errorf("the ring has %d entries, the features are %v", status.Rings.RX, status.Features)
		})
	}

	is("on", 256)
	c.Apply(patched(t, c, document("EthernetConfig", "name: eth0\nfeatures: {rx-gro: false}\nrings: {rx: 128}")))
	is("off", 128)
	c.Apply(c.Generated.ControlPlane)
	is("on", 256)
}
