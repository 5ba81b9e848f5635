// SPDX-License-Identifier: Apache-2.0

package validate_test

import (
	"cmp"
	"net/netip"
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

// TestExcludes: a change does not shut out the machine that it comes from.
func TestExcludes(t *testing.T) {
	const (
		office = "portSelector: {protocol: tcp, ports: [50000]}\ningress: [{subnet: 192.0.2.0/24, except: 192.0.2.128/25}]"
		all    = "portSelector: {protocol: tcp, ports: [1-65535]}\ningress: [{subnet: 0.0.0.0/0}]"
		udp    = "portSelector: {protocol: udp, ports: [50000]}\ningress: [{subnet: 0.0.0.0/0}]"
		web    = "portSelector: {protocol: tcp, ports: [443]}\ningress: [{subnet: 203.0.113.0/24}]"
	)

	for name, test := range map[string]struct {
		from, to, caller string
		excluded         bool
	}{
		"in a network":                      {"", firewall("block", office), "192.0.2.7", false},
		"in the part that is left out":      {"", firewall("block", office), "192.0.2.129", true},
		"in another network":                {"", firewall("block", web, office), "198.51.100.7", true},
		"another family":                    {"", firewall("block", all), "2001:db8::7", true},
		"another protocol":                  {"", firewall("block", udp), "192.0.2.7", true},
		"one rule of two":                   {"", firewall("block", office, all), "198.51.100.7", false},
		"accepted by default":               {"", firewall("accept", web), "198.51.100.7", false},
		"blocked by a rule":                 {"", firewall("accept", office), "198.51.100.7", true},
		"blocked by one rule of two":        {"", firewall("accept", all, office), "198.51.100.7", true},
		"excluded before":                   {firewall("block", office), firewall("block", office, web), "198.51.100.7", false},
		"not excluded before":               {firewall("block", all), firewall("block", office), "198.51.100.7", true},
		"a first configuration excludes it": {"none", firewall("block", office), "198.51.100.7", true},
	} {
		t.Run(name, func(t *testing.T) {
			decode := func(text string) *config.Config {
				cfg, err := config.Decode([]byte(text))
				if err != nil {
					t.Fatal(err)
				}

				return cfg
			}

			var from *config.Config
			if test.from != "none" {
				from = decode(cmp.Or(test.from, "machine: {type: worker}\n"))
			}

			err := validate.Excludes(from, decode(test.to), netip.MustParseAddr(test.caller))
			if (err != nil) != test.excluded {
				t.Errorf("got %v, want an error: %t", err, test.excluded)
			}
		})
	}
}
