// SPDX-License-Identifier: Apache-2.0

package logs

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEarlierAttempts(t *testing.T) {
	got := earlierAttempts([]string{
		"ns_pod_1/web/9.log", "ns_pod_1/web/10.log", "ns_pod_1/web/8.log", "ns_pod_1/web/8.log.20261128-120000.gz", "ns_pod_1/init/0.log",
		"kube-system_dns_2/dns/0.log", "kube-system_dns_2/dns/1.log",
		"../etc/0.log", "../../0.log", "a/../0.log", "ns_pod_1/web/x.log", "ns_pod_1/web/-1.log", "0.log", "",
	})
	want := []string{"kube-system_dns_2/dns/0.log", "ns_pod_1/web/8.log", "ns_pod_1/web/9.log"}

	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
