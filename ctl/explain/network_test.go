// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"strings"
	"testing"

	"github.com/seed-59268b81/talos/resources/network"
)

// TestSpecRule: a spec of the network is explained by its own name and by the name of its condition.
func TestSpecRule(t *testing.T) {
	const route, refused = "inet4/192.0.2.1//1024", "route/inet4/192.0.2.1//1024 is waiting: set route default via 192.0.2.1 dev eth0 metric 1024 table 254: network is unreachable"

	for _, tt := range []struct {
		name    string
		symptom Symptom
		state   string // replaces the state of the condition, unless it is ""
		want    string
	}{
		{"by the spec", instance[network.RouteSpecSpec](network.NamespaceName, route), "", refused},
		{"by the condition", instance[network.SpecConditionSpec](network.NamespaceName, "route/"+route), "", refused},
		{"refused", instance[network.RouteSpecSpec](network.NamespaceName, route), "refused", "route/" + route + " is not in effect: "},
		{"degraded", instance[network.RouteSpecSpec](network.NamespaceName, route), "degraded", "route/" + route + " is in effect and could not be confirmed: "},
		{"applied", instance[network.RouteSpecSpec](network.NamespaceName, route), "applied", ""},
		{"one without a condition", instance[network.RouteSpecSpec](network.NamespaceName, "other"), "", "RouteSpecs(network/other) does not exist"},
		{"a proposal is not applied", instance[network.RouteSpecSpec](network.ConfigNamespaceName, route), "", "RouteSpecs(network-config/inet4/192.0.2.1//1024) does not exist"},
		{"another type", instance[network.RouteStatusSpec](network.NamespaceName, route), "", "RouteStatuses(network/" + route + ") does not exist"},
	} {
		f := facts(t, "route-refused")

		for i, r := range f.Resources {
			if r.Type == typeOf[network.SpecConditionSpec]() && tt.state != "" {
				f.Resources[i].Spec = strings.Replace(r.Spec, "state: waiting", "state: "+tt.state, 1)
			}
		}

		finding := instanceRule(f, tt.symptom)
		says := ""

		if finding != nil {
			says = finding.Says
		}

		if (says == "") != (tt.want == "") || !strings.HasPrefix(says, tt.want) {
			t.Errorf("%s: got %q, want %q", tt.name, says, tt.want)
		}
	}
}

// TestMissingDefaultRoute: a default route that is specified is named, with or without a gateway. One of another table is not the machine's.
func TestMissingDefaultRoute(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"", "", "the default route by 192.0.2.1 on eth0 is specified, but the kernel does not have it"},
		{"gateway: 192.0.2.1", `gateway: ""`, "the default route on eth0 is specified, but the kernel does not have it"},
		{"outLinkName: eth0", `outLinkName: ""`, "the default route by 192.0.2.1 is specified, but the kernel does not have it"},
		{"table: main", "table: 100", "there is no default route"},
	} {
		f := facts(t, "route-refused")

		for i, r := range f.Resources {
			if r.Type == typeOf[network.RouteSpecSpec]() {
				f.Resources[i].Spec = strings.Replace(r.Spec, c.old, c.new, 1)
			}
		}

		if got := routeRule(f, Symptom{Kind: Route}); got == nil || got.Says != c.want {
			t.Errorf("%s: got %+v, want %q", c.new, got, c.want)
		}
	}
}
