// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"net"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/documents/cluster"
	"github.com/seed-59268b81/talos/config/v1alpha1"
)

// DiscoveryService is a service through which the machines of a cluster find each other.
type DiscoveryService struct {
	Name string
	// Endpoint is HOST:PORT.
	Endpoint string
	// Insecure is without TLS.
	Insecure bool
}

// legacyService is the name of the service of the main document.
const legacyService = "legacy"

// ClusterID is the identity of the cluster, which discovery services see. It may be empty.
func (c *Config) ClusterID() string { return c.main.Cluster.ID }

// ClusterSecret returns the key that encrypts what the machines tell each other. It is empty if there is none.
func (c *Config) ClusterSecret() ([]byte, error) {
	text := c.main.Cluster.Secret

	key, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		key, err = base64.URLEncoding.DecodeString(text)
	}

	if err != nil { // the error has a part of the secret
		return nil, fmt.Errorf("the cluster secret is not base64")
	}

	return key, nil
}

// DiscoveryEnabled reports whether the machines of the cluster find each other.
func (c *Config) DiscoveryEnabled() bool { return IsTrue(c.main.Cluster.Discovery.Enabled) }

// DiscoveryByNodes reports whether machines also announce themselves by annotations of the Nodes of Kubernetes.
func (c *Config) DiscoveryByNodes() bool {
	return c.DiscoveryEnabled() && !IsTrueOr(c.main.Cluster.Discovery.Registries.Kubernetes.Disabled, true)
}

// DiscoveryServices are the services that the configuration names, in the order of preference. Control planes carry the same service, which
// needs no setting.
func (c *Config) DiscoveryServices() ([]DiscoveryService, error) {
	var services []DiscoveryService

	for _, d := range config.All[*cluster.DiscoveryServiceConfig](c.all) {
		services = append(services, discoveryService(d.DocName, d.Endpoint))
	}

	legacy := c.main.Cluster.Discovery.Registries.Service
	if len(services) > 0 || !c.DiscoveryEnabled() || IsTrue(legacy.Disabled) {
		return services, nil
	}

	url, err := v1alpha1.ParseURL(cmp.Or(legacy.Endpoint, v1alpha1.DefaultDiscoveryEndpoint))
	if err != nil {
		return nil, fmt.Errorf("cluster.discovery.registries.service.endpoint: %w", err)
	}

	return []DiscoveryService{discoveryService(legacyService, url)}, nil
}

// discoveryService returns the service at a URL. Only its scheme, host and port count.
func discoveryService(name string, url URL) DiscoveryService {
	port := "443"
	if url.Scheme == "http" {
		port = "80"
	}

	return DiscoveryService{Name: name, Endpoint: net.JoinHostPort(url.Hostname(), cmp.Or(url.Port(), port)), Insecure: url.Scheme == "http"}
}
