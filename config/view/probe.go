// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"time"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/documents/network"
)

// Probe is a test of the connection to another machine. It has a URL or an endpoint.
type Probe struct {
	Name          string
	URL, Endpoint string
	// Interval is the pause between two attempts, and Timeout the longest time of one.
	Interval, Timeout time.Duration
	// FailureThreshold is the number of attempts in a row that must fail: at least one.
	FailureThreshold int
}

// Settings of a probe that says nothing else.
const (
	DefaultProbeInterval = time.Second
	DefaultProbeTimeout  = 10 * time.Second
)

// Probes are the tests of connections.
func (c *Config) Probes() []Probe {
	var out []Probe

	add := func(p Probe, s network.ProbeSettings) {
		p.Interval, p.Timeout = cmp.Or(s.Interval, DefaultProbeInterval), cmp.Or(s.Timeout, DefaultProbeTimeout)
		p.FailureThreshold = max(1, s.FailureThreshold)
		out = append(out, p)
	}

	for _, p := range config.All[*network.HTTPProbeConfig](c.all) {
		add(Probe{Name: p.DocName, URL: p.URL.String()}, p.ProbeSettings)
	}

	for _, p := range config.All[*network.TCPProbeConfig](c.all) {
		add(Probe{Name: p.DocName, Endpoint: string(p.Endpoint)}, p.ProbeSettings)
	}

	return out
}
