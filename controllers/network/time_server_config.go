// SPDX-License-Identifier: Apache-2.0

package network

import (
	"slices"

	"github.com/seed-59268b81/talos/resources/network"
)

// DefaultTimeServer is used if no other is configured.
const DefaultTimeServer = "time.cloudflare.com"

// timeServerLayers proposes time servers.
func timeServerLayers(f facts, _ remarks) []network.TimeServerSpecSpec {
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

	if servers := append(slices.Clip(f.config.TimeDevices()), f.config.TimeServers()...); len(servers) > 0 {
		specs = append(specs, network.TimeServerSpecSpec{NTPServers: servers, Layer: network.LayerConfiguration})
	}

	return specs
}
