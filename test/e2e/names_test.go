// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/test/cluster"
)

// clusterDNS is the DNS server of Kubernetes.
const clusterDNS = "10.96.0.10:53"

// names checks the way of a query: from CoreDNS to the DNS server of the machine that it runs on, and from that one to the lab's.
func names(t *testing.T, l *cluster.UserLab, u *user) {
	machines := l.Open()
	gateway := machines.State().World.Networks[0].Gateway4.String()

	u.shows(t, `(?m)^@ +network +HostDNSConfig +config +\d+ +true +.*127\.0\.0\.53:53.*169\.254\.116\.108:53`, "get hostdnsconfigs")
	u.shows(t, `(?m)^@ +network +DNSUpstream +`+gateway+`:53 +\d+ +`+gateway+`:53 +Do53 +0$`, "get dnsupstreams")

	for _, listener := range []string{"udp-127.0.0.53:53", "tcp-127.0.0.53:53", "udp-169.254.116.108:53", "tcp-169.254.116.108:53"} {
		u.shows(t, `(?m)^@ +network +DNSResolveCache +`+strings.ReplaceAll(listener, ".", `\.`)+` +\d+ +running$`, "get dnsresolvecaches")
	}

	u.shows(t, `(?m)^nameserver 127\.0\.0\.53$`, "read /etc/resolv.conf")

	worker := machines.Node(1)
	resolves := func(server, name, want string) {
		t.Helper()
		until(t, time.Minute, server+" knows "+name, func() error {
			got, err := lookup(t, worker, server, name)
			if err == nil && !slices.Equal(got, []string{want}) {
				err = fmt.Errorf("got %q, want %s", got, want)
			}

			return err
		})
	}

	inLab := machines.Node(0).Name + "." + machines.State().Domain

	resolves(gateway+":53", inLab, u.node())
	resolves(clusterDNS, "kubernetes.default.svc.cluster.local", "10.96.0.1")
	resolves(clusterDNS, inLab, u.node())
	resolves(clusterDNS, knownName, knownAddr) // so the machines are on the way

	if got, err := lookup(t, worker, gateway+":53", knownName); err == nil {
		t.Errorf("the lab's DNS server knows the name, so nothing was tested: %q", got)
	}
}
