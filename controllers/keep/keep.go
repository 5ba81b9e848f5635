// SPDX-License-Identifier: Apache-2.0

// Package keep holds outputs of a controller while an input is missing.
//
// Usually an output is destroyed with its inputs. That is wrong for the certificates of a running control plane: a clock that has
// lost its server, or a hostname that is unknown for a moment, must not stop the API server. Such a controller destroys its outputs
// only when the configuration no longer asks for them, and otherwise replaces them.
package keep

import (
	"context"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
)

// Outputs writes existing outputs again, unchanged, so that they are not cleaned up.
func Outputs[S resource.Spec](ctx context.Context, rt controller.Runtime, ids ...string) error {
	for _, id := range ids {
		held, err := typed.Find[S](ctx, rt, "", id)
		if err != nil {
			return err
		}

		if held == nil || held.Metadata().Phase() != resource.PhaseRunning {
			continue
		}

		if err := typed.Set(ctx, rt, "", id, *held.TypedSpec()); err != nil {
			return err
		}
	}

	return nil
}
