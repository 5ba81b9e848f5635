// SPDX-License-Identifier: Apache-2.0

package apid

import (
	"context"
	"crypto/x509"
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// rolesOf returns the roles of a caller: those of its certificate, or, for another apid, those it passes on.
func rolesOf(ctx context.Context, view *View, md metadata.MD) ([]string, error) {
	if view.Open {
		return []string{roleReader}, nil
	}

	id := identityOf(ctx)
	if id == nil || len(id.State.PeerCertificates) == 0 {
		return nil, status.Error(codes.Unauthenticated, "the connection has no client certificate: connect anew, with one")
	}

	if err := id.check(view.CAs, time.Now()); err != nil {
		return nil, err
	}

	leaf := id.State.PeerCertificates[0]

	// Only apids have certificates that say this and nothing else.
	if slices.Equal(leaf.Subject.Organization, []string{roleImpersonator}) {
		return md.Get(keyRole), nil
	}

	return slices.DeleteFunc(slices.Clone(leaf.Subject.Organization), func(role string) bool {
		return role == "" || role == roleImpersonator
	}), nil
}

// check refuses a certificate that would not be let in today: connections outlive certificates, and the authorities that
// are accepted change. Calls that run are not asked again.
func (id *identity) check(accepted *x509.CertPool, now time.Time) error {
	chain := id.State.PeerCertificates

	if leaf := chain[0]; now.After(leaf.NotAfter) {
		return status.Errorf(codes.Unauthenticated, "the client certificate has expired at %s: connect with a new one", leaf.NotAfter.UTC().Format(time.RFC3339))
	}

	if accepted == nil {
		return status.Error(codes.Unauthenticated, "this node accepts nobody at the moment, its certificates are being made: try again")
	}

	if id.accepted.Load() == accepted {
		return nil
	}

	options := x509.VerifyOptions{
		Roots: accepted, Intermediates: x509.NewCertPool(), CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	for _, cert := range chain[1:] {
		options.Intermediates.AddCert(cert)
	}

	if _, err := chain[0].Verify(options); err != nil {
		return status.Errorf(codes.Unauthenticated, "the client certificate is no longer accepted, connect with a new one: %v", err)
	}

	id.accepted.Store(accepted)

	return nil
}
