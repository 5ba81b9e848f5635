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

// View is what trustd knows at one moment; a value that is replaced as a whole.
type View struct {
	// Server certificate of trustd itself.
	Server *tls.Certificate
}

// tls returns the server's configuration for one connection. Callers have no certificate: they come for one.
func (v *View) tls() (*tls.Config, error) {
	if v == nil {
		return nil, errNotReady
	}

	return &tls.Config{
		MinVersion: tls.VersionTLS13, NextProtos: []string{"h2"}, Certificates: []tls.Certificate{*v.Server},
		SessionTicketsDisabled: true,
	}, nil
}

// Kinds are the resources that trustd reads, and all that its socket has to show.
func Kinds() []resource.Kind {
	return []resource.Kind{resource.KindOf[secrets.TrustdCertsSpec]("")}
}

// ReadView puts a view together; nil until there is something to serve with.
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
