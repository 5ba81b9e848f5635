// SPDX-License-Identifier: Apache-2.0

package network

import (
	"net/netip"
	"strings"
	"testing"
)

func TestRenderResolvConf(t *testing.T) {
	var (
		servers []netip.Addr
		search  []string
	)

	for i := range 5 {
		servers = append(servers, netip.AddrFrom4([4]byte{10, 0, 0, byte(i)}))
		search = append(search, strings.Repeat("a", 60)+".test")
	}

	got := renderResolvConf(servers, search)
	if strings.Count(got, "nameserver") != maxNameServers || len(got) > 400 || !strings.HasSuffix(got, ".test\n") {
		t.Errorf("got %q", got)
	}

	if got := renderResolvConf(nil, []string{strings.Repeat("a", 300)}); got != "" {
		t.Errorf("got %q, want nothing", got)
	}
}
