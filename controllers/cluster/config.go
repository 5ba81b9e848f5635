// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/controllers/fromconfig"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/resources/cluster"
)

// configController publishes the settings of discovery.
func configController() controller.Controller {
	return fromconfig.Controller("cluster.ConfigController", cluster.ConfigID, controller.Exclusive, discoveryConfig)
}

func discoveryConfig(cfg *view.Config) (*cluster.ConfigSpec, error) {
	if !cfg.DiscoveryEnabled() {
		return &cluster.ConfigSpec{}, nil
	}

	key, err1 := cfg.ClusterSecret()
	services, err2 := cfg.DiscoveryServices()

	if err1 != nil || err2 != nil {
		if err1 == nil {
			err1 = err2
		}

		return nil, err1
	}

	spec := &cluster.ConfigSpec{
		DiscoveryEnabled: true, RegistryKubernetesEnabled: cfg.DiscoveryByNodes(), RegistryServiceEnabled: len(services) > 0,
		ServiceEncryptionKey: key, ServiceClusterID: cfg.ClusterID(),
	}

	for _, s := range services {
		spec.ServiceEndpoints = append(spec.ServiceEndpoints, cluster.ServiceEndpoint{Name: s.Name, Endpoint: s.Endpoint, Insecure: s.Insecure})
	}

	if len(services) > 0 {
		spec.ServiceEndpoint, spec.ServiceEndpointInsecure = services[0].Endpoint, services[0].Insecure
	}

	return spec, nil
}

// infoController publishes which cluster the machine belongs to.
func infoController() controller.Controller {
	return fromconfig.Controller("cluster.InfoController", cluster.InfoID, controller.Exclusive, func(cfg *view.Config) (*cluster.InfoSpec, error) {
		return &cluster.InfoSpec{ClusterID: cfg.ClusterID(), ClusterName: cfg.ClusterName()}, nil
	})
}
