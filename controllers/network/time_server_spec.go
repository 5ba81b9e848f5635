// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"log/slog"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/transform"
	"github.com/seed-59268b81/talos/resources/network"
)

// TimeServerSpecController publishes the time servers in use.
func TimeServerSpecController() controller.Controller {
	return transform.Singleton[network.TimeServerSpecSpec, network.TimeServerStatusSpec]{
		Name: "network.TimeServerSpecController", InID: network.TimeServerID, OutID: network.TimeServerID,
		Transform: func(_ context.Context, _ state.Reader, _ *slog.Logger, in *network.TimeServerSpecSpec, out *network.TimeServerStatusSpec) error {
			out.NTPServers, out.UseNTS = in.NTPServers, in.UseNTS

			return nil
		},
	}.Controller()
}
