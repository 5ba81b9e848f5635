// SPDX-License-Identifier: Apache-2.0

package apid

import (
	"context"
	"crypto/x509"
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// rolesOf returns the roles of a caller: those of its certificate, or, for another apid, those it passes on.
func rolesOf(ctx context.Context, view *View, md metadata.MD) ([]string, error) {
	if view.Open {
		return []string{roleReader}, nil
	}

	leaf, err := certificateOf(ctx)
	if err != nil {
		return nil, err
	}

	// A connection may outlive the certificate that it was made with.
	if now := time.Now(); now.After(leaf.NotAfter) {
		return nil, status.Errorf(codes.Unauthenticated, "the client certificate has expired at %s: connect with a new one", leaf.NotAfter.UTC().Format(time.RFC3339))
	}

	// Only apids have certificates that say this and nothing else.
	if slices.Equal(leaf.Subject.Organization, []string{roleImpersonator}) {
		return md.Get(keyRole), nil
	}

	return slices.DeleteFunc(slices.Clone(leaf.Subject.Organization), func(role string) bool {
		return role == "" || role == roleImpersonator
	}), nil
}

func certificateOf(ctx context.Context) (*x509.Certificate, error) {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return nil, status.Error(codes.Unauthenticated, "the connection has no peer")
	}

	info, ok := p.AuthInfo.(identity)
	if !ok || len(info.State.PeerCertificates) == 0 {
		return nil, status.Error(codes.Unauthenticated, "the connection has no client certificate: connect anew, with one")
	}

	return info.State.PeerCertificates[0], nil
}
