// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"context"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
	serviceres "github.com/seed-59268b81/talos/resources/service"
)

// KubeletServiceID is the name under which users know the kubelet.
const KubeletServiceID = "kubelet"

// etcdService is that of package etcd.
const etcdService = "etcd"

func serviceInput(id string) controller.Input {
	return controller.In[serviceres.ServiceSpec](controller.Weak, "", id)
}

// serviceHealthy tells whether a service with a health check runs and has passed it.
func serviceHealthy(ctx context.Context, r state.Reader, id string) (bool, error) {
	var service serviceres.ServiceSpec

	f := typed.Read(ctx, r, id, &service)

	return f.OK && service.Running && service.Healthy, f.Err
}
