// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"regexp"
	"testing"

	"github.com/seed-59268b81/talos/test/cluster"
)

// printed checks the output of talosctl that users see first.
func printed(t *testing.T, c *cluster.Cluster) {
	for _, tt := range []struct {
		args []string
		want string // a pattern, by lines
	}{
		{[]string{"get", "addresses"}, `(?m)^NODE +NAMESPACE +TYPE +ID +VERSION +ADDRESS +LINK$[\s\S]*^10\.5\.0\.2 +network +AddressStatus +eth0/10\.5\.0\.2/24 +\d+ +10\.5\.0\.2/24 +eth0$`},
		{[]string{"get", "rd"}, `(?m)^10\.5\.0\.2 +meta +ResourceDefinition +addressstatuses\.net\.talos\.dev +1 +address addresses addressstatus`},
		{[]string{"get", "svc"}, `(?m)^10\.5\.0\.2 +runtime +Service +etcd +\d+ +true +true +false$`},
		{[]string{"get", "hostnamespec", "--namespace", "network-config"}, `(?m)^10\.5\.0\.2 +network-config +HostnameSpec +\S+ +\d+ *$`},
		{[]string{"get", "hostname", "-o", "yaml"}, `(?m)^node: 10\.5\.0\.2\nmetadata:\n    namespace: network\n    type: HostnameStatuses\.net\.talos\.dev\n    id: hostname\n    version: \d+\n    owner: network\.HostnameSpecController\n    phase: running\n[\s\S]*^spec:\n    hostname: `},
		{[]string{"get", "mc", "v1alpha1", "-o", "yaml"}, `(?m)^spec: \|\n`},
		{[]string{"service"}, `(?m)^10\.5\.0\.2 +kubelet +Running +OK `},
		{[]string{"version"}, `(?m)^Server:\n[\s\S]*NODE: +10\.5\.0\.2`},
		{[]string{"logs", "etcd", "--tail", "1"}, `\S`},
		{[]string{"dmesg"}, `starting version=v`},
		{[]string{"memory"}, `(?m)^NODE +TOTAL +USED +FREE`},
		{[]string{"health"}, `(?m)waiting for all k8s nodes to report schedulable: OK$`},
	} {
		if got := c.Talosctl(tt.args...); !regexp.MustCompile(tt.want).MatchString(got) {
			t.Errorf("talosctl %v: got\n%s\nwant a match of %s", tt.args, got, tt.want)
		}
	}
}
