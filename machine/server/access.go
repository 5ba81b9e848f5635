// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"context"
	"slices"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
	configres "github.com/seed-59268b81/talos/resources/config"
)

// metadataRoleKey is where apid puts the roles of its caller.
const metadataRoleKey = "talos-role"

// rolesFrom returns the roles of the caller: those that the metadata says, as far as the process that says so may have
// them. A connection of which no process is known has none.
func rolesFrom(ctx context.Context) []string {
	process, ok := processFrom(ctx)
	if !ok {
		return nil
	}

	md, _ := metadata.FromIncomingContext(ctx)

	var roles []string

	for _, role := range md.Get(metadataRoleKey) {
		if slices.Contains(process.Roles, role) && !slices.Contains(roles, role) {
			roles = append(roles, role)
		}
	}

	return roles
}

// Authorized are the interceptors that apply the rules. They come after those of Peers.
func Authorized(st state.Reader) []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.ChainUnaryInterceptor(func(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
			if err := authorize(ctx, st, info.FullMethod); err != nil {
				return nil, err
			}

			return next(ctx, req)
		}),
		grpc.ChainStreamInterceptor(func(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
			if err := authorize(stream.Context(), st, info.FullMethod); err != nil {
				return err
			}

			return next(srv, stream)
		}),
	}
}

func authorize(ctx context.Context, st state.Reader, method string) error {
	allowed, ok := rules[method]
	if !ok {
		allowed = admins
	}

	roles := rolesFrom(ctx)

	if unconfigured[method] && !slices.Contains(roles, RoleAdmin) {
		configured, err := isConfigured(ctx, st)
		if err != nil {
			return status.Errorf(codes.Internal, "%s: %v", strings.TrimPrefix(method, "/"), err)
		}

		if configured {
			allowed = admins
		}
	}

	if slices.ContainsFunc(roles, func(r string) bool { return slices.Contains(allowed, r) }) {
		return nil
	}

	return status.Errorf(codes.PermissionDenied, "%s: it takes one of the roles %s, the caller has [%s]",
		strings.TrimPrefix(method, "/"), strings.Join(allowed, ", "), strings.Join(roles, ", "))
}

// isConfigured tells whether the machine has the configuration that makes it somebody's.
func isConfigured(ctx context.Context, st state.Reader) (bool, error) {
	cfg, err := typed.Find[configres.MachineConfigSpec](ctx, st, "", configres.ActiveID)
	if err != nil || cfg == nil {
		return false, err
	}

	return cfg.TypedSpec().Config().Main() != nil, nil
}
