// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"context"
	"time"

	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/service/container"
)

// verifyTimeout bounds what one call asks registries.
const verifyTimeout = 2 * time.Minute

// Verify implements machine.ImageService: it judges an image as a pull would, and pulls nothing. An image that may not be pulled is an error.
func (s imageService) Verify(ctx context.Context, req *machine.ImageServiceVerifyRequest) (*machine.ImageServiceVerifyResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, verifyTimeout)
	defer cancel()

	var login *container.Login

	if c := req.GetCredentials(); c != nil {
		login = &container.Login{Host: c.GetHost(), Credential: container.Credential{Username: c.GetUsername(), Password: c.GetPassword()}}
	}

	verdict, err := s.Registries.Verify(ctx, req.GetImageRef(), login)
	if err != nil {
		return nil, containerdError("verify image", err)
	}

	return &machine.ImageServiceVerifyResponse{Verified: verdict.Verified, Message: verdict.Why, DigestedImageRef: verdict.Pinned()}, nil
}
