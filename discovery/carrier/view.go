// SPDX-License-Identifier: Apache-2.0

package carrier

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/discovery/seal"
	"github.com/seed-59268b81/talos/pki"
	"github.com/seed-59268b81/talos/resources/secrets"
)

// View is the configuration of discoveryd at one moment. It is replaced as a whole.
type View struct {
	// Server is discoveryd's certificate.
	Server *tls.Certificate
	// Cluster is the identity of the only cluster, and Prover checks that callers know its secret.
	Cluster string
	Prover  *seal.Prover
}

var errNotReady = errors.New("discoveryd has no certificate yet")

// certificate returns discoveryd's certificate of one connection.
func (v *View) certificate() (*tls.Certificate, error) {
	if v == nil {
		return nil, errNotReady
	}

	return v.Server, nil
}

// Kinds returns the kinds of resources that discoveryd reads. Its socket shows no others.
func Kinds() []resource.Kind {
	return []resource.Kind{resource.KindOf[secrets.DiscoverydSpec]("")}
}

// ReadView reads the view, nil until there is a certificate.
func ReadView(ctx context.Context, st state.Reader) (*View, error) {
	found, err := typed.Find[secrets.DiscoverydSpec](ctx, st, "", secrets.DiscoverydID)
	if err != nil || found == nil {
		return nil, err
	}

	spec := found.TypedSpec()

	server, err := pki.Pair{Crt: spec.Server.Crt, Key: spec.Server.Key}.TLS()
	if err != nil {
		return nil, fmt.Errorf("server certificate: %w", err)
	}

	return &View{Server: &server, Cluster: spec.ClusterID, Prover: seal.NewProver(spec.ProofKey)}, nil
}
