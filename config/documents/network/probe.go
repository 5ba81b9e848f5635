// SPDX-License-Identifier: Apache-2.0

package network

import (
	"time"

	"github.com/seed-59268b81/talos/config/document"
	"github.com/seed-59268b81/talos/config/value"
)

// HTTPProbeConfig checks that a URL answers. A machine whose probes fail is not ready.
type HTTPProbeConfig struct {
	document.Named `yaml:",inline"`
	// The URL, http or https. Any answer with a status from 200 to 399 counts. The request goes through the machine's proxy if the environment
	// has one.
	URL value.URL `yaml:"url" required:"true"`

	ProbeSettings `yaml:",inline"`
}

// TCPProbeConfig checks that a host takes connections. A machine whose probes fail is not ready.
type TCPProbeConfig struct {
	document.Named `yaml:",inline"`
	// The host and port.
	Endpoint value.Endpoint `yaml:"endpoint" required:"true"`

	ProbeSettings `yaml:",inline"`
}

// ProbeSettings are the settings of all probes.
type ProbeSettings struct {
	// How much time passes between two attempts; a second without it.
	Interval time.Duration `yaml:"interval,omitempty"`
	// How many attempts in a row must fail before the probe does.
	FailureThreshold int `yaml:"failureThreshold,omitempty" range:"0,1000"`
	// How long an attempt may take; ten seconds without it.
	Timeout time.Duration `yaml:"timeout,omitempty"`
}

var httpProbe = document.Of[HTTPProbeConfig]("HTTPProbeConfig", `apiVersion: v1alpha1
kind: HTTPProbeConfig
name: proxy
url: https://proxy.example.com/healthz
interval: 5s
failureThreshold: 3
timeout: 2s
`)

var tcpProbe = document.Of[TCPProbeConfig]("TCPProbeConfig", `apiVersion: v1alpha1
kind: TCPProbeConfig
name: registry
endpoint: registry.example.com:443
interval: 5s
`)

// Validate implements document.Validator.
func (p *HTTPProbeConfig) Validate(r *document.Report) {
	p.validate(r)

	if s := p.URL.Scheme; s != "" && s != "http" && s != "https" {
		r.Wrong("url", "has the scheme %s: want http or https", s)
	}
}

// Validate implements document.Validator.
func (p *TCPProbeConfig) Validate(r *document.Report) { p.validate(r) }

func (s *ProbeSettings) validate(r *document.Report) {
	for key, d := range map[string]time.Duration{"interval": s.Interval, "timeout": s.Timeout} {
		if d < 0 {
			r.Wrong(key, "%v is negative", d)
		}
	}
}
