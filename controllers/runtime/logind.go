// SPDX-License-Identifier: Apache-2.0

//go:build linux

package runtime

import (
	"context"
	"log/slog"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/sys/logind"
)

// LogindController serves the message bus on which the kubelet waits for the shutdown of the machine.
type LogindController struct{ Bus *logind.Bus }

// Name implements controller.Controller.
func (*LogindController) Name() string { return "runtime.LogindController" }

// Inputs implements controller.Controller.
func (*LogindController) Inputs() []controller.Input { return nil }

// Outputs implements controller.Controller.
func (*LogindController) Outputs() []controller.Output { return nil }

// Run implements controller.Controller.
func (c *LogindController) Run(ctx context.Context, _ controller.Runtime, _ *slog.Logger) error {
	return c.Bus.Serve(ctx)
}
