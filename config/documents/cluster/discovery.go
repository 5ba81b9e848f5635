// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"slices"
	"strings"

	"github.com/seed-59268b81/talos/config/document"
	"github.com/seed-59268b81/talos/config/v1alpha1"
	"github.com/seed-59268b81/talos/config/value"
)

// DiscoveryIdentityConfig is what the machines of a cluster know each other by.
type DiscoveryIdentityConfig struct {
	document.Header `yaml:",inline"`
	// The identity of the cluster: 32 bytes in base64. Discovery services see it.
	ClusterID string `yaml:"clusterID" required:"true" maps:"cluster.id"`
	// The key by which the machines encrypt what they tell each other: 32 bytes in base64. Discovery services do not see it.
	ClusterSecret string `yaml:"clusterSecret" required:"true" maps:"cluster.secret"`
}

var identity = document.Of[DiscoveryIdentityConfig]("DiscoveryIdentityConfig", `apiVersion: v1alpha1
kind: DiscoveryIdentityConfig
clusterID: BAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4fIA=
clusterSecret: AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA=
`)

// Validate implements document.Validator. The key is a secret, so that messages do not show it.
func (c *DiscoveryIdentityConfig) Validate(r *document.Report) {
	for _, v := range []struct{ key, text string }{{"clusterID", c.ClusterID}, {"clusterSecret", c.ClusterSecret}} {
		if v.text != "" && !value.IsKey(v.text) {
			r.Wrong(v.key, "want %d bytes in base64, as \"talosctl gen secrets\" makes them", value.KeySize)
		}
	}
}

// DiscoveryServiceConfig is a service through which the machines of a cluster find each other.
type DiscoveryServiceConfig struct {
	document.Named `yaml:",inline"`
	// The URL of the service: its scheme, host and port. All schemes are gRPC; http is without TLS. On port 50002 of a control plane it is the
	// service that the machines carry themselves.
	Endpoint value.URL `yaml:"endpoint" required:"true" like:"cluster.discovery"`
}

var service = document.Of[DiscoveryServiceConfig]("DiscoveryServiceConfig", `apiVersion: v1alpha1
kind: DiscoveryServiceConfig
name: default
endpoint: https://discovery.talos.dev/
`)

// Validate implements document.Validator.
func (c *DiscoveryServiceConfig) Validate(r *document.Report) {
	if !c.Endpoint.IsZero() && !slices.Contains(value.DiscoverySchemes, c.Endpoint.Scheme) {
		r.Wrong("endpoint", "%q: the scheme is %q: want one of %s", c.Endpoint.String(), c.Endpoint.Scheme, strings.Join(value.DiscoverySchemes, ", "))
	}
}

// Overlay implements overlay.Overlayer: the document switches discovery on. Documents have no registry in Kubernetes.
func (c *DiscoveryServiceConfig) Overlay(main *v1alpha1.Config) {
	main.Cluster.Discovery.Enabled = new(true)
	main.Cluster.Discovery.Registries.Kubernetes.Disabled = new(true)
	main.Cluster.Discovery.Registries.Service.Endpoint = c.Endpoint.String()
}
