// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"context"
	"log/slog"
	"slices"
	"strconv"

	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/controllers/fromconfig"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/k8s"
)

// kubePrismEndpointsController collects the API servers that KubePrism may forward to.
func kubePrismEndpointsController() controller.Controller {
	return &controller.Reconciler{
		ControllerName: "k8s.KubePrismEndpointsController",
		Reads: []controller.Input{
			fromconfig.Input(),
			controller.In[k8s.EndpointSpec](controller.Weak, "", k8s.EndpointAPIServerID),
		},
		Writes:  []controller.Output{controller.Out[k8s.KubePrismEndpointsSpec](controller.Exclusive)},
		Cleanup: []resource.Kind{resource.KindOf[k8s.KubePrismEndpointsSpec]("")},
		Reconcile: func(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
			cfg, err := fromconfig.Active(ctx, rt)
			if err != nil || cfg == nil {
				return err
			}

			var published k8s.EndpointSpec

			if f := typed.Read(ctx, rt, k8s.EndpointAPIServerID, &published); f.Err != nil {
				return f.Err
			}

			return typed.Set(ctx, rt, "", k8s.KubePrismEndpointsID, kubePrismEndpoints(cfg, published))
		},
	}
}

// kubePrismEndpoints are, the preferred one first: the API server of this node, the cluster's endpoint, and those that
// the API servers publish themselves.
func kubePrismEndpoints(cfg *view.Config, published k8s.EndpointSpec) k8s.KubePrismEndpointsSpec {
	var spec k8s.KubePrismEndpointsSpec

	add := func(host string, port int) {
		endpoint := k8s.KubePrismEndpoint{Host: host, Port: uint32(port)} // a port
		if host != "" && !slices.Contains(spec.Endpoints, endpoint) {
			spec.Endpoints = append(spec.Endpoints, endpoint)
		}
	}

	if cfg.Type().IsControlPlane() {
		add("127.0.0.1", cfg.APIServerPort())
	}

	endpoint := cfg.Endpoint()

	port, err := strconv.Atoi(endpoint.Port())
	if err != nil {
		port = 443 // the URL has none
	}

	add(endpoint.Hostname(), port)

	for _, addr := range published.Addresses {
		add(addr.String(), cfg.APIServerPort())
	}

	return spec
}

// kubePrismConfigController says where KubePrism listens, if it is on.
func kubePrismConfigController() controller.Controller {
	return &controller.Reconciler{
		ControllerName: "k8s.KubePrismConfigController",
		Reads: []controller.Input{
			fromconfig.Input(),
			controller.In[k8s.KubePrismEndpointsSpec](controller.Weak, "", k8s.KubePrismEndpointsID),
		},
		Writes:  []controller.Output{controller.Out[k8s.KubePrismConfigSpec](controller.Exclusive)},
		Cleanup: []resource.Kind{resource.KindOf[k8s.KubePrismConfigSpec]("")},
		Reconcile: func(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
			cfg, err := fromconfig.Active(ctx, rt)
			if err != nil || cfg == nil {
				return err
			}

			port, on := cfg.KubePrismPort()
			if !on {
				return nil
			}

			var endpoints k8s.KubePrismEndpointsSpec

			if f := typed.Read(ctx, rt, k8s.KubePrismEndpointsID, &endpoints); f.Err != nil || !f.OK {
				return f.Err
			}

			return typed.Set(ctx, rt, "", k8s.KubePrismConfigID, k8s.KubePrismConfigSpec{
				Host: "127.0.0.1", Port: port, Endpoints: endpoints.Endpoints,
			})
		},
	}
}
