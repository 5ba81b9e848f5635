// SPDX-License-Identifier: Apache-2.0

package cloud

import (
	"context"
	"maps"
	"net"
	"slices"
	"strings"
	"testing"
)

// fuzz replaces one document of a platform by any text, and checks what a machine relies on.
func fuzz(f *testing.F, name string, more ...string) {
	f.Helper()

	c := onLab(f, name)
	docs := recordedOf(f, c)
	paths := slices.Sorted(maps.Keys(docs))

	for i, path := range paths {
		f.Add(uint8(i), docs[path])

		for _, text := range more {
			f.Add(uint8(i), []byte(text))
		}
	}

	f.Fuzz(func(t *testing.T, which uint8, text []byte) {
		docs := maps.Clone(docs)
		docs[paths[int(which)%len(paths)]] = text

		for _, u := range c.user {
			if u.decode != nil {
				_, _ = u.decode(docs, text) // only a panic is wrong
			}
		}

		if c.more != nil {
			c.more(docs)
		}

		check(t, c.read(docs))
	})
}

// Network configurations of cloud-init with what those of the lab do not have.
const (
	networkV1 = `{version: 1, config: [{type: physical, name: e, subnets: [{type: static, address: 10.5.0.2/24, odd: 1}]},
  {type: route, destination: 0.0.0.0, netmask: 0.0.0.0, gateway: 10.5.0.1}, {type: bond, name: b, params: {bond-odd: [x]}}]}`
	networkV2 = `{version: 2, odd: {x: {[a]: b}}, ethernets: {e: {addresses: [10.5.0.2/24: {label: x}], accept-ra: false, routing-policy: [{}],
  routes: [{to: default, via: 10.9.0.1, on-link: true, table: 7, from: 10.5.0.2}, {to: 10.6.0.1/8, via: 0.0.0.0}]}}, bridges: {b: {interfaces: [e]}}}`
)

// recordedOf returns the documents of a machine of the lab.
func recordedOf(f *testing.F, c *Cloud) documents {
	f.Helper()

	if c.name == "opennebula" {
		return documents{contextFile: []byte("ETH0_MAC='52:54:00:00:00:02'\nETH0_IP='10.5.0.2'\nETH0_MASK='255.255.255.0'\nETH0_GATEWAY='10.5.0.1'\nNAME='it'\\''s'\n")}
	}

	if c.name == "vmware" {
		return documents{vmwareMetadata: []byte(
			"instance-id: i\nlocal-hostname: n\nnetwork:\n  version: 2\n  ethernets:\n    a:\n      match: {name: ens*}\n      addresses: [10.5.0.2/24]\n")}
	}

	fetch := fetchFrom(f, labInstance(c.name))

	for _, base := range c.bases {
		if docs, err := c.facts(context.Background(), fetch, base); err == nil && len(docs) > 0 {
			return docs
		}
	}

	f.Fatalf("%s has no documents", c.name)

	return nil
}

func check(t *testing.T, m Machine) {
	t.Helper()

	if len(m.Ignored) > maxIgnored {
		t.Errorf("%d values are ignored, want at most %d", len(m.Ignored), maxIgnored)
	}

	for _, a := range append(slices.Clone(m.Resolvers), m.External...) {
		if !a.IsValid() || a.Zone() != "" || a.Is4In6() {
			t.Errorf("address %v", a)
		}
	}

	for _, l := range m.Links {
		if mac, err := net.ParseMAC(l.MAC); l.MAC != "" && (err != nil || mac.String() != l.MAC || strings.ToLower(l.MAC) != l.MAC) {
			t.Errorf("hardware address %q", l.MAC)
		}

		for _, a := range l.Addresses {
			if !a.IsValid() {
				t.Errorf("link %+v: address %v", l, a)
			}
		}

		for _, r := range l.Routes {
			if r.Source.Zone() != "" || !r.Gateway.IsValid() && !r.Destination.IsValid() || r.Destination.IsValid() && r.Destination.Masked() != r.Destination {
				t.Errorf("link %+v: route %+v", l, r)
			}
		}
	}
}

func FuzzAkamai(f *testing.F)       { fuzz(f, "akamai") }
func FuzzAlibabaCloud(f *testing.F) { fuzz(f, "alibabacloud") }
func FuzzAWS(f *testing.F)          { fuzz(f, "aws") }
func FuzzAzure(f *testing.F)        { fuzz(f, "azure") }
func FuzzCloudStack(f *testing.F)   { fuzz(f, "cloudstack") }
func FuzzDigitalOcean(f *testing.F) { fuzz(f, "digital-ocean") }
func FuzzEquinixMetal(f *testing.F) { fuzz(f, "equinixMetal") }
func FuzzExoscale(f *testing.F)     { fuzz(f, "exoscale") }
func FuzzGCP(f *testing.F)          { fuzz(f, "gcp") }
func FuzzHCloud(f *testing.F)       { fuzz(f, "hcloud") }
func FuzzNoCloud(f *testing.F)      { fuzz(f, "nocloud", networkV1, networkV2) }
func FuzzOpenNebula(f *testing.F)   { fuzz(f, "opennebula") }
func FuzzOpenStack(f *testing.F)    { fuzz(f, "openstack") }
func FuzzOracle(f *testing.F)       { fuzz(f, "oracle") }
func FuzzScaleway(f *testing.F)     { fuzz(f, "scaleway") }
func FuzzUpCloud(f *testing.F)      { fuzz(f, "upcloud") }
func FuzzVMware(f *testing.F)       { fuzz(f, "vmware") }
func FuzzVultr(f *testing.F)        { fuzz(f, "vultr") }

// FuzzSeedURL checks that no serial number leads to something other than a server.
func FuzzSeedURL(f *testing.F) {
	f.Add("ds=nocloud;s=http://10.5.0.1/seed")
	f.Fuzz(func(t *testing.T, serial string) {
		if got := seedURL(serial); got != "" && (!strings.HasPrefix(got, "http") || !strings.HasSuffix(got, "/")) {
			t.Errorf("got %q", got)
		}
	})
}

// FuzzAzureReady checks the report for any goal state.
func FuzzAzureReady(f *testing.F) {
	f.Add([]byte("<GoalState><Incarnation>1</Incarnation></GoalState>"))
	f.Fuzz(func(_ *testing.T, text []byte) { _, _ = azureReady(text) }) // only a panic is wrong
}

// FuzzOVF checks that an OVF environment with any text has no configuration that is larger than the text can be.
func FuzzOVF(f *testing.F) {
	f.Add([]byte(`<Environment><PropertySection><Property key="talos.config" value="dmVyc2lvbjogdjFhbHBoYTEK"/></PropertySection></Environment>`))
	f.Add([]byte(`<Environment><ProvisioningSection><LinuxProvisioningConfigurationSet><CustomData>H4sIAAAAAAAA</CustomData>` +
		`</LinuxProvisioningConfigurationSet></ProvisioningSection></Environment>`))
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, read := range []func(documents, []byte) ([]byte, error){fromOVF, fromCustomData} {
			if got, err := read(nil, text); len(got) > maxDocument || err != nil && got != nil {
				t.Errorf("got %d bytes, %v", len(got), err)
			}
		}
	})
}

// FuzzEncoding checks the encodings of guestinfo.
func FuzzEncoding(f *testing.F) {
	f.Add([]byte("machine: {}"), "")
	f.Add([]byte("bWFjaGluZToge30K"), "base64")
	f.Add([]byte("H4sIAAAAAAAA"), "gzip+base64")
	f.Fuzz(func(t *testing.T, text []byte, encoding string) {
		if got, err := decodeValue(text, encoding); len(got) > max(len(text), maxDocument) || err != nil && got != nil {
			t.Errorf("got %d bytes, %v", len(got), err)
		}
	})
}
