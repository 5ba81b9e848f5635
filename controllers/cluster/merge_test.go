// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cluster

import (
	"maps"
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/controllers/controllertest"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/resources/cluster"
	configres "github.com/seed-59268b81/talos/resources/config"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/resources/network"
)

func TestMerged(t *testing.T) {
	plane := &cluster.ControlPlane{APIServerPort: 6443}

	for name, test := range map[string]struct {
		statements []statement
		want       cluster.AffiliateSpec
	}{
		"one": {[]statement{{"service/x", cluster.AffiliateSpec{Hostname: "a"}}}, cluster.AffiliateSpec{Hostname: "a"}},
		"the newest counts": {
			[]statement{
				{"kept/x", cluster.AffiliateSpec{Revision: 1, Addresses: addrs("172.20.0.1"), MachineType: configres.TypeControlPlane, ControlPlane: plane}},
				{"service/x", cluster.AffiliateSpec{Revision: 2, Addresses: addrs("172.20.0.2"), MachineType: configres.TypeWorker}},
			},
			cluster.AffiliateSpec{Revision: 2, Addresses: addrs("172.20.0.2"), MachineType: configres.TypeWorker},
		},
		"an annotation of a Node adds no address to an announcement": {
			[]statement{
				{"k8s/x", cluster.AffiliateSpec{Addresses: addrs("172.20.0.66"), Hostname: "bad", OperatingSystem: "os", ControlPlane: plane}},
				{"service/x", cluster.AffiliateSpec{Revision: 2, Addresses: addrs("172.20.0.2"), Hostname: "good"}},
			},
			cluster.AffiliateSpec{Revision: 2, Addresses: addrs("172.20.0.2"), Hostname: "good", OperatingSystem: "os"},
		},
		"of other software, all count, the service first": {
			[]statement{
				{"k8s/x", cluster.AffiliateSpec{Addresses: addrs("172.20.0.1", "172.20.0.2"), Hostname: "a", ControlPlane: plane, MachineType: configres.TypeControlPlane}},
				{"service/x", cluster.AffiliateSpec{Addresses: addrs("172.20.0.2"), Nodename: "b"}},
			},
			cluster.AffiliateSpec{
				Addresses: addrs("172.20.0.2", "172.20.0.1"), Hostname: "a", Nodename: "b", ControlPlane: plane, MachineType: configres.TypeControlPlane,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, merged(test.statements), compareAddresses); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}

			slices.Reverse(test.statements)

			if diff := cmp.Diff(test.want, merged(test.statements), compareAddresses); diff != "" {
				t.Errorf("in the other order (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMembersOfAffiliates(t *testing.T) {
	of := func(id, name string, revision uint64) cluster.AffiliateSpec {
		return cluster.AffiliateSpec{NodeID: id, Nodename: name, Revision: revision}
	}

	for name, test := range map[string]struct {
		affiliates []cluster.AffiliateSpec
		want       map[string]string
	}{
		"no name":                          {[]cluster.AffiliateSpec{of("b", "", 1)}, map[string]string{}},
		"a wiped machine is the newer one": {[]cluster.AffiliateSpec{of("b", "n", 1), of("c", "n", 2)}, map[string]string{"n": "c"}},
		"this machine keeps its name":      {[]cluster.AffiliateSpec{of("own", "n", 1), of("b", "n", 9)}, map[string]string{"n": "own"}},
		"of the same age":                  {[]cluster.AffiliateSpec{of("c", "n", 1), of("b", "n", 1)}, map[string]string{"n": "b"}},
	} {
		got := map[string]string{}
		for id, m := range members("own", test.affiliates) {
			got[id] = m.NodeID
		}

		if !maps.Equal(got, test.want) {
			t.Errorf("%s: got %v, want %v", name, got, test.want)
		}
	}
}

const legacy = `
version: v1alpha1
machine: {type: controlplane}
cluster:
  id: cLSu6XVsIEpLqcZon1PmazJAGCAtq-JBnHDyNFKnFxU=
  secret: AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA=
  clusterName: example
  discovery:
    enabled: true
`

const identityText = `
---
apiVersion: v1alpha1
kind: DiscoveryIdentityConfig
clusterID: BAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4fIA=
clusterSecret: AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA=
`

func serviceDocument(name, endpoint string) string {
	return "\n---\napiVersion: v1alpha1\nkind: DiscoveryServiceConfig\nname: " + name + "\nendpoint: " + endpoint + "\n"
}

func TestDiscoveryConfig(t *testing.T) {
	const bare = "version: v1alpha1\nmachine: {type: worker}\ncluster: {}\n"

	for name, test := range map[string]struct {
		text, want string // of the services
		enabled    bool
		nodes      bool
	}{
		"off":                        {bare, "", false, false},
		"an identity alone":          {bare + identityText, "", false, false},
		"documents, in their order":  {bare + identityText + serviceDocument("b", "https://b.example/") + serviceDocument("a", "http://a.example"), "b=b.example:443 a=a.example:80!", true, false},
		"a document with a port":     {bare + identityText + serviceDocument("a", "grpc://[fd00::2]:50002"), "a=[fd00::2]:50002", true, false},
		"legacy":                     {legacy, "legacy=discovery.talos.dev:443", true, false},
		"legacy with an endpoint":    {legacy + "    registries: {service: {endpoint: 'http://d.example:3000'}}", "legacy=d.example:3000!", true, false},
		"legacy without a service":   {legacy + "    registries: {service: {disabled: true}}", "", true, false},
		"legacy with Nodes":          {legacy + "    registries: {kubernetes: {disabled: false}}", "legacy=discovery.talos.dev:443", true, true},
		"legacy with Nodes disabled": {legacy + "    registries: {kubernetes: {disabled: true}}", "legacy=discovery.talos.dev:443", true, false},
	} {
		t.Run(name, func(t *testing.T) {
			cfg, err := config.Decode([]byte(test.text))
			if err != nil {
				t.Fatal(err)
			}

			spec, err := discoveryConfig(view.Of(cfg))
			if err != nil {
				t.Fatal(err)
			}

			services := ""

			for _, s := range spec.ServiceEndpoints {
				if services != "" {
					services += " "
				}

				services += s.Name + "=" + s.Endpoint

				if s.Insecure {
					services += "!"
				}
			}

			if services != test.want || spec.DiscoveryEnabled != test.enabled || spec.RegistryKubernetesEnabled != test.nodes {
				t.Errorf("got %q, %+v; want %q", services, spec, test.want)
			}

			if spec.DiscoveryEnabled && (len(spec.ServiceEncryptionKey) != 32 || spec.ServiceClusterID == "") {
				t.Errorf("got a key of %d bytes, cluster %q", len(spec.ServiceEncryptionKey), spec.ServiceClusterID)
			}
		})
	}
}

// TestLocalAffiliate: the affiliate of this machine follows its configuration, name, addresses and etcd, and has no virtual address.
func TestLocalAffiliate(t *testing.T) {
	dir := t.TempDir()
	n := controllertest.Start(t, configController(), infoController(), localAffiliateController(dir))

	n.Configure([]byte(legacy + "\n---\napiVersion: v1alpha1\nkind: Layer2VIPConfig\nname: 172.20.0.50\nlink: eth0\n"))
	controllertest.Set(n, cluster.LocalIdentityID, cluster.IdentitySpec{NodeID: "own"})
	controllertest.Set(n, network.HostnameID, network.HostnameStatusSpec{Hostname: "cp-1", Domainname: "example.com"})
	controllertest.Set(n, k8s.NodenameID, k8s.NodenameSpec{Nodename: "cp-1"})
	controllertest.Set(n, routed, network.NodeAddressSpec{Addresses: []netip.Prefix{netip.MustParsePrefix("172.20.0.50/32"), netip.MustParsePrefix("172.20.0.2/24")}})

	got := controllertest.Wait[cluster.AffiliateSpec](n, "own", nil)
	want := cluster.AffiliateSpec{
		NodeID: "own", Addresses: addrs("172.20.0.2"), Hostname: "cp-1.example.com", Nodename: "cp-1", OperatingSystem: got.OperatingSystem,
		MachineType: configres.TypeControlPlane, ControlPlane: &cluster.ControlPlane{APIServerPort: 6443},
	}

	if diff := cmp.Diff(want, got, compareAddresses); diff != "" || got.OperatingSystem == "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	if info := controllertest.Wait[cluster.InfoSpec](n, cluster.InfoID, nil); info.ClusterName != "example" || info.ClusterID == "" {
		t.Errorf("got %+v, want the cluster's name and identity", info)
	}

	// Without addresses, for a moment, it stays.
	controllertest.Set(n, routed, network.NodeAddressSpec{})
	controllertest.Set(n, network.HostnameID, network.HostnameStatusSpec{Hostname: "cp-2"})
	controllertest.Set(n, routed, network.NodeAddressSpec{Addresses: []netip.Prefix{netip.MustParsePrefix("172.20.0.3/24")}})
	controllertest.Wait(n, "own", func(a cluster.AffiliateSpec) bool {
		return a.Hostname == "cp-2" && a.Addresses[0] == addrs("172.20.0.3")[0]
	})

	controllertest.Set(n, network.HostnameID, network.HostnameStatusSpec{Hostname: "cp-3"})
	n.Configure([]byte("version: v1alpha1\nmachine: {type: worker}\ncluster: {}\n"))
	controllertest.Wait(n, cluster.ConfigID, func(c cluster.ConfigSpec) bool { return !c.DiscoveryEnabled })

	if _, err := n.WatchFor(t.Context(), resource.PointerOf[cluster.AffiliateSpec]("", "own"), state.EventTypeIs(state.Destroyed)); err != nil {
		t.Errorf("the affiliate stays when discovery is off: %v", err)
	}
}
