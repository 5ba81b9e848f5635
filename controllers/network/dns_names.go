// SPDX-License-Identifier: Apache-2.0

package network

import (
	"strings"

	"github.com/seed-59268b81/talos/controllers/network/hostdns"
	"github.com/seed-59268b81/talos/resources/cluster"
)

// addMember adds the names of a member: its name in Kubernetes, and its hostname with and without the domain. A name that is already known
// stays as it is, so that a member cannot take over a name of this machine or of its configuration.
func addMember(names hostdns.Names, nodename string, member cluster.MemberSpec) {
	short, _, _ := strings.Cut(member.Hostname, ".")
	fresh := hostdns.Names{}

	for _, name := range []string{nodename, member.Hostname, short} {
		fresh.Add(name, member.Addresses...)
	}

	names.AddMissing(fresh)
}
