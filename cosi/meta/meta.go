// SPDX-License-Identifier: Apache-2.0

// Package meta has the resources that describe other resources: namespaces and resource definitions, in the
// namespace meta. A client uses them to find the types of a state, their aliases and the columns to print. They are
// optional: a type works without a definition.
package meta

import (
	"context"
	"errors"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
)

// NamespaceName is the namespace of the meta resources.
const NamespaceName = "meta"

// Owner of the meta resources.
const Owner = "meta"

// Register adds the descriptions of the meta types and of their namespace. Descriptions from an earlier start are updated.
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

// RegisterDefinition adds the description of a type, or replaces it. A definition that is not valid is an error.
func RegisterDefinition(ctx context.Context, st state.Writer, def *resource.Definition) error {
	rd, err := NewResourceDefinition(def)
	if err != nil {
		return err
	}

	return typed.Set(ctx, st, NamespaceName, rd.Metadata().ID(), *rd.TypedSpec(), state.WithOwner(Owner))
}

// RegisterTypes registers the meta types; see resource.Register.
func RegisterTypes() error {
	return errors.Join(resource.Register[NamespaceSpec](), resource.Register[ResourceDefinitionSpec](), resource.Register[ControllerStatusSpec]())
}
