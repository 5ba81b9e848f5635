// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"context"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/api/contract"
	"github.com/seed-59268b81/talos/cosi/access"
	"github.com/seed-59268b81/talos/cosi/meta"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
)

// Rule decides whether a caller may read resources of a kind. Its error is returned to the caller.
type Rule func(ctx context.Context, kind resource.Kind) error

// ReadOnly returns the state for clients: the rule decides about reads, and writes are refused.
func ReadOnly(st state.State, rule Rule) state.State {
	return access.New(st, func(ctx context.Context, a access.Attempt) error {
		if a.Verb.Writes() {
			return errReadOnly
		}

		return rule(ctx, resource.Kind{Namespace: a.Namespace, Type: a.Type})
	})
}

// ByRole lets readers read every registered type that is not sensitive, and administrators all of them.
func ByRole(st state.Reader) Rule {
	return func(ctx context.Context, kind resource.Kind) error {
		def, err := typed.Find[meta.ResourceDefinitionSpec](ctx, st, meta.NamespaceName, strings.ToLower(kind.Type))
		if err != nil {
			return err
		}

		if def == nil {
			return status.Errorf(codes.PermissionDenied, "resource type %q is unknown (talosctl get rd lists the known types)", kind.Type)
		}

		if def.TypedSpec().Sensitivity != resource.NonSensitive && !slices.Contains(rolesFrom(ctx), contract.RoleAdmin) {
			return status.Errorf(codes.PermissionDenied, "resource type %q is sensitive: it requires the role %s", kind.Type, contract.RoleAdmin)
		}

		return nil
	}
}

// Only lets every caller read some kinds, in any namespace.
func Only(kinds ...resource.Kind) Rule {
	return func(_ context.Context, kind resource.Kind) error {
		if slices.ContainsFunc(kinds, func(k resource.Kind) bool { return k.Type == kind.Type }) {
			return nil
		}

		return status.Errorf(codes.PermissionDenied, "resource type %q is not shown here", kind.Type)
	}
}

// errReadOnly answers every write.
var errReadOnly = status.Error(codes.PermissionDenied, "resources cannot be written over the API: change the machine configuration (talosctl apply-config) instead")
