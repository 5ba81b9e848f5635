// SPDX-License-Identifier: Apache-2.0

package network

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/seed-59268b81/talos/resources/network"
)

func TestRenderResolvConf(t *testing.T) {
	var many network.ResolverStatusSpec

	for i := range 5 {
		many.DNSServers = append(many.DNSServers, netip.AddrFrom4([4]byte{10, 0, 0, byte(i)}))
		many.SearchDomains = append(many.SearchDomains, strings.Repeat("a", 60)+".test")
	}

	got := renderResolvConf(many)
	if strings.Count(got, "nameserver") != maxNameServers || len(got) > 400 || !strings.HasSuffix(got, ".test\n") {
		t.Errorf("got %q", got)
	}

	if got := renderResolvConf(network.ResolverStatusSpec{SearchDomains: []string{strings.Repeat("a", 300)}}); got != "" {
		t.Errorf("got %q, want nothing", got)
	}
}
