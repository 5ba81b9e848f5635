// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/test/cluster"
)

// servingPatience is how long a kubelet may take to get its serving certificate after its node is Ready.
const servingPatience = time.Minute

// kubeletLogs checks that the API server, which verifies kubelets, reads the logs of each node, that each node reports its
// serving certificate, and that no request for one is pending.
func kubeletLogs(t *testing.T, l *cluster.UserLab, addresses []string) {
	until(t, servingPatience, "logs of all nodes are read", func() error { return readsLogs(t, l, len(addresses)) })

	until(t, servingPatience, "all nodes say that they can serve", func() error {
		stdout, _, err := l.Talosctl(time.Minute, l.As("-n", strings.Join(addresses, ","), "get", "kubeletservingstatuses")...)
		if err == nil && strings.Count(stdout, "true") != len(addresses) {
			err = fmt.Errorf("got %s", stdout)
		}

		return err
	})

	pending, err := kubectl(t.Context(), l, "", "get", "csr", "--field-selector", "spec.signerName=kubernetes.io/kubelet-serving",
		"-o", `jsonpath={range .items[*]}{.spec.username}{" "}{.status.conditions[*].type}{"\n"}{end}`)
	if err != nil {
		t.Fatal(err)
	}

	for line := range strings.Lines(pending) {
		if !strings.Contains(line, "Approved") {
			t.Errorf("a request for a serving certificate is not approved: %s", line)
		}
	}
}

func readsLogs(t *testing.T, l *cluster.UserLab, nodes int) error {
	pods, err := kubectl(t.Context(), l, "", "-n", "kube-system", "get", "pods", "-l", "k8s-app=kube-proxy", "-o", "jsonpath={.items[*].metadata.name}")
	if err != nil {
		return err
	}

	names := strings.Fields(pods)
	if len(names) != nodes {
		return fmt.Errorf("pods of kube-proxy: got %q, want %d", names, nodes)
	}

	for _, name := range names {
		if _, err := kubectl(t.Context(), l, "", "-n", "kube-system", "logs", name, "--tail", "1"); err != nil {
			return err
		}
	}

	return nil
}
