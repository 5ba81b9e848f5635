// SPDX-License-Identifier: Apache-2.0

package validate

import (
	"fmt"
	"slices"

	"github.com/seed-59268b81/talos/api/contract"
	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/view"
)

// firewall warns of rules that do more than they seem to.
func (c *check) firewall(cfg *config.Config) {
	v := view.Of(cfg)

	if apiBlocked(v) {
		c.warn("NetworkDefaultActionConfig", "no other machine will reach the API: %s", apiAdvice)
	}

	if v.IngressBlocked() {
		return
	}

	// Each rule blocks its ports for others: together they accept what all of them do.
	rules := v.IngressRules()
	for i, r := range rules {
		for _, earlier := range rules[:i] {
			if r.PortSelector.Protocol == earlier.PortSelector.Protocol && overlap(r, earlier) {
				c.warn(fmt.Sprintf("NetworkRuleConfig[%s]", r.Name()), "it has ports of NetworkRuleConfig[%s]: packets to these are accepted only from networks that both have; "+
					"merge the two, or block packets by default", earlier.Name())
			}
		}
	}
}

// apiAdvice is what opens the API.
var apiAdvice = fmt.Sprintf("add a NetworkRuleConfig for TCP port %d with the networks of the administrators and of the control plane", contract.APIPort)

// overlap reports whether rules have a port in common. The protocols without ports always have.
func overlap(a, b *view.IngressRule) bool {
	return len(a.PortSelector.Ports) == 0 || slices.ContainsFunc(a.PortSelector.Ports, func(p view.PortRange) bool {
		return slices.ContainsFunc(b.PortSelector.Ports, func(q view.PortRange) bool { return p.First <= q.Last && q.First <= p.Last })
	})
}

// apiBlocked reports whether no other machine reaches the API of a machine with this configuration.
func apiBlocked(v *view.Config) bool {
	aboutAPI := func(r *view.IngressRule) bool {
		return r.PortSelector.Protocol == view.ProtocolTCP && slices.ContainsFunc(r.PortSelector.Ports, func(p view.PortRange) bool {
			return p.First <= contract.APIPort && contract.APIPort <= p.Last
		})
	}

	if v.IngressBlocked() {
		return !slices.ContainsFunc(v.IngressRules(), func(r *view.IngressRule) bool { return aboutAPI(r) && len(r.Ingress) > 0 })
	}

	return slices.ContainsFunc(v.IngressRules(), func(r *view.IngressRule) bool { return aboutAPI(r) && len(r.Ingress) == 0 })
}
