// SPDX-License-Identifier: Apache-2.0

package network

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/network/nethelpers"
	"github.com/seed-59268b81/talos/sys/dhcp4"
)

func TestLeaseRoutes(t *testing.T) {
	op := network.OperatorSpecSpec{LinkName: "eth0", DHCP4: network.DHCP4OperatorSpec{RouteMetric: 100}}

	for _, tt := range []struct {
		name   string
		lease  dhcp4.Lease
		routes []string
	}{
		{"two routers", dhcp4.Lease{Address: prefix("10.0.0.2/24"), Routes: []dhcp4.Route{{Destination: prefix("0.0.0.0/0"), Gateway: addr("10.0.0.1")}, {Destination: prefix("0.0.0.0/0"), Gateway: addr("10.0.0.9")}}}, []string{"inet4/10.0.0.1//100", "inet4/10.0.0.9//101"}},
		{"a router elsewhere", dhcp4.Lease{Address: prefix("10.0.0.2/32"), Routes: []dhcp4.Route{{Destination: prefix("0.0.0.0/0"), Gateway: addr("10.9.9.1")}}}, []string{"inet4//10.9.9.1/32/100", "inet4/10.9.9.1//100"}},
		{"on the link", dhcp4.Lease{Address: prefix("10.0.0.2/24"), Routes: []dhcp4.Route{{Destination: prefix("169.254.169.254/32")}}}, []string{"inet4//169.254.169.254/32/100"}},
	} {
		var got []string
		for _, r := range fromLease(op, &tt.lease, "").routes {
			got = append(got, r.ID())

			if r.Source != tt.lease.Address.Addr() || r.Protocol != nethelpers.ProtocolDHCP {
				t.Errorf("%s: got %+v", tt.name, r)
			}
		}

		if diff := cmp.Diff(tt.routes, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}

	op.DHCP4.RouteMetric = math.MaxUint32
	for _, r := range fromLease(op, &dhcp4.Lease{Address: prefix("10.0.0.2/24"), Routes: []dhcp4.Route{{Gateway: addr("10.0.0.1")}, {Gateway: addr("10.0.0.9")}}}, "").routes {
		if r.Priority != math.MaxUint32 {
			t.Errorf("the largest metric: got %d by %s", r.Priority, r.Gateway)
		}
	}

	op.DHCP4.SkipRoutes = true
	if got := fromLease(op, &dhcp4.Lease{Address: prefix("10.0.0.2/24"), Routes: []dhcp4.Route{{Destination: prefix("0.0.0.0/0"), Gateway: addr("10.0.0.1")}}}, "").routes; got != nil {
		t.Errorf("routes are not wanted: got %v", got)
	}
}
