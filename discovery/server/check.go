// SPDX-License-Identifier: Apache-2.0

package server

import (
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	serverapi "github.com/seed-59268b81/talos/api/discovery/server"
)

// Limits of requests, which existing clients know.
const (
	maxID       = 256
	maxData     = 2048
	maxEndpoint = 32
	maxTTL      = 30 * time.Minute
)

// invalid returns the error for a request, with a text that existing clients know.
func invalid(text string) error { return status.Error(codes.InvalidArgument, text) }

func checkCluster(id string) error {
	switch {
	case id == "":
		return invalid("cluster ID can't be empty")
	case len(id) > maxID:
		return invalid("cluster ID is too long")
	}

	return nil
}

func checkAffiliate(id string) error {
	switch {
	case id == "":
		return invalid("affiliate ID can't be empty")
	case len(id) > maxID:
		return invalid("affiliate ID is too long")
	}

	return nil
}

func checkUpdate(in *serverapi.AffiliateUpdateRequest) error {
	if err := checkCluster(in.GetClusterId()); err != nil {
		return err
	}

	if err := checkAffiliate(in.GetAffiliateId()); err != nil {
		return err
	}

	if len(in.GetAffiliateData()) > maxData {
		return invalid("affiliate data is too big")
	}

	for _, e := range in.GetAffiliateEndpoints() {
		if len(e) > maxEndpoint {
			return invalid("affiliate endpoint is too big")
		}
	}

	if in.GetTtl().AsDuration() > maxTTL {
		return invalid("ttl is too large")
	}

	return nil
}
