// SPDX-License-Identifier: Apache-2.0

package network

import "github.com/seed-59268b81/talos/resources/network"

// probeLayers proposes the probes of the configuration.
func probeLayers(f facts, _ remarks) []network.ProbeSpecSpec {
	var specs []network.ProbeSpecSpec

	for _, p := range f.config.Probes() {
		spec := network.ProbeSpecSpec{Interval: p.Interval, FailureThreshold: p.FailureThreshold, Layer: network.LayerConfiguration}

		if p.URL != "" {
			spec.HTTP = network.HTTPProbeSpec{URL: network.URL{FullPath: p.URL}, Timeout: p.Timeout}
		} else {
			spec.TCP = network.TCPProbeSpec{Endpoint: p.Endpoint, Timeout: p.Timeout}
		}

		specs = append(specs, spec)
	}

	return specs
}
