// SPDX-License-Identifier: Apache-2.0

package rotateca

import (
	"crypto/x509"
	"time"

	"github.com/seed-59268b81/talos/api/contract"
	"github.com/seed-59268b81/talos/config/generate"
	"github.com/seed-59268b81/talos/pki"
)

// ownLifetime is that of the certificate with which the command itself asks Kubernetes.
const ownLifetime = 24 * time.Hour

// administrator returns a client certificate of an authority with all rights. That for machines is also the user's: it is in the new talosconfig.
func administrator(k kind, cert *x509.Certificate, key []byte) (pki.Pair, error) {
	if k == kubernetes {
		return clientOf(cert, key, pki.LeafOptions{CommonName: "talos:rotate-ca", Organization: []string{"system:masters"}, TTL: ownLifetime})
	}

	return clientOf(cert, key, pki.LeafOptions{Organization: []string{contract.RoleAdmin}, TTL: generate.ClientLifetime})
}
