// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"context"
	"slices"
	"strconv"

	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/controllers/frominputs"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/k8s"
)

// kubePrismEndpointsController collects the API servers that KubePrism may forward to.
func kubePrismEndpointsController() controller.Controller {
	var (
		cfg   *view.Config
		known []k8s.EndpointSpec
	)

	return frominputs.One("k8s.KubePrismEndpointsController", k8s.KubePrismEndpointsID, controller.Exclusive, frominputs.List{
		frominputs.Config(&cfg),
		knownControlPlanes(&known),
	}, func() (*k8s.KubePrismEndpointsSpec, error) {
		return new(kubePrismEndpoints(cfg, known)), nil
	})
}

// knownControlPlanes reads what is known of the control planes' addresses, from whatever source: the API servers publish their own, and
// discovery and the machine's last life know some until one of them answers. The configuration's endpoint is not among them: its port is its own.
func knownControlPlanes(into *[]k8s.EndpointSpec) frominputs.Input {
	return frominputs.Input{
		Declared: controller.In[k8s.EndpointSpec](controller.Weak, ""),
		Read: func(ctx context.Context, r state.Reader) typed.Found {
			*into = nil

			all, err := typed.List[k8s.EndpointSpec](ctx, r, "")
			for _, one := range all {
				if one.Metadata().ID() != k8s.EndpointControlPlane && one.Metadata().Phase() == resource.PhaseRunning {
					*into = append(*into, *one.TypedSpec())
				}
			}

			return typed.Found{OK: true, Err: err}
		},
	}
}

// kubePrismEndpoints returns, in order of preference, the API server of this node, the cluster's endpoint, and the addresses of control
// planes that are known otherwise.
func kubePrismEndpoints(cfg *view.Config, known []k8s.EndpointSpec) k8s.KubePrismEndpointsSpec {
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

	for _, one := range known {
		for _, addr := range one.Addresses {
			add(addr.String(), cfg.APIServerPort())
		}
	}

	return spec
}

// kubePrismConfigController publishes where KubePrism listens, if it is enabled.
func kubePrismConfigController() controller.Controller {
	var (
		cfg       *view.Config
		endpoints k8s.KubePrismEndpointsSpec
	)

	return frominputs.One("k8s.KubePrismConfigController", k8s.KubePrismConfigID, controller.Exclusive, frominputs.List{
		frominputs.Config(&cfg),
		frominputs.Of(k8s.KubePrismEndpointsID, &endpoints),
	}, func() (*k8s.KubePrismConfigSpec, error) {
		port, on := cfg.KubePrismPort()
		if !on {
			return nil, nil
		}

		return &k8s.KubePrismConfigSpec{Host: "127.0.0.1", Port: port, Endpoints: endpoints.Endpoints}, nil
	})
}
