// SPDX-License-Identifier: Apache-2.0

package network

import (
	"strings"
	"testing"

	"github.com/seed-59268b81/talos/sys/cmdline"
)

// TestLinkArguments: a wrong argument is left out, with an error that says what is wrong, and the others have effect.
func TestLinkArguments(t *testing.T) {
	for _, tt := range []struct{ name, args, want string }{
		{"options of all forms", "bond=bond1:eth0:mode=active-backup,arp_interval=100,arp_ip_target=192.0.2.1;192.0.2.2,primary=eth0,use_carrier=0,all_slaves_active=1", ""},
		{"unknown option", "bond=bond1:eth0:colour=red", `unknown option "colour"`},
		{"unknown mode", "bond=bond1:eth0:mode=fast", "mode"},
		{"no number", "bond=bond1:eth0:miimon=often", "miimon"},
		{"no boolean", "bond=bond1:eth0:use_carrier=maybe", "useCarrier"},
		{"no number of a VLAN", "vlan=eth0:eth0", "no number"},
	} {
		a, err := parseArguments(cmdline.Parse(tt.args + " vlan=vlan7:eth1"))

		if (err != nil) != (tt.want != "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want an error with %q", tt.name, err, tt.want)
		}

		if last := len(a.links) - 1; last < 0 || a.links[last].Name != "vlan7" || tt.want != "" && last != 0 {
			t.Errorf("%s: got the links %+v", tt.name, a.links)
		}

		if bond := a.links[0].Bond; tt.want == "" && (len(bond.ARPIPTarget) != 2 || bond.Primary != "eth0" || *bond.UseCarrier || bond.AllSlavesActive != 1) {
			t.Errorf("%s: got %+v", tt.name, bond)
		}
	}
}
