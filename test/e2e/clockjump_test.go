// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/client"
	"github.com/seed-59268b81/talos/lab/state"
	"github.com/seed-59268b81/talos/lab/world"
	"github.com/seed-59268b81/talos/test/cluster"
)

// TestClockJump has the clock of a machine with a cluster jump, ahead and back: its time server lies, by less than what a machine takes for
// impossible. It is a virtual machine, because containers share the clock of this computer.
func TestClockJump(t *testing.T) {
	cluster.Above(t, cluster.All, "starts one more virtual machine, which takes long where it is emulated")

	c := cluster.Start(t)
	s := newSession(t, c)
	wellAtFirst(t, c, s)

	before := c.Kubectl("", "get", "pods", "--all-namespaces", "-o", restarts)

	for _, jump := range []struct {
		name   string
		offset time.Duration
	}{
		{"ahead", 14 * time.Minute},
		{"back", 0},
	} {
		c.Run(jump.name, func(t *testing.T) {
			if err := c.Lab.EditServices(t.Context(), state.OnlyNetwork, func(s *world.Services) { s.NTP.Offset = jump.offset }); err != nil {
				t.Fatal(err)
			}

			took := c.Until("the clock has jumped", 15*time.Minute, func(ctx context.Context) error {
				return c.API(ctx, func(ctx context.Context, api *client.Client) error {
					answer, err := api.Time(ctx, "")
					if err != nil {
						return err
					}

					off := time.Until(answer.GetLocaltime().AsTime()) - jump.offset
					if off.Abs() > time.Minute {
						return fmt.Errorf("it is %s away from what its server says", off.Round(time.Second))
					}

					return nil
				})
			})
			c.Measured("until the clock has jumped", took)

			worksAfter(t, c, jump.name, jump.offset)
			well(t, s)

			if after := c.Kubectl("", "get", "pods", "--all-namespaces", "-o", restarts); after != before {
				t.Errorf("the pods and their restarts: got\n%swant\n%s", after, before)
			}
		})
	}
}

// restarts prints the containers of all pods, and how often each was restarted.
const restarts = `jsonpath={range .items[*]}{.metadata.name} {.status.containerStatuses[*].containerID} {.status.containerStatuses[*].restartCount}{"\n"}{end}`

// worksAfter checks what depends on the time: writes of etcd, the lease of the kubelet, and a token of a pod's account.
func worksAfter(t *testing.T, c *cluster.Cluster, name string, offset time.Duration) {
	t.Helper()

	c.Until("etcd takes writes", 2*time.Minute, func(ctx context.Context) error {
		_, err := c.TryKubectl(ctx, "create", "configmap", "after-"+name)
		if err != nil && strings.Contains(err.Error(), "AlreadyExists") { // an answer was lost
			return nil
		}

		return err
	})

	c.Until("the kubelet renews its lease", 2*time.Minute, func(ctx context.Context) error {
		text, err := c.TryKubectl(ctx, "get", "leases", "-n", "kube-node-lease", "-o", "jsonpath={.items[*].spec.renewTime}")
		if err != nil {
			return err
		}

		renewed, err := time.Parse(time.RFC3339, text)
		if age := time.Since(renewed) + offset; err != nil || age.Abs() > time.Minute {
			return errors.Join(err, fmt.Errorf("it was renewed %s ago by the machine's clock", age.Round(time.Second)))
		}

		return nil
	})

	token := c.Kubectl("", "create", "token", "default")
	review := c.Kubectl(fmt.Sprintf(`{"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": %q}}`, strings.TrimSpace(token)),
		"create", "-f", "-", "-o", "jsonpath={.status}")

	if !strings.Contains(review, `"authenticated":true`) {
		t.Errorf("a new token of an account: got %s, want it accepted", review)
	}
}
