// SPDX-License-Identifier: Apache-2.0

package trustd

import (
	"context"
	"crypto/tls"
	"fmt"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/pki"
	"github.com/seed-59268b81/talos/resources/secrets"
)

// View is the configuration of trustd at one moment. It is replaced as a whole.
type View struct {
	// Server is trustd's own certificate.
	Server *tls.Certificate
}

// certificate returns the server's certificate of one connection.
func (v *View) certificate() (*tls.Certificate, error) {
	if v == nil {
		return nil, errNotReady
	}

	return v.Server, nil
}

// Kinds returns the kinds of resources that trustd reads. Its socket shows no others.
func Kinds() []resource.Kind {
	return []resource.Kind{resource.KindOf[secrets.TrustdCertsSpec]("")}
}

// ReadView reads the view, nil until there is a certificate.
func ReadView(ctx context.Context, st state.Reader) (*View, error) {
	certs, err := typed.Find[secrets.TrustdCertsSpec](ctx, st, "", secrets.TrustdID)
	if err != nil || certs == nil {
		return nil, err
	}

	server, err := pki.Pair{Crt: certs.TypedSpec().Server.Crt, Key: certs.TypedSpec().Server.Key}.TLS()
	if err != nil {
		return nil, fmt.Errorf("server certificate: %w", err)
	}

	return &View{Server: &server}, nil
}
