// SPDX-License-Identifier: Apache-2.0

package seal

import (
	"crypto/hmac"
	"crypto/tls"
	"errors"
	"fmt"
)

// exporter is the label of the key material that TLS derives for a proof.
const exporter = "EXPORTER-discovery-cluster-secret"

// Prove returns what proves to the other end of a connection that this end knows the cluster secret. It is of use on that connection only,
// since it is a MAC of secrets of the connection.
func (c *Cipher) Prove(connection *tls.ConnectionState, cluster string) ([]byte, error) {
	if connection.Version < tls.VersionTLS13 {
		return nil, errors.New("prove the cluster secret: the connection does not use TLS 1.3")
	}

	material, err := connection.ExportKeyingMaterial(exporter, nil, KeySize)
	if err != nil {
		return nil, fmt.Errorf("prove the cluster secret: %w", err)
	}

	return mac(mac(c.secret, "discovery: key of proofs"), string(material), cluster), nil
}

// Proved reports whether the other end of a connection has proved that it knows the cluster secret.
func (c *Cipher) Proved(connection *tls.ConnectionState, cluster string, proof []byte) bool {
	want, err := c.Prove(connection, cluster)

	return err == nil && hmac.Equal(want, proof)
}
