// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/seed-59268b81/talos/resources/network"
	timeres "github.com/seed-59268b81/talos/resources/time"
)

// clockRule explains a clock that is not synced.
func clockRule(f *Facts, s Symptom, status timeres.StatusSpec) *Finding {
	if status.Usable() {
		return nil
	}

	servers, _ := find[network.TimeServerStatusSpec](f, network.TimeServerID)
	if len(servers.NTPServers) == 0 {
		return &Finding{
			Says:     "the time is not synced: no time server is configured",
			Evidence: []string{name(typeOf[network.TimeServerStatusSpec](), network.NamespaceName, network.TimeServerID) + ": timeServers is empty"},
			Try:      "set machine.time.servers, or switch machine.time.disabled on if the machine's own clock is right",
		}
	}

	finding := &Finding{
		Says:     "the time is not synced: no answer from " + strings.Join(servers.NTPServers, ", "),
		Evidence: []string{name(s.Type, s.Namespace, s.ID) + ": synced is false"},
		Because:  []Symptom{{Kind: Route}},
		Try:      "let the machine reach them at UDP port 123, or name others in machine.time.servers (to ask one: talosctl time --check SERVER)",
	}

	if slices.ContainsFunc(servers.NTPServers, func(host string) bool {
		_, err := netip.ParseAddr(host)

		return err != nil
	}) {
		finding.Because = append(finding.Because, Symptom{Kind: Names})
	}

	for _, server := range slices.Sorted(maps.Keys(f.Clock)) {
		finding.Evidence = append(finding.Evidence, server+": "+cmp.Or(f.Clock[server], "answers now"))
	}

	finding.Because = append(finding.Because, failingOf(f, typeOf[timeres.StatusSpec]())...)

	return finding
}
