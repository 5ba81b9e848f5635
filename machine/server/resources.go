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
	"github.com/seed-59268b81/talos/cosi/meta"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

// Rule decides whether a caller may read resources of a kind; its error is what the caller gets.
type Rule func(ctx context.Context, kind resource.Kind) error

// ReadOnly shows a state to the outside: reads by the rule, and no writes at all.
func ReadOnly(st state.State, rule Rule) state.State { return &readOnly{State: st, rule: rule} }

type readOnly struct {
	state.State

	rule Rule
}

// ByRole lets readers read every type that is known, and administrators those that are sensitive too.
func ByRole(st state.Reader) Rule {
	return func(ctx context.Context, kind resource.Kind) error {
		def, err := definition(ctx, st, kind.Type)
		if err != nil {
			return err
		}

		if def == nil {
			return status.Errorf(codes.PermissionDenied, "resource type %q is not known (talosctl get rd lists those that are)", kind.Type)
		}

		if def.Sensitivity != resource.NonSensitive && !slices.Contains(rolesFrom(ctx), contract.RoleAdmin) {
			return status.Errorf(codes.PermissionDenied, "resource type %q is sensitive: it takes the role %s", kind.Type, contract.RoleAdmin)
		}

		return nil
	}
}

func definition(ctx context.Context, st state.Reader, typ string) (*meta.ResourceDefinitionSpec, error) {
	r, err := st.Get(ctx, resource.PointerOf[meta.ResourceDefinitionSpec](meta.NamespaceName, strings.ToLower(typ)))
	if state.IsNotFound(err) {
		return nil, nil
	}

	if err != nil {
		return nil, err
	}

	spec, _ := r.Spec().(*meta.ResourceDefinitionSpec)

	return spec, nil
}

// Only lets anybody read some kinds, in any namespace.
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

func (s *readOnly) Get(ctx context.Context, ptr resource.Pointer, opts ...state.GetOption) (resource.Resource, error) {
	if err := s.rule(ctx, ptr.Kind()); err != nil {
		return nil, err
	}

	return s.State.Get(ctx, ptr, opts...)
}

func (s *readOnly) List(ctx context.Context, kind resource.Kind, opts ...state.ListOption) ([]resource.Resource, error) {
	if err := s.rule(ctx, kind); err != nil {
		return nil, err
	}

	return s.State.List(ctx, kind, opts...)
}

func (s *readOnly) Watch(ctx context.Context, ptr resource.Pointer, ch chan<- state.Event, opts ...state.WatchOption) error {
	if err := s.rule(ctx, ptr.Kind()); err != nil {
		return err
	}

	return s.State.Watch(ctx, ptr, ch, opts...)
}

func (s *readOnly) WatchKind(ctx context.Context, kind resource.Kind, ch chan<- state.Event, opts ...state.WatchKindOption) error {
	if err := s.rule(ctx, kind); err != nil {
		return err
	}

	return s.State.WatchKind(ctx, kind, ch, opts...)
}

func (s *readOnly) WatchKindAggregated(ctx context.Context, kind resource.Kind, ch chan<- []state.Event, opts ...state.WatchKindOption) error {
	if err := s.rule(ctx, kind); err != nil {
		return err
	}

	return s.State.WatchKindAggregated(ctx, kind, ch, opts...)
}

func (s *readOnly) WatchFor(ctx context.Context, ptr resource.Pointer, conditions ...state.Condition) (resource.Resource, error) {
	if err := s.rule(ctx, ptr.Kind()); err != nil {
		return nil, err
	}

	return s.State.WatchFor(ctx, ptr, conditions...)
}

func (*readOnly) Create(context.Context, resource.Resource, ...state.WriteOption) error {
	return errReadOnly
}

func (*readOnly) Update(context.Context, resource.Resource, ...state.WriteOption) error {
	return errReadOnly
}

func (*readOnly) Modify(context.Context, resource.Resource, func(resource.Resource) error, ...state.WriteOption) (resource.Resource, error) {
	return nil, errReadOnly
}

func (*readOnly) UpdateWithConflicts(context.Context, resource.Pointer, func(resource.Resource) error, ...state.WriteOption) (resource.Resource, error) {
	return nil, errReadOnly
}

func (*readOnly) Destroy(context.Context, resource.Pointer, ...state.WriteOption) error {
	return errReadOnly
}

func (*readOnly) Teardown(context.Context, resource.Pointer, ...state.WriteOption) (bool, error) {
	return false, errReadOnly
}

func (*readOnly) TeardownAndDestroy(context.Context, resource.Pointer, ...state.WriteOption) error {
	return errReadOnly
}

func (*readOnly) AddFinalizer(context.Context, resource.Pointer, ...string) error {
	return errReadOnly
}

func (*readOnly) RemoveFinalizer(context.Context, resource.Pointer, ...string) error {
	return errReadOnly
}
