// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"fmt"
	"time"

	"github.com/seed-59268b81/talos/api/contract"
	"github.com/seed-59268b81/talos/config/secrets"
	"github.com/seed-59268b81/talos/config/talosconfig"
	"github.com/seed-59268b81/talos/config/v1alpha1"
	"github.com/seed-59268b81/talos/pki"
)

// ClientLifetime is the validity of an administrator's certificate.
const ClientLifetime = 8760 * time.Hour

// Talosconfig generates an administrator's client configuration.
func Talosconfig(clusterName string, bundle *secrets.Bundle, endpoints, nodes []string) (*talosconfig.Config, error) {
	return TalosconfigFor(clusterName, bundle.Certs.OS, []string{contract.RoleAdmin}, ClientLifetime, endpoints, nodes)
}

// TalosconfigFor generates a client configuration with the given roles and lifetime.
func TalosconfigFor(
	clusterName string, ca v1alpha1.CertPair, roles []string, ttl time.Duration, endpoints, nodes []string,
) (*talosconfig.Config, error) {
	authority, err := pki.ParseCA(ca.Crt, ca.Key)
	if err != nil {
		return nil, fmt.Errorf("generate talosconfig: %w", err)
	}

	pair, err := authority.Sign(pki.LeafOptions{Organization: roles, Client: true, TTL: ttl})
	if err != nil {
		return nil, fmt.Errorf("generate talosconfig: %w", err)
	}

	return talosconfig.New(clusterName, &talosconfig.Context{
		Endpoints: endpoints,
		Nodes:     nodes,
		CA:        ca.Crt,
		Crt:       pair.Crt,
		Key:       pair.Key,
	}), nil
}
