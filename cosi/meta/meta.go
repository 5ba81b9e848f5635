// SPDX-License-Identifier: Apache-2.0

// Package meta holds the resources that describe other resources: namespaces and resource definitions, in the
// namespace meta. They let a client find the types of a state, their aliases and the columns to print. A state
// never demands them: a type works without a definition.
package meta

import (
	"context"
	"errors"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
)

// NamespaceName is where the meta resources live.
const NamespaceName = "meta"

// Owner of the meta resources.
const Owner = "meta"

// Register adds the descriptions of the meta types and of their namespace. A store that has them from an earlier start is
// brought up to date.
func Register(ctx context.Context, st state.Writer) error {
	return errors.Join(
		RegisterNamespace(ctx, st, NamespaceName, "Metadata namespace which contains resource and namespace definitions."),
		RegisterDefinition(ctx, st, namespaceDefinition),
		RegisterDefinition(ctx, st, resourceDefinition),
		RegisterDefinition(ctx, st, controllerStatusDefinition),
	)
}

// RegisterNamespace adds the description of a namespace, or replaces it.
func RegisterNamespace(ctx context.Context, st state.Writer, name, description string) error {
	return typed.Set(ctx, st, NamespaceName, name, NamespaceSpec{Description: description}, state.WithOwner(Owner))
}

// RegisterDefinition adds the description of a type, or replaces it, and makes sure that it is sound.
func RegisterDefinition(ctx context.Context, st state.Writer, def *resource.Definition) error {
	rd, err := NewResourceDefinition(def)
	if err != nil {
		return err
	}

	return typed.Set(ctx, st, NamespaceName, rd.Metadata().ID(), *rd.TypedSpec(), state.WithOwner(Owner))
}

// RegisterTypes makes the meta types known to this process; see resource.Register.
func RegisterTypes() error {
	return errors.Join(resource.Register[NamespaceSpec](), resource.Register[ResourceDefinitionSpec](), resource.Register[ControllerStatusSpec]())
}
