// SPDX-License-Identifier: Apache-2.0

//go:build linux

package kubeprism_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/controllers/k8s/kubeprism"
)

func TestBalancer(t *testing.T) {
	first, second := serve(t, "first"), serve(t, "other")

	var balancer kubeprism.Balancer

	address := start(t, &balancer)

	balancer.SetUpstreams([]kubeprism.Upstream{{Address: second.address}, {Address: first.address, Local: true}})
	within(t, 5*time.Second, "both answer", func() bool { return balancer.Ready() == 2 && !refused(address) })

	if _, got := connect(t, address, 5); got != "first" {
		t.Errorf("both ready: got %q, want the one on the node", got)
	}

	first.stop()

	for range 2 {
		if _, got := connect(t, address, 5); got != "other" {
			t.Errorf("the first is down: got %q, want the other", got)
		}
	}

	if !balancer.Healthy() {
		t.Error("healthy: got false with one upstream ready, want true")
	}
}

// TestBalance checks that the connections of one node, and the single connections of many nodes, are spread over the API servers.
func TestBalance(t *testing.T) {
	const each, servers = 20, 3

	var all []kubeprism.Upstream

	for i := range servers {
		all = append(all, kubeprism.Upstream{Address: serve(t, fmt.Sprint(i)).address})
	}

	for _, tt := range []struct {
		name       string
		nodes      int
		least, all int
	}{
		{"one node with many", 1, each, each * servers},
		{"many nodes with one each", each * servers, each / 4, each * servers},
	} {
		t.Run(tt.name, func(t *testing.T) {
			taken := map[string]int{}

			for range tt.nodes {
				var balancer kubeprism.Balancer
				balancer.SetUpstreams(all)

				address := start(t, &balancer)
				within(t, 5*time.Second, "all answer", func() bool { return balancer.Ready() == servers && !refused(address) })

				for range tt.all / tt.nodes {
					_, name := connect(t, address, 1)
					taken[name]++
				}
			}

			sum := 0

			for i := range servers {
				got := taken[fmt.Sprint(i)]
				sum += got

				if got < tt.least {
					t.Errorf("server %d: got %d connections of %d, want at least %d", i, got, tt.all, tt.least)
				}
			}

			if sum != tt.all {
				t.Errorf("got %d connections, want %d", sum, tt.all)
			}
		})
	}
}
