// SPDX-License-Identifier: Apache-2.0

package metadata

import (
	"cmp"
	"net/netip"
)

// cloudstack is the virtual router of an Apache CloudStack network, which is its DHCP server too.
var cloudstack = platform{
	name:  "cloudstack",
	names: []string{"data-server"},
	lists: true,
	render: func(in *Instance) tree {
		docs := tree{}
		docs.put("/latest/meta-data/", "instance-id", in.ID, "vm-id", in.ID, "service-offering", in.Type, "availability-zone", in.Zone,
			"local-hostname", in.Name, "local-ipv4", in.ipv4(), "public-hostname", cmp.Or(hostText(in.Public4), in.fqdn()),
			"public-ipv4", cmp.Or(hostText(in.Public4), in.ipv4()), "cloud-identifier", in.Project, "cloud-domain", in.Domain)
		docs.user("/latest/user-data", in)

		return docs
	},
}

// exoscale is Exoscale's metadata server: CloudStack's, with an address of its own and older versions.
var exoscale = platform{
	name:   "exoscale",
	addrs:  []netip.Addr{everywhere},
	lists:  true,
	serve:  datedVersion,
	render: cloudstack.render,
}
