// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

// MappedInput is an input of a queue controller besides its primary one, with a function that maps a change to the ids of
// primary resources.
type MappedInput struct {
	Input
	// To must use only what is in changed, because the resource may no longer exist.
	To func(ctx context.Context, r state.Reader, changed Changed) ([]string, error)
}

// MappedIn declares a mapped input of S.
func MappedIn[S resource.Spec](kind InputKind, namespace string, to func(ctx context.Context, r state.Reader, changed Changed) ([]string, error)) MappedInput {
	return MappedInput{Input: In[S](kind, namespace), To: to}
}

// SameID maps a resource to the primary one of the same id.
func SameID(_ context.Context, _ state.Reader, changed Changed) ([]string, error) {
	return []string{changed.ID}, nil
}

// ByLabel maps a resource to the primary one whose id is the value of a label, and a resource without the label to none.
// It maps children to their parent: the parent's controller sets the label on each resource that it creates for the
// parent, and has their kind as a mapped input.
func ByLabel(key string) func(ctx context.Context, r state.Reader, changed Changed) ([]string, error) {
	return func(_ context.Context, _ state.Reader, changed Changed) ([]string, error) {
		if id, ok := changed.Labels.Get(key); ok {
			return []string{id}, nil
		}

		return nil, nil
	}
}

// MapInputs maps a change of any of the inputs to primary resources.
func MapInputs(ctx context.Context, r state.Reader, inputs []MappedInput, primary resource.Kind, changed Changed) ([]resource.Pointer, error) {
	var out []resource.Pointer

	for _, in := range inputs {
		if in.Namespace != changed.Namespace || in.Type != changed.Type || in.ID != "" && in.ID != changed.ID {
			continue
		}

		ids, err := in.To(ctx, r, changed)
		if err != nil {
			return nil, err
		}

		for _, id := range ids {
			out = append(out, primary.Pointer(id))
		}
	}

	return out, nil
}
