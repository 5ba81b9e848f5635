// SPDX-License-Identifier: Apache-2.0

package network

import (
	"slices"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/network/nethelpers"
	"github.com/seed-59268b81/talos/sys/netlink/netlinktest"
)

// The metric of an address changes in place; without a metric the kernel chooses it when the address is added.
func TestMetricOfAnAddress(t *testing.T) {
	var k netlinktest.Kernel

	k.Plug(ethernet("eth0", 1))

	planner := &addressPlanner{leavingSince: map[string]time.Time{}}
	with := func(priority uint32) []network.AddressSpecSpec {
		a := addressSpec("eth0", prefix("192.0.2.7/24"), network.LayerConfiguration)
		a.Family, a.Priority = nethelpers.FamilyInet4, priority

		return []network.AddressSpecSpec{a}
	}

	for _, tt := range []struct {
		priority uint32
		want     string
	}{
		{0, "add address 192.0.2.7/24 to eth0"},
		{77, "address 192.0.2.7/24 on eth0: metric 77"},
		{78, "address 192.0.2.7/24 on eth0: metric 78"},
		{0, "replace address 192.0.2.7/24 on eth0 by 192.0.2.7/24"},
	} {
		if got := settle(t, &k, planner, with(tt.priority), nil); !slices.Equal(got, []string{tt.want}) {
			t.Errorf("metric %d: got %q, want %q", tt.priority, got, tt.want)
		}
	}
}
