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

	"github.com/seed-59268b81/talos/api/contract"
)

// rolesOf returns the roles of a caller: those of its certificate, or, for another apid, those it passes on.
func rolesOf(ctx context.Context, view *View, md metadata.MD) ([]string, error) {
	id := identityOf(ctx)

	if _, err := id.admitted(view, time.Now()); err != nil {
		return nil, err
	}

	if view.Open {
		return []string{contract.RoleReader}, nil
	}

	leaf := id.State.PeerCertificates[0]

	if isAPID(leaf) {
		return md.Get(contract.KeyRole), nil
	}

	return slices.DeleteFunc(slices.Clone(leaf.Subject.Organization), func(role string) bool {
		return role == "" || role == contract.RoleImpersonator
	}), nil
}

// isAPID tells the certificates of other nodes' apids: only those say this and nothing else.
func isAPID(leaf *x509.Certificate) bool {
	return slices.Equal(leaf.Subject.Organization, []string{contract.RoleImpersonator})
}

// hasCertificate tells a caller who has shown one.
func (id *identity) hasCertificate() bool { return id != nil && len(id.State.PeerCertificates) > 0 }

// admitted refuses a caller who would not be let in at the moment, and returns until when one may stay who is; zero is for
// as long as the view says so.
//
// A node renews the certificate that it calls others with, and goes on with what it has begun: its calls end with those of
// its own callers, of whom it knows until when they may stay, or when its authority is no longer accepted.
func (id *identity) admitted(view *View, now time.Time) (until time.Time, err error) {
	switch {
	case view.Open:
		return time.Time{}, nil
	case !id.hasCertificate():
		return time.Time{}, status.Error(codes.Unauthenticated, "the connection has no client certificate: connect again, with one")
	}

	if err := id.check(view.CAs, now); err != nil {
		return time.Time{}, err
	}

	if leaf := id.State.PeerCertificates[0]; !isAPID(leaf) {
		return leaf.NotAfter, nil
	}

	return time.Time{}, nil
}

// check refuses a certificate that would not be let in today: connections outlive certificates, and the authorities that
// are accepted change.
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
