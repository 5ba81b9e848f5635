// SPDX-License-Identifier: Apache-2.0

package apid

import (
	"context"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// rolesOf returns the roles of a caller: those of its certificate, or, for another apid, those it passes on.
func rolesOf(ctx context.Context, view *View, md metadata.MD) ([]string, error) {
	if view.Open {
		return []string{roleReader}, nil
	}

	p, ok := peer.FromContext(ctx)
	if !ok {
		return nil, status.Error(codes.Unauthenticated, "the connection has no peer")
	}

	info, ok := p.AuthInfo.(credentials.TLSInfo)
	if !ok || len(info.State.PeerCertificates) == 0 {
		return nil, status.Error(codes.Unauthenticated, "the connection has no client certificate")
	}

	roles := info.State.PeerCertificates[0].Subject.Organization
	if slices.Contains(roles, roleImpersonator) {
		return md.Get(keyRole), nil
	}

	return roles, nil
}
