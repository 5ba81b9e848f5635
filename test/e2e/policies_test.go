// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/test/cluster"
)

// policiesTime is how long it may take until a policy is in effect, or no longer.
const policiesTime = 5 * time.Minute

// policies has NetworkPolicies enforced: one keeps requests from the workload, another allows them. When they are not enforced any more, the
// first one has no effect. The kernel of a container's host may be unable to do that, and then the pod says so.
func policies(t *testing.T, c *cluster.Cluster) {
	const all = "{podSelector: {}}"

	allow := func(from string) {
		c.Kubectl(`
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: web, namespace: `+namespace+`}
spec:
  podSelector: {matchLabels: {app: web}}
  policyTypes: [Ingress]
  ingress: [{from: [`+from+`]}]
`, "apply", "-f", "-")
	}
	enforce := func(on bool) {
		c.Apply(patched(t, c, fmt.Sprintf("cluster: {network: {cni: {flannel: {kubeNetworkPoliciesEnabled: %t}}}}", on)))
	}
	reached := func(goal string, want bool) {
		c.Until(goal, policiesTime, func(ctx context.Context) error {
			// A command in a pod of an emulated machine takes more than ten seconds on a slow computer.
			ctx, cancel := context.WithTimeout(ctx, time.Minute)
			defer cancel()

			_, err := c.TryKubectl(ctx, "-n", namespace, "exec", "deploy/client", "--",
				"/agnhost", "connect", "web."+namespace+".svc.cluster.local:80", "--timeout=5s")

			switch {
			case want:
				return err
			case err == nil:
				return errors.New("the workload can be reached")
			case !strings.Contains(err.Error(), "TIMEOUT"): // a packet that a policy drops has no answer
				return err
			}

			return nil
		})
	}

	reached("the client reaches the workload", true)
	enforce(true)

	if !enforced(c) {
		t.Log("the computer's kernel has no nft_queue")
		enforce(false)

		return
	}

	allow("{podSelector: {matchLabels: {app: friend}}}")
	reached("a policy keeps the client from the workload", false)
	allow(all)
	reached("a policy allows the client", true)
	allow("{podSelector: {matchLabels: {app: friend}}}")
	reached("the policy keeps it away again", false)
	enforce(false)
	reached("the policy is not enforced any more", true)
	c.Kubectl("", "-n", namespace, "delete", "networkpolicy", "web")
}

// enforced waits until the program that enforces policies runs, or says that the kernel does not let it.
func enforced(c *cluster.Cluster) (can bool) {
	const system, app = "kube-system", "k8s-app=kube-network-policies"

	c.Until("the program that enforces policies runs", policiesTime, func(ctx context.Context) error {
		pods, err := c.Pods(ctx, system, app)

		switch {
		case err != nil:
			return err
		case len(pods) == 0:
			return errors.New("it has no pod")
		}

		why := pods[0].Ready()
		if can = why == nil; can || c.Emulated() {
			return why
		}

		log, err := c.TryKubectl(ctx, "-n", system, "logs", pods[0].Metadata.Name, "-c", "kernel-has-nft-queue")
		if err == nil && strings.Contains(log, "Could not process rule: No such file or directory") {
			return nil
		}

		return errors.Join(why, err)
	})

	return can
}
