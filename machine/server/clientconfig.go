// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"context"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/api/contract"
	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/config/generate"
	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/secrets"
)

// Limits of the lifetime of a client's certificate.
const (
	maxClientLifetime = generate.ClientLifetime
	minClientLifetime = time.Minute
)

// GenerateClientConfiguration implements machine.MachineService. The certificate has only roles that allow calls, never the
// impersonator's, which is for apid.
func (s *Server) GenerateClientConfiguration(ctx context.Context, req *machine.GenerateClientConfigurationRequest) (*machine.GenerateClientConfigurationResponse, error) {
	const what = "generate client configuration"

	roles, ttl := req.GetRoles(), maxClientLifetime

	if len(roles) == 0 {
		return nil, status.Errorf(codes.InvalidArgument, "%s: name at least one of the roles %s", what, strings.Join(contract.Roles(), ", "))
	}

	for _, role := range roles {
		if !slices.Contains(contract.Roles(), role) {
			return nil, status.Errorf(codes.InvalidArgument, "%s: role %.64q: want one of %s", what, role, strings.Join(contract.Roles(), ", "))
		}
	}

	if req.GetCrtTtl() != nil {
		ttl = req.GetCrtTtl().AsDuration()
	}

	if ttl < minClientLifetime || ttl > maxClientLifetime {
		return nil, status.Errorf(codes.InvalidArgument, "%s: a lifetime of %s is not between %s and %s", what, ttl, minClientLifetime, maxClientLifetime)
	}

	cfg, err := s.configuration(ctx, what)
	if err != nil {
		return nil, err
	}

	root, err := typed.Find[secrets.OSRootSpec](ctx, s.State, "", secrets.OSRootID)
	if err != nil {
		return nil, err
	}

	if root == nil || len(root.TypedSpec().IssuingCA.Key) == 0 {
		return nil, status.Errorf(codes.FailedPrecondition, "%s: only a control plane node has the authority's key; call a control plane node", what)
	}

	ca := root.TypedSpec().IssuingCA
	slices.Sort(roles)

	client, err := generate.TalosconfigFor(
		cfg.ClusterName(), view.CertPair{Crt: ca.Crt, Key: ca.Key}, slices.Compact(roles), ttl, nil, nil,
	)
	if err != nil {
		return nil, status.Errorf(codes.Internal, "%s: %v", what, err)
	}

	// While the authority is replaced, the certificates of some nodes are still those of the other one.
	for _, context := range client.Contexts {
		context.CA = secrets.JoinCerts(root.TypedSpec().AcceptedCAs)
	}

	text, err := client.Encode()
	if err != nil {
		return nil, status.Errorf(codes.Internal, "%s: %v", what, err)
	}

	issued, err := client.Find("")
	if err != nil {
		return nil, status.Errorf(codes.Internal, "%s: %v", what, err)
	}

	return &machine.GenerateClientConfigurationResponse{Messages: []*machine.GenerateClientConfiguration{{
		Ca: issued.CA, Crt: issued.Crt, Key: issued.Key, Talosconfig: text,
	}}}, nil
}
