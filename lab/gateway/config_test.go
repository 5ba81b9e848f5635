// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/lab/netswitch"
)

func TestConfigIsChecked(t *testing.T) {
	addr := netip.MustParseAddr

	tests := []struct {
		name string
		edit func(*Config)
		want string // in the error
	}{
		{"gateway outside the subnet", func(c *Config) { c.Addr4 = addr("10.6.0.1") }, "gateway address 10.6.0.1"},
		{"machine outside the subnet", func(c *Config) { c.Hosts[1].Addr4 = addr("10.6.0.3") }, "demo-worker-1 is not in subnet"},
		{"machine with the gateway's address", func(c *Config) { c.Hosts[1].Addr4 = c.Addr4 }, "taken by the gateway"},
		{"two machines with one address", func(c *Config) { c.Hosts[1].Addr4 = c.Hosts[0].Addr4 }, "taken by demo-controlplane-1"},
		{"IPv6 in place of IPv4", func(c *Config) { c.Subnet4 = netip.MustParsePrefix("fd00::/64") }, "IPv4 subnet"},
		{"IPv4 in place of IPv6", func(c *Config) { c.Subnet6, c.Addr6 = c.Subnet4, c.Addr4 }, "IPv6 subnet"},
		{"no protocol", func(c *Config) { c.Subnet4 = netip.Prefix{} }, "neither"},
		{"machine outside the IPv6 subnet", func(c *Config) { dualStack(c); c.Hosts[0].Addr6 = addr("fd06::2") }, "not in subnet fd05::/64"},
		{"no SLAAC", func(c *Config) { c.Subnet6 = netip.MustParsePrefix("fd05::/80") }, "only in a /64"},
		{"router elsewhere", func(c *Config) { c.Router4 = addr("10.6.0.1") }, "router 10.6.0.1"},
		{"IPv6 router elsewhere", func(c *Config) { dualStack(c); c.Router6 = addr("fd06::1") }, "router fd06::1"},
		{"small MTU", func(c *Config) { dualStack(c); c.MTU = 1000 }, "MTU 1000"},
		{"hardware address of a group", func(c *Config) { c.MAC = []byte{1, 0, 0, 0, 0, 1} }, "hardware address"},
		{"hardware address of a machine", func(c *Config) { c.Hosts[0].MAC = nil }, "hardware address"},
		{"delegated prefix", func(c *Config) { dualStack(c); c.Hosts[0].Delegated = c.Subnet6 }, "delegated"},
		{"unknown service", func(c *Config) { c.Services = []Service{"tftp"} }, `unknown service "tftp"`},
		{"DHCPv6 without IPv6", func(c *Config) { c.Services = []Service{ServiceDHCPv6} }, "needs an IPv6 subnet"},
		{"DHCP without IPv4", func(c *Config) { onlyIPv6(c); c.Services = []Service{ServiceDHCP} }, "needs an IPv4 subnet"},
		{"metadata without a cloud", func(c *Config) { c.Services = []Service{ServiceMetadata} }, "needs a cloud, one of [akamai"},
		{"unknown cloud", func(c *Config) { c.Cloud = "vmware" }, `platform "vmware" has no metadata server`},
		{"lease time", func(c *Config) { c.DHCP.LeaseTime = time.Millisecond }, "DHCP behaviour: lease time"},
		{"router and none", func(c *Config) { c.DHCP.NoRouter, c.DHCP.Router = true, addr("10.5.0.9") }, "with no router"},
		{"DHCP with an IPv6 address", func(c *Config) { c.DHCP.Addr = addr("fd05::2") }, "not an IPv4 address"},
		{"DHCPv6 delay", func(c *Config) { c.DHCPv6.Delay = -1 }, "negative"},
		{"response code", func(c *Config) { c.DNS.Rcode = "BROKEN" }, "unknown response code"},
		{"stratum", func(c *Config) { c.NTP.Stratum = 17 }, "stratum 17"},
		{"leap", func(c *Config) { c.NTP.Leap = 4 }, "leap indicator 4"},
		{"kiss", func(c *Config) { c.NTP.Kiss = "NO" }, "kiss code"},
		{"drift", func(c *Config) { c.NTP.Drift = 2 }, "drift"},
		{"HTTP status", func(c *Config) { c.Metadata.Status = 99 }, "HTTP status 99"},
		{"lease time of both protocols", func(c *Config) { c.LeaseTime = -time.Second }, "lease time -1s"},
		{"announced search domain", func(c *Config) { dualStack(c); c.RA.Search = []string{"a..b"} }, `search domain "a..b"`},
		{"announced DNS servers", func(c *Config) {
			dualStack(c)
			c.RA.DNS = slices.Repeat([]netip.Addr{addr("fd05::1")}, 128)
		}, "2048 bytes"},
		{"announced interval", func(c *Config) { c.RA.Interval = 1 }, "interval"},
		{"announced lifetime", func(c *Config) { c.RA.Lifetime = 24 * time.Hour }, "lifetime"},
		{"preferred too long", func(c *Config) { c.RA.Preferred, c.RA.Valid = time.Hour, time.Minute }, "preferred"},
		{"announced MTU", func(c *Config) { c.RA.MTU = 576 }, "MTU 576"},
		{"announced DNS", func(c *Config) { c.RA.DNS = []netip.Addr{addr("10.5.0.1")} }, "not an IPv6 address"},
		{"announced router", func(c *Config) { c.RA.From.Addr = addr("fd05::9") }, "link-local"},
		{"announced router's card", func(c *Config) { c.RA.From.Addr = addr("fe80::9") }, "hardware address"},
	}

	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg := testConfig(t)
			cfg.Services = nil
			tt.edit(cfg)

			gw, err := New(netswitch.New(1), *cfg)
			if err == nil {
				gw.Close()
				t.Fatal("accepted")
			}

			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got error %q, want one with %q", err, tt.want)
			}
		})
	}
}
