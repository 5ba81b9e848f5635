// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/test/cluster"
)

// opened returns the rule that opens a port, or several, to networks.
func opened(name, protocol, ports string, subnets ...string) string {
	return document("NetworkRuleConfig", "name: "+name+"\nportSelector: {protocol: "+protocol+", ports: ["+ports+"]}\n"+
		"ingress: [{subnet: "+strings.Join(subnets, "}, {subnet: ")+"}]")
}

// firewall blocks all ports of a control plane but those of its rules, and scans it from the worker.
func firewall(t *testing.T, l *cluster.UserLab, u *user) {
	machines := l.Open()
	subnet := machines.State().World.Networks[0].Subnet4.String()
	scan := scanner(t, machines.Node(1), machines.Node(0).Addr)

	var all []uint16
	for port := 1; port <= 65535; port++ {
		all = append(all, uint16(port))
	}

	// A port without a listener refuses the connection, which is an answer too.
	if left := silent(all, scan); len(left) > 0 {
		t.Errorf("without rules %d of %d ports do not answer, the first is %d", len(left), len(all), left[0])
	}

	u.comesNotToShow(t, `NfTablesChain`, "get nftableschains")

	defer u.worksMeanwhile(t)()

	block := document("NetworkDefaultActionConfig", "ingress: block")
	u.refused(t, `error: @: .*no other machine would reach the API any more: add a NetworkRuleConfig for TCP port 50000`, "patch machineconfig --patch", block)
	u.refused(t, `error: @: .*the API no longer accepts connections from .*, where this call is from: .*--mode try`, "patch machineconfig --patch",
		block+"\n---\n"+opened("apid", "tcp", "50000", "203.0.113.0/24"))

	rules := map[string]string{
		"apid":       opened("apid", "tcp", "50000-50002", subnet),
		"kubernetes": opened("kubernetes", "tcp", "6443", subnet),
		"kubelet":    opened("kubelet", "tcp", "10250", subnet),
		"etcd":       opened("etcd", "tcp", "2379-2380", u.node()+"/32"), // not for workers
		"flannel":    opened("flannel", "udp", "4789", subnet),
	}

	u.patch(t, block, rules["apid"], rules["kubernetes"], rules["kubelet"], rules["etcd"], rules["flannel"])

	// Behind 10256 is kube-proxy, behind 9 nothing.
	some, open := []uint16{9, 2379, 2380, 6443, 10250, 10256, 50000, 50001, 50002}, []uint16{6443, 10250, 50000, 50001, 50002}

	eventually(t, "only the ports of the rules answer", func() (string, bool) {
		diff := cmp.Diff(open, scan(some))

		return diff, diff == ""
	})

	if diff := cmp.Diff(open, scan(all)); diff != "" {
		t.Errorf("ports that answer with the rules (-want +got):\n%s", diff)
	}

	u.comesToShow(t, `(?m)^@ +network +NfTablesChain +ingress +\d+ +filter +input +\S+ +drop$`, "get nftableschains")
	u.comesToShow(t, `(?m)^@ +network +NfTablesChain +prerouting +\d+ +filter +prerouting +\S+ +accept$`, "get nftableschains")
	u.comesToShow(t, `(?m)^@ +network +SpecCondition +chain/ingress +\d+ +applied\b`, "get specconditions")

	// One more rule, and one less.
	u.patch(t, opened("proxy", "tcp", "10256", subnet), removed("NetworkRuleConfig", "kubelet"))

	open = []uint16{6443, 10256, 50000, 50001, 50002}

	eventually(t, "the ports of the other rules answer", func() (string, bool) {
		diff := cmp.Diff(open, scan(some))

		return diff, diff == ""
	})

	gone := []string{removed("NetworkDefaultActionConfig", ""), removed("NetworkRuleConfig", "proxy")}
	for name := range rules {
		gone = append(gone, removed("NetworkRuleConfig", name))
	}

	slices.Sort(gone)
	u.patch(t, gone...)

	eventually(t, "all ports answer again", func() (string, bool) {
		diff := cmp.Diff(some, scan(some))

		return diff, diff == ""
	})
	u.comesNotToShow(t, `NfTablesChain`, "get nftableschains")
}

// silent returns the ports that do not answer. A busy computer loses packets, so it tries them several times.
func silent(ports []uint16, scan func([]uint16) []uint16) []uint16 {
	left := slices.Clone(ports)

	for tries := 0; tries < 4 && len(left) > 0; tries++ {
		answers := scan(left)
		left = slices.DeleteFunc(left, func(port uint16) bool {
			_, found := slices.BinarySearch(answers, port)

			return found
		})
	}

	return left
}
