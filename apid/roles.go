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

// rolesOf returns the roles of a caller: those of its certificate or, for another apid, those that it passes on.
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

// isAPID reports whether a certificate is that of another node's apid, which has the role of the impersonator and no other.
func isAPID(leaf *x509.Certificate) bool {
	return slices.Equal(leaf.Subject.Organization, []string{contract.RoleImpersonator})
}

// hasCertificate reports whether the caller has shown a certificate.
func (id *identity) hasCertificate() bool { return id != nil && len(id.State.PeerCertificates) > 0 }

// admitted refuses a caller that the view does not admit. For one that it does, until is the end of its certificate, or zero if
// only another view can end the admission.
//
// There is no such end for another node's apid. It renews its client certificate and continues its calls on the connection: they
// end with those of its own callers, or when its authority is no longer accepted.
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

// check refuses a certificate that would not be accepted in a new connection: connections outlive certificates, and the accepted
// authorities change.
func (id *identity) check(accepted *x509.CertPool, now time.Time) error {
	chain := id.State.PeerCertificates

	if leaf := chain[0]; now.After(leaf.NotAfter) {
		return status.Errorf(codes.Unauthenticated, "the client certificate has expired at %s: connect with a new one", leaf.NotAfter.UTC().Format(time.RFC3339))
	}

	if accepted == nil {
		return status.Error(codes.Unauthenticated, "this node accepts no client at the moment, as its certificates are being issued: try again")
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
