// SPDX-License-Identifier: Apache-2.0

package validate_test

import (
	"strings"
	"testing"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/validate"
)

func firewall(action string, rules ...string) string {
	text := "machine: {type: worker}\n---\napiVersion: v1alpha1\nkind: NetworkDefaultActionConfig\ningress: " + action + "\n"
	for i, r := range rules {
		text += "---\napiVersion: v1alpha1\nkind: NetworkRuleConfig\nname: r" + string(rune('0'+i)) + "\n" + r + "\n"
	}

	return text
}

// TestFirewall: a running machine does not become unreachable by a change.
func TestFirewall(t *testing.T) {
	const (
		apid    = "portSelector: {protocol: tcp, ports: [50000-50001]}\ningress: [{subnet: 192.0.2.0/24}]"
		apidToo = "portSelector: {protocol: tcp, ports: [50000]}\ningress: [{subnet: 198.51.100.0/24}]"
		none    = "portSelector: {protocol: tcp, ports: [50000]}"
		udp     = "portSelector: {protocol: udp, ports: [50000]}\ningress: [{subnet: 192.0.2.0/24}]"
		ping    = "portSelector: {protocol: icmp}\ningress: [{subnet: 192.0.2.0/24}]"
	)

	for name, test := range map[string]struct {
		text    string
		blocked bool
		warning string
	}{
		"accept":                         {firewall("accept"), false, ""},
		"block without rules":            {firewall("block"), true, "no other machine will reach the API"},
		"block with a rule":              {firewall("block", apid), false, ""},
		"block with a rule for no one":   {firewall("block", none), true, "no other machine will reach the API"},
		"block with another protocol":    {firewall("block", udp, ping), true, "no other machine will reach the API"},
		"accept with a rule":             {firewall("accept", apid), false, ""},
		"accept with a rule for no one":  {firewall("accept", none), true, "no other machine will reach the API"},
		"accept with two about one port": {firewall("accept", apid, apidToo), false, "NetworkRuleConfig[r1]: it has ports of NetworkRuleConfig[r0]"},
		"accept with two protocols":      {firewall("accept", apid, udp, ping), false, ""},
		"block with two about one port":  {firewall("block", apid, apidToo), false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			from, err := config.Decode([]byte("machine: {type: worker}\n"))
			if err != nil {
				t.Fatal(err)
			}

			to, err := config.Decode([]byte(test.text))
			if err != nil {
				t.Fatal(err)
			}

			if _, err := validate.Change(from, to); (err != nil) != test.blocked {
				t.Errorf("a change to it: got %v, want an error: %t", err, test.blocked)
			}

			if _, err := validate.Change(to, to); err != nil {
				t.Errorf("no change: got %v", err)
			}

			warnings, _ := validate.Validate(to, validate.Container)

			found := ""
			for _, w := range warnings {
				if strings.Contains(w, "reach the API") || strings.Contains(w, "it has ports of") {
					found += w
				}
			}

			if !strings.Contains(found, test.warning) || test.warning == "" && found != "" {
				t.Errorf("got warnings %q, want %q", warnings, test.warning)
			}
		})
	}
}
