// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"context"
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/secrets"
	"github.com/seed-59268b81/talos/service/container"
)

// verifyTimeout bounds what one call asks registries.
const verifyTimeout = 2 * time.Minute

// Verify implements machine.ImageService: it judges an image as a pull would, and pulls nothing. An image that may not be pulled is an error.
//
// The caller chooses the registry. So that readers cannot search a network through the node, it contacts one for them only if a rule asks for a
// signature of the image. Their answer about other images has a digest only if the request has it.
func (s imageService) Verify(ctx context.Context, req *machine.ImageServiceVerifyRequest) (*machine.ImageServiceVerifyResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, verifyTimeout)
	defer cancel()

	if !slices.ContainsFunc(rolesFrom(ctx), func(role string) bool { return slices.Contains(operators, role) }) {
		verdict, decided, err := s.Registries.Decided(req.GetImageRef())
		if err != nil {
			return nil, containerdError("verify image", err)
		}

		if decided {
			return verified(verdict), nil
		}

		if err := s.known(ctx); err != nil {
			return nil, err
		}
	}

	var login *container.Login

	if c := req.GetCredentials(); c != nil {
		login = &container.Login{Host: c.GetHost(), Credential: container.Credential{Username: c.GetUsername(), Password: c.GetPassword()}}
	}

	verdict, err := s.Registries.Verify(ctx, req.GetImageRef(), login)
	if err != nil {
		return nil, containerdError("verify image", err)
	}

	return verified(verdict), nil
}

func verified(v container.Verdict) *machine.ImageServiceVerifyResponse {
	return &machine.ImageServiceVerifyResponse{Verified: v.Verified, Message: v.Why, DigestedImageRef: v.Pinned()}
}

// known returns an error in maintenance mode, where anyone is a reader without a client certificate.
func (s imageService) known(ctx context.Context) error {
	var certs secrets.APICertsSpec

	switch f := typed.Read(ctx, s.State, secrets.APIID, &certs); {
	case f.Err != nil:
		return status.Errorf(codes.Internal, "verify image: %v", f.Err)
	case certs.SkipVerifyingClientCert:
		return status.Error(codes.PermissionDenied,
			"verify image: in maintenance mode the node contacts no registry for callers without a client certificate: apply a configuration first (talosctl apply-config --insecure)")
	}

	return nil
}
