// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"context"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/api/contract"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
	configres "github.com/seed-59268b81/talos/resources/config"
)

// rolesFrom returns the roles of the caller: those in the metadata that the process at the other end may pass on. A
// connection from an unknown process has none.
func rolesFrom(ctx context.Context) []string {
	process, ok := processFrom(ctx)
	if !ok {
		return nil
	}

	md, _ := metadata.FromIncomingContext(ctx)

	var roles []string

	for _, role := range md.Get(contract.KeyRole) {
		if slices.Contains(process.Roles, role) && !slices.Contains(roles, role) {
			roles = append(roles, role)
		}
	}

	return roles
}

// Authorized returns the check that applies the rules.
func Authorized(st state.Reader) Check {
	return func(ctx context.Context, method string) error { return authorize(ctx, st, method) }
}

func authorize(ctx context.Context, st state.Reader, method string) error {
	allowed, ok := rules[method]
	if !ok {
		allowed = admins
	}

	roles := rolesFrom(ctx)
	hint := ""

	if unconfigured[method] && !slices.Contains(roles, contract.RoleAdmin) {
		configured, err := isConfigured(ctx, st)
		if err != nil {
			return status.Errorf(codes.Internal, "%s: %v", strings.TrimPrefix(method, "/"), err)
		}

		if configured {
			allowed, hint = admins, "; the machine has a configuration: use a client certificate of its administrator (without --insecure)"
		}
	}

	if slices.ContainsFunc(roles, func(r string) bool { return slices.Contains(allowed, r) }) {
		return nil
	}

	// In maintenance every caller is a reader.
	if configured, err := isConfigured(ctx, st); err == nil && !configured && slices.Equal(roles, []string{contract.RoleReader}) {
		hint = "; a machine without a configuration has no administrators: apply one first (talosctl apply-config --insecure)"
	}

	return status.Errorf(codes.PermissionDenied, "%s: it requires one of the roles %s, the caller has [%s]%s",
		strings.TrimPrefix(method, "/"), strings.Join(allowed, ", "), strings.Join(roles, ", "), hint)
}

// isConfigured reports whether the machine has a configuration: active, staged for the next boot, or stored and damaged.
func isConfigured(ctx context.Context, st state.Reader) (bool, error) {
	all, err := typed.List[configres.MachineConfigSpec](ctx, st, "")
	if err != nil {
		return false, err
	}

	return slices.ContainsFunc(all, func(r *resource.Typed[configres.MachineConfigSpec]) bool {
		return r.TypedSpec().View().Complete()
	}), nil
}
