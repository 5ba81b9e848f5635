// SPDX-License-Identifier: Apache-2.0

package transform

import (
	"context"
	"log/slog"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

// Singleton describes a controller that computes one output from one input.
type Singleton[In, Out resource.Spec] struct {
	Name string
	// InNamespace and OutNamespace are those of the definitions when empty.
	InNamespace, OutNamespace string
	InID, OutID               string
	// Extra inputs that Transform reads.
	Extra []controller.Input
	// Writes is Shared if other controllers write outputs of the type.
	Writes controller.OutputKind
	// Transform fills out from in; see Map.
	Transform func(ctx context.Context, r state.Reader, log *slog.Logger, in *In, out *Out) error
}

// Controller returns the controller.
func (s Singleton[In, Out]) Controller() controller.Controller {
	return Map[In, Out]{
		Name:        s.Name,
		InNamespace: s.InNamespace, InID: s.InID, OutNamespace: s.OutNamespace,
		ID:     func(*resource.Typed[In]) string { return s.OutID },
		Extra:  s.Extra,
		Writes: s.Writes,
		Transform: func(ctx context.Context, r state.Reader, log *slog.Logger, in *resource.Typed[In], out *Out) error {
			return s.Transform(ctx, r, log, in.TypedSpec(), out)
		},
	}.Controller()
}
