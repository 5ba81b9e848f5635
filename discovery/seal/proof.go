// SPDX-License-Identifier: Apache-2.0

package seal

import (
	"crypto/hmac"
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
)

// exporter is the label of the key material that TLS derives for a proof.
const exporter = "EXPORTER-discovery-cluster-secret"

// ProofKey derives the key of proofs from a cluster secret. The secret does not follow from it, so a service that checks proofs need not
// have it.
func ProofKey(secret []byte) []byte { return mac(secret, "discovery: key of proofs") }

// Prover makes and checks proofs that one end of a connection knows the cluster secret.
type Prover struct{ key []byte }

// NewProver returns the prover with a key of proofs.
func NewProver(key []byte) *Prover { return &Prover{key: slices.Clone(key)} }

// Prove returns the proof for the other end of a connection. It is of use on that connection only, since it is a MAC of secrets of the
// connection.
func (p *Prover) Prove(connection *tls.ConnectionState, cluster string) ([]byte, error) {
	if connection.Version < tls.VersionTLS13 {
		return nil, errors.New("prove the cluster secret: the connection does not use TLS 1.3")
	}

	material, err := connection.ExportKeyingMaterial(exporter, nil, KeySize)
	if err != nil {
		return nil, fmt.Errorf("prove the cluster secret: %w", err)
	}

	return mac(p.key, string(material), cluster), nil
}

// Proved reports whether the other end of a connection has proved that it knows the cluster secret.
func (p *Prover) Proved(connection *tls.ConnectionState, cluster string, proof []byte) bool {
	want, err := p.Prove(connection, cluster)

	return err == nil && len(p.key) > 0 && hmac.Equal(want, proof)
}
