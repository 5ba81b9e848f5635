// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"context"

	"github.com/seed-59268b81/talos/controllers/frominputs"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
	serviceres "github.com/seed-59268b81/talos/resources/service"
)

// KubeletServiceID is the name of the kubelet's service.
const KubeletServiceID = "kubelet"

// etcdService is the name of etcd's service.
const etcdService = "etcd"

func serviceInput(id string) controller.Input {
	return controller.In[serviceres.ServiceSpec](controller.Weak, "", id)
}

// serviceHealthy reports whether a service with a health check runs and has passed it.
func serviceHealthy(ctx context.Context, r state.Reader, id string) (bool, error) {
	var service serviceres.ServiceSpec

	f := typed.Read(ctx, r, id, &service)

	return f.OK && service.Running && service.Healthy, f.Err
}

// healthy is the input of a controller that runs only while a service is healthy.
func healthy(id string) frominputs.Input {
	return frominputs.Input{Declared: serviceInput(id), Read: func(ctx context.Context, r state.Reader) typed.Found {
		ok, err := serviceHealthy(ctx, r, id)

		return typed.Found{OK: ok, Err: err}
	}}
}
