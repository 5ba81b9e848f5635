// SPDX-License-Identifier: Apache-2.0

package trustd

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/api/contract"
	securityapi "github.com/seed-59268b81/talos/api/security"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/pki"
)

var (
	errNotReady = errors.New("trustd has no certificate yet: try again in some seconds")
	errToken    = errors.New("the machine token is not that of this cluster: compare machine.token of both configurations")
)

// keyAddress is the metadata key in which trustd passes the address of the caller to the signer.
const keyAddress = "address"

// Signer decides about requests and signs. It runs in process 1: trustd, which strangers can connect to, has neither the
// authority's key nor the token. An attacker in trustd gets no other certificates than a node with the token: for serving, for a
// day, without names of the control plane. The Signer has to trust the caller's address that trustd passes.
type Signer struct {
	securityapi.UnimplementedSecurityServiceServer

	// Lifetime of certificates for a Node of the cluster, and for a machine without a Node.
	Lifetime, FirstLifetime time.Duration

	log *slog.Logger
	// authority returns the present authority, nil if there is none.
	authority func(ctx context.Context) (*Authority, error)
	// claims are the names and addresses of issued certificates.
	claims *claims
}

// NewSigner returns the signer of a machine.
func NewSigner(log *slog.Logger, st state.Reader) *Signer {
	return newSigner(log, func(ctx context.Context) (*Authority, error) { return ReadAuthority(ctx, st) })
}

func newSigner(log *slog.Logger, authority func(ctx context.Context) (*Authority, error)) *Signer {
	return &Signer{Lifetime: Lifetime, FirstLifetime: FirstLifetime, log: log, authority: authority, claims: newClaims()}
}

// Certificate implements security.SecurityService for trustd.
func (s *Signer) Certificate(ctx context.Context, in *securityapi.CertificateRequest) (*securityapi.CertificateResponse, error) {
	md, _ := metadata.FromIncomingContext(ctx)

	from, err := netip.ParseAddr(single(md.Get(keyAddress)))
	if err != nil {
		return nil, status.Errorf(codes.InvalidArgument, "the address of the caller: %v", err)
	}

	authority, err := s.authority(ctx)
	if err != nil {
		s.log.ErrorContext(ctx, "certificates cannot be signed", "error", err)

		return nil, status.Errorf(codes.Internal, "sign: %v", err)
	}

	if authority == nil {
		return nil, status.Error(codes.Unavailable, errNotReady.Error())
	}

	if err := authority.authorize(md.Get(contract.KeyToken)); err != nil {
		return nil, status.Error(codes.Unauthenticated, err.Error())
	}

	request, err := ParseRequest(in.GetCsr())
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}

	granted, left, err := request.Grant(from, authority.Reserved)
	if err != nil {
		return nil, status.Error(codes.PermissionDenied, err.Error())
	}

	granted, others, confirmed := authority.Nodes.own(granted, from, authority.Reserved.Addresses[from.Unmap().WithZone("")])
	left = append(left, others...)

	life := s.FirstLifetime
	if len(confirmed) > 0 {
		life = s.Lifetime
	}

	granted, others = s.claims.take(granted, from, confirmed, time.Now(), life)
	left = append(left, others...)

	crt, err := authority.CA.SignPublicKey(granted.Key, pki.LeafOptions{
		CommonName: granted.CommonName, DNSNames: granted.DNSNames, IPs: granted.Addresses, Server: true, TTL: life,
	})
	if err != nil {
		s.log.ErrorContext(ctx, "a certificate could not be signed", "peer", from, "error", err)

		return nil, status.Errorf(codes.Internal, "sign: %v", err)
	}

	s.log.InfoContext(ctx, "signed", "peer", from, "name", granted.CommonName, "names", granted.DNSNames, "addresses", granted.Addresses, "left out", left)

	return &securityapi.CertificateResponse{Ca: authority.Bundle, Crt: append(crt, authority.Chain...)}, nil
}

func single(values []string) string {
	if len(values) != 1 {
		return ""
	}

	return values[0]
}

// authorize compares the token of a call with the machine's. Both are hashed first, so that the time reveals not even the length
// of the machine's token.
func (a *Authority) authorize(tokens []string) error {
	if len(tokens) != 1 {
		return fmt.Errorf("the call carries %d machine tokens, want one, in metadata %q", len(tokens), contract.KeyToken)
	}

	got, want := sha256.Sum256([]byte(tokens[0])), sha256.Sum256([]byte(a.Token))
	if subtle.ConstantTimeCompare(got[:], want[:]) != 1 || a.Token == "" {
		return errToken
	}

	return nil
}
