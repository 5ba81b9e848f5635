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

// ResolverSpecController publishes the name servers in use.
func ResolverSpecController() controller.Controller {
	return transform.Singleton[network.ResolverSpecSpec, network.ResolverStatusSpec]{
		Name: "network.ResolverSpecController", InID: network.ResolverID, OutID: network.ResolverID,
		Transform: func(_ context.Context, _ state.Reader, _ *slog.Logger, in *network.ResolverSpecSpec, out *network.ResolverStatusSpec) error {
			out.DNSServers, out.NameServers, out.SearchDomains = in.DNSServers, in.NameServers, in.SearchDomains

			return nil
		},
	}.Controller()
}
