// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"log/slog"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/resources/network"
)

// DefaultTimeServer is asked where nobody names another.
const DefaultTimeServer = "time.cloudflare.com"

// TimeServerConfigController proposes time servers.
func TimeServerConfigController() controller.Controller {
	return layerController("network.TimeServerConfigController", nil,
		func(_ context.Context, _ controller.Runtime, f facts, _ *slog.Logger) ([]network.TimeServerSpecSpec, error) {
			return timeServerLayers(f), nil
		})
}

func timeServerLayers(f facts) []network.TimeServerSpecSpec {
	specs := []network.TimeServerSpecSpec{{NTPServers: []string{DefaultTimeServer}, Layer: network.LayerDefault}}

	var args []string

	for _, ip := range f.cmdline.ips {
		for _, server := range ip.NTP {
			args = append(args, server.String())
		}
	}

	if len(args) > 0 {
		specs = append(specs, network.TimeServerSpecSpec{NTPServers: args, Layer: network.LayerCmdline})
	}

	if servers := f.config.TimeServers(); len(servers) > 0 {
		specs = append(specs, network.TimeServerSpecSpec{NTPServers: servers, Layer: network.LayerConfiguration})
	}

	return specs
}
