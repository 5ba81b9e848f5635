// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"encoding/base64"
	"github.com/seed-59268b81/talos/config/v1alpha1"

	"github.com/seed-59268b81/talos/config/document"
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

// keySize is the size of the identity and of the key, in bytes.
const keySize = 32

// Validate implements document.Validator. The key is a secret, so that messages do not show it.
func (c *DiscoveryIdentityConfig) Validate(r *document.Report) {
	for _, v := range []struct{ key, text string }{{"clusterID", c.ClusterID}, {"clusterSecret", c.ClusterSecret}} {
		if v.text != "" && !isKey(v.text) {
			r.Wrong(v.key, "want %d bytes in base64, as \"talosctl gen secrets\" makes them", keySize)
		}
	}
}

// isKey reports whether a text is a key in base64. Existing clients write identities in its form for URLs, and keys in the other one.
func isKey(text string) bool {
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
		if raw, err := encoding.DecodeString(text); err == nil && len(raw) == keySize {
			return true
		}
	}

	return false
}

// DiscoveryServiceConfig is a service through which the machines of a cluster find each other.
type DiscoveryServiceConfig struct {
	document.Named `yaml:",inline"`
	// The URL of the service.
	Endpoint value.URL `yaml:"endpoint" required:"true" like:"cluster.discovery"`
}

var service = document.Of[DiscoveryServiceConfig]("DiscoveryServiceConfig", `apiVersion: v1alpha1
kind: DiscoveryServiceConfig
name: default
endpoint: https://discovery.talos.dev/
`)

// Overlay implements overlay.Overlayer: the document switches discovery on. Documents have no registry in Kubernetes.
func (c *DiscoveryServiceConfig) Overlay(main *v1alpha1.Config) {
	main.Cluster.Discovery.Enabled = new(true)
	main.Cluster.Discovery.Registries.Kubernetes.Disabled = new(true)
	main.Cluster.Discovery.Registries.Service.Endpoint = c.Endpoint.String()
}
