// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"slices"
	"strconv"

	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/controllers/frominputs"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/resources/k8s"
)

// kubePrismEndpointsController collects the API servers that KubePrism may forward to.
func kubePrismEndpointsController() controller.Controller {
	var (
		cfg       *view.Config
		published k8s.EndpointSpec
	)

	return frominputs.One("k8s.KubePrismEndpointsController", k8s.KubePrismEndpointsID, controller.Exclusive, frominputs.List{
		frominputs.Config(&cfg),
		frominputs.Of(k8s.EndpointAPIServerID, &published).Optional(),
	}, func() (*k8s.KubePrismEndpointsSpec, error) {
		return new(kubePrismEndpoints(cfg, published)), nil
	})
}

// kubePrismEndpoints returns, in order of preference, the API server of this node, the cluster's endpoint, and the addresses that the API
// servers publish.
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
