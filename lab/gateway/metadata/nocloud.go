// SPDX-License-Identifier: Apache-2.0

package metadata

import (
	"fmt"
	"net/http"
	"path"
	"strings"
)

// nocloud is a NoCloud seed over the network ("ds=nocloud;s=http://GATEWAY/"):
// four documents in any folder, so that a seed's URL may have a path.
var nocloud = platform{
	name: "nocloud",
	render: func(in *Instance) tree {
		docs := tree{
			"meta-data":      text(fmt.Sprintf("instance-id: %s\nlocal-hostname: %s\nhostname: %s\n", in.ID, in.Name, in.fqdn())),
			"network-config": text(netplan(in)),
			"vendor-data":    text(""),
		}
		docs.user("user-data", in)

		return docs
	},
	serve: func(w http.ResponseWriter, r *http.Request, _ *Instance, docs tree) bool {
		docs.serve(w, path.Base(r.URL.Path), false)

		return true
	},
}

// netplan is cloud-init's network configuration, version 2.
func netplan(in *Instance) string {
	out := []string{"version: 2", "ethernets:"}

	for i, card := range in.Cards {
		out = append(out, fmt.Sprintf("  eth%d:", i), "    match:", fmt.Sprintf("      macaddress: %q", card.MAC))

		if card.MTU != 0 {
			out = append(out, fmt.Sprintf("    mtu: %d", card.MTU))
		}

		if len(card.Addrs) > 0 {
			out = append(out, "    addresses:")
		}

		for _, p := range card.Addrs {
			out = append(out, fmt.Sprintf("    - %q", p))
		}

		if len(card.Routers) > 0 {
			out = append(out, "    routes:")
		}

		for _, router := range card.Routers {
			to := "0.0.0.0/0"
			if router.Is6() {
				to = "::/0"
			}

			out = append(out, fmt.Sprintf("    - to: %q", to), fmt.Sprintf("      via: %q", router))
		}

		if i == 0 && len(in.DNS) > 0 {
			out = append(out, "    nameservers:", "      addresses:")
			for _, addr := range in.dns() {
				out = append(out, fmt.Sprintf("      - %q", addr))
			}
		}
	}

	return strings.Join(out, "\n") + "\n"
}
