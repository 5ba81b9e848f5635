// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	gocmp "github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"

	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/block"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/runtime"
	"github.com/seed-59268b81/talos/sys/meta"
	"github.com/seed-59268b81/talos/sys/platform"
	"github.com/seed-59268b81/talos/sys/platform/cloud"
)

// TestPlatformSpecs turns what platforms say into specs, on a machine with the cards eth0 (…:01) and eth1 (…:02, of an altered address):
// -rewrite writes the results; commit only what you understand. The commands are
//
//	machine PLATFORM   a cloud.Machine
//	metal              the value of META
func TestPlatformSpecs(t *testing.T) {
	datadriven.RunTest(t, "testdata/platform.txt", func(t *testing.T, d *datadriven.TestData) string {
		var (
			spec    network.PlatformConfigSpec
			ignored []string
		)

		switch d.Cmd {
		case "machine":
			var m cloud.Machine
			if err := yaml.Unmarshal([]byte(d.Input), &m); err != nil {
				t.Fatal(err)
			}

			spec, ignored = platformSpecs(d.CmdArgs[0].Key, m, given(t, "", ""))
		case "metal":
			var err error
			if spec, err = metalPlatformConfig([]byte(d.Input)); err != nil {
				return err.Error() + "\n"
			}
		default:
			t.Fatalf("unknown command %s", d.Cmd)
		}

		text, err := yaml.Marshal(spec)
		if err != nil {
			t.Fatal(err)
		}

		for _, what := range ignored {
			text = fmt.Appendln(text, "ignored:", what)
		}

		return string(text)
	})
}

// A cloud describes the machine after some time: its network replaces the defaults, and the configuration has precedence over it.
func TestPlatformLayer(t *testing.T) {
	var (
		mu       sync.Mutex
		answered bool
	)

	described := cloud.Machine{
		Hostname: "node-1.cloud.example", InstanceID: "i-1", ProviderID: "aws:///z/i-1", External: []netip.Addr{addr("198.51.100.7")},
		Resolvers: []netip.Addr{addr("203.0.113.53")},
		Links: []cloud.Link{{
			MAC: "52:54:00:00:00:01", MTU: 1400, Addresses: []netip.Prefix{prefix("203.0.113.2/24")}, Routes: []cloud.Route{{Gateway: addr("203.0.113.1")}},
		}},
	}

	m := newMachineWith(t, func(d *Deps) {
		d.Platform = platform.Platform{}.On("aws")
		d.Metadata = func(context.Context) (cloud.Machine, error) {
			mu.Lock()
			defer mu.Unlock()

			if !answered {
				return cloud.Machine{}, errors.New("network is unreachable")
			}

			return described, nil
		}
	}, ethernet("eth0", 1))
	m.patience = 10 * time.Second
	m.grant(lease())
	m.boot("")

	// DHCP is the default: without it the cloud could not be asked.
	await(m, "", "eth0/172.20.0.2/24", func(s network.AddressStatusSpec) bool { return s.LinkName == "eth0" })

	mu.Lock()
	answered = true
	mu.Unlock()

	await(m, "", "eth0/203.0.113.2/24", func(s network.AddressStatusSpec) bool { return s.LinkName == "eth0" })
	awaitGone[network.AddressStatusSpec](m, "", "eth0/172.20.0.2/24")
	await(m, "", "inet4/203.0.113.1//1024", func(s network.RouteStatusSpec) bool { return s.OutLinkName == "eth0" })
	await(m, "", "eth0", func(s network.LinkStatusSpec) bool { return s.MTU == 1400 })
	await(m, "", network.HostnameID, func(s network.HostnameStatusSpec) bool { return s.FQDN() == "node-1.cloud.example" })
	await(m, "", network.ResolverID, func(s network.ResolverStatusSpec) bool {
		return slices.Equal(s.DNSServers, []netip.Addr{addr("203.0.113.53")})
	})
	await(m, "", runtime.PlatformMetadataID, func(s runtime.PlatformMetadataSpec) bool {
		return s.Platform == "aws" && s.ProviderID == "aws:///z/i-1"
	})

	// The external address is known, and no address of a link.
	await(m, "", network.NodeAddressAccumulativeID, func(s network.NodeAddressSpec) bool {
		return slices.Contains(s.Addresses, prefix("198.51.100.7/32"))
	})
	await(m, "", network.NodeAddressCurrentID, func(s network.NodeAddressSpec) bool {
		return slices.Equal(s.Addresses, []netip.Prefix{prefix("203.0.113.2/24")})
	})

	m.configure("version: v1alpha1\nmachine:\n  type: worker\n  network:\n    hostname: chosen\n")
	await(m, "", network.HostnameID, func(s network.HostnameStatusSpec) bool { return s.Hostname == "chosen" })
}

// On metal, META has the network.
func TestPlatformOfMetal(t *testing.T) {
	m := newMachine(t, ethernet("eth0", 1))
	m.boot("")

	await(m, "", runtime.PlatformMetadataID, func(s runtime.PlatformMetadataSpec) bool { return s.Platform == "metal" })

	set := func(text string) {
		if err := setMeta(m, text); err != nil {
			t.Fatal(err)
		}
	}

	set("links: [{name: eth0, up: true}]\naddresses: [{address: 203.0.113.2/24, linkName: eth0}]\n")
	await(m, "", "eth0/203.0.113.2/24", func(s network.AddressStatusSpec) bool { return s.LinkName == "eth0" })
	await(m, "", runtime.PlatformMetadataID, func(s runtime.PlatformMetadataSpec) bool { return s.Platform == "metal" })

	set("addresses: nonsense")
	awaitGone[network.AddressStatusSpec](m, "", "eth0/203.0.113.2/24")
}

// What a cloud said before has effect until the cloud answers, and the answer is stored.
func TestPlatformCache(t *testing.T) {
	disk := t.TempDir()
	path := filepath.Join(disk, platformFile)

	before, _ := platformSpecs("aws", cloud.Machine{
		InstanceID: "i-1", Links: []cloud.Link{{Name: "eth0", Addresses: []netip.Prefix{prefix("203.0.113.2/24")}}},
	}, given(t, "", ""))

	text, err := yaml.Marshal(before)
	if err != nil {
		t.Fatal(err)
	}

	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}

	answer := make(chan cloud.Machine, 1)

	m := newMachineWith(t, func(d *Deps) {
		d.Platform = platform.Platform{}.On("aws")
		d.Metadata = func(ctx context.Context) (cloud.Machine, error) {
			select {
			case <-ctx.Done():
				return cloud.Machine{}, ctx.Err()
			case described := <-answer:
				return described, nil
			}
		}
	}, ethernet("eth0", 1))
	m.patience = 10 * time.Second
	m.grant(lease())
	m.boot("")

	mount := func(request string) {
		await[block.VolumeMountRequestSpec](m, "", request, nil)
		put(m, request, block.VolumeMountStatusSpec{VolumeID: block.VolumeState, Target: disk})
		awaitGone[block.VolumeMountRequestSpec](m, "", request)
	}

	mount("platform-load-" + block.VolumeState)
	await(m, "", "eth0/203.0.113.2/24", func(s network.AddressStatusSpec) bool { return s.LinkName == "eth0" })
	await(m, "", runtime.PlatformMetadataID, func(s runtime.PlatformMetadataSpec) bool { return s.InstanceID == "i-1" })

	// A disk may have been copied to another machine: DHCP stays the default until the cloud answers.
	await(m, "", "eth0/172.20.0.2/24", func(s network.AddressStatusSpec) bool { return s.LinkName == "eth0" })

	answer <- cloud.Machine{InstanceID: "i-2", Links: []cloud.Link{{MAC: "52:54:00:00:00:01", Addresses: []netip.Prefix{prefix("203.0.113.3/24")}}}}

	await(m, "", "eth0/203.0.113.3/24", func(s network.AddressStatusSpec) bool { return s.LinkName == "eth0" })
	awaitGone[network.AddressStatusSpec](m, "", "eth0/203.0.113.2/24")
	mount("platform-store-" + block.VolumeState)

	stored, err := loadPlatform(path)
	if err != nil || stored == nil || stored.Metadata.InstanceID != "i-2" || stored.Addresses[0].Address != prefix("203.0.113.3/24") {
		t.Errorf("stored %+v, %v", stored, err)
	}
}

// What is stored can be read, and is the same.
func TestStoredPlatform(t *testing.T) {
	path := filepath.Join(t.TempDir(), platformFile)

	if got, err := loadPlatform(path); got != nil || err != nil {
		t.Errorf("without a file: got %+v, %v", got, err)
	}

	want, _ := platformSpecs("openstack", cloud.Machine{
		Hostname: "node-1.example", Tags: map[string]string{"a": "b"}, Resolvers: []netip.Addr{addr("192.0.2.53")}, TimeServers: []string{"time.example"},
		External: []netip.Addr{addr("198.51.100.7")},
		Links: []cloud.Link{
			{Name: "bond0", MTU: 1400, Bond: &cloud.Bond{Mode: "802.3ad", Links: []string{"52:54:00:00:00:01"}, MIIMon: 100}, DHCP4: true, DHCP6: true},
			{
				VLAN: &cloud.VLAN{ID: 7, Parent: "bond0"}, Addresses: []netip.Prefix{prefix("203.0.113.2/24")},
				Routes: []cloud.Route{
					{Gateway: addr("203.0.113.1")}, {Destination: prefix("10.0.0.0/8"), Gateway: addr("203.0.113.9"), Metric: 5},
					{Gateway: addr("198.51.100.1"), Source: addr("203.0.113.2"), Table: 100, MTU: 1300, OnLink: true},
				},
			},
			{Name: "br0", Bridge: &cloud.Bridge{Links: []string{"bond0"}, STP: true}},
		},
	}, given(t, "", ""))

	text, err := yaml.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}

	if err := storePlatform(path, text); err != nil {
		t.Fatal(err)
	}

	got, err := loadPlatform(path)
	if err != nil {
		t.Fatal(err)
	}

	again, err := yaml.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}

	if diff := gocmp.Diff(string(text), string(again)); diff != "" {
		t.Errorf("(-stored +loaded):\n%s", diff)
	}

	if err := os.WriteFile(path, []byte("addresses: nonsense"), 0o600); err != nil {
		t.Fatal(err)
	}

	if got, err := loadPlatform(path); got != nil || err == nil {
		t.Errorf("a damaged file: got %+v, %v", got, err)
	}
}

func setMeta(m *machine, text string) error {
	return typed.Set(m.t.Context(), m.state, "", meta.MetalNetworkPlatformConfig.String(), runtime.MetaKeySpec{Value: text})
}

// FuzzMetalPlatformConfig checks that whatever META has, each spec names its link and is of the platform's layer.
func FuzzMetalPlatformConfig(f *testing.F) {
	f.Add("links: [{name: eth0, up: true}]\naddresses: [{address: 203.0.113.2/24, linkName: eth0}]\nroutes: [{gateway: 203.0.113.1, outLinkName: eth0}]\n")
	f.Add("operators: [{operator: dhcp4, linkName: eth0}]\nhostnames: [{hostname: x}]\nresolvers: [{dnsServers: [1.1.1.1]}]\nexternalIPs: [198.51.100.7]\n")
	f.Add("routes: [{dst: 192.0.2.0/24, type: blackhole}, {nextHops: [{gateway: 203.0.113.1, outLinkName: eth0, weight: 2}]}, {gateway: fe80::1, outLinkName: eth0, flags: '0x4'}]\n")
	f.Fuzz(func(t *testing.T, text string) {
		spec, err := metalPlatformConfig([]byte(text))
		if err != nil {
			return
		}

		for _, a := range spec.Addresses {
			if a.LinkName == "" || !a.Address.IsValid() || a.Layer != network.LayerPlatform {
				t.Errorf("address %+v", a)
			}
		}

		for _, l := range spec.Links {
			if l.Name == "" || l.Layer != network.LayerPlatform {
				t.Errorf("link %+v", l)
			}
		}

		for _, r := range spec.Routes {
			if r.OutLinkName == "" && len(r.NextHops) == 0 && !toNowhere(r.Type) || r.Layer != network.LayerPlatform || strings.Contains(r.ID(), "invalid") {
				t.Errorf("route %+v", r)
			}
		}
	})
}
