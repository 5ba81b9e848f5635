// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"slices"
	"sync"
	"testing"

	"github.com/seed-59268b81/talos/controllers/apid"
	"github.com/seed-59268b81/talos/controllers/block"
	"github.com/seed-59268b81/talos/controllers/cluster"
	"github.com/seed-59268b81/talos/controllers/etcd"
	"github.com/seed-59268b81/talos/controllers/k8s"
	"github.com/seed-59268b81/talos/controllers/network"
	runtimectl "github.com/seed-59268b81/talos/controllers/runtime"
	"github.com/seed-59268b81/talos/controllers/secrets"
	"github.com/seed-59268b81/talos/controllers/time"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/runtime"
	"github.com/seed-59268b81/talos/sys/platform"
)

// realEdges is the graph of the controllers that run on a machine.
var edges = sync.OnceValues(func() ([]Edge, error) {
	rt := runtime.New(memory.New(), nil)

	for _, c := range slices.Concat(
		etcd.Controllers(etcd.Deps{}), k8s.Controllers(k8s.Deps{}), network.Controllers(&network.Deps{}), time.Controllers(platform.Platform{}),
		[]controller.Controller{
			apid.ConfigController(), runtimectl.EventSinkController(nil), runtimectl.WatchdogController(runtimectl.Watchdogs{}),
		},
		secrets.Controllers(), cluster.Controllers(cluster.System), block.Controllers(platform.Platform{}, "", nil),
	) {
		if err := rt.RegisterController(c); err != nil {
			return nil, err
		}
	}

	var out []Edge
	for _, e := range rt.Graph() {
		out = append(out, Edge{Controller: e.Controller, Namespace: e.Namespace, Type: e.Type, ID: e.ID, Output: e.Kind.IsOutput()})
	}

	return out, nil
})

func realEdges(t *testing.T) []Edge {
	t.Helper()

	out, err := edges()
	if err != nil {
		t.Fatal(err)
	}

	return out
}

// TestOutputsNameTheirNamespace: an output without a namespace is drawn and explained as one of all namespaces of its
// type, so where a type is in several, each output says which one it writes.
func TestOutputsNameTheirNamespace(t *testing.T) {
	namespaces := map[string]map[string]bool{}

	for _, e := range realEdges(t) {
		if e.Namespace == "" {
			continue
		}

		if namespaces[e.Type] == nil {
			namespaces[e.Type] = map[string]bool{}
		}

		namespaces[e.Type][e.Namespace] = true
	}

	for _, e := range realEdges(t) {
		if e.Output && e.Namespace == "" && len(namespaces[e.Type]) > 1 {
			t.Errorf("%s writes %s, which is in %d namespaces, and does not say in which of them", e.Controller, e.Type, len(namespaces[e.Type]))
		}
	}
}
