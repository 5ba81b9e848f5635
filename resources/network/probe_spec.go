// SPDX-License-Identifier: Apache-2.0

package network

import (
	"time"

	"github.com/seed-59268b81/talos/cosi/resource"
)

var probeSpecDefinition = domain.Type("ProbeSpecs")

// ProbeSpecSpec is a test of the connection to another machine: TCP or HTTP has a target.
type ProbeSpecSpec struct {
	// Interval is the pause between two attempts.
	Interval time.Duration `yaml:"interval" protobuf:"1"`
	// FailureThreshold is the number of attempts in a row that must fail before the probe does.
	FailureThreshold int           `yaml:"failureThreshold" protobuf:"2"`
	TCP              TCPProbeSpec  `yaml:"tcp,omitempty" protobuf:"3"`
	Layer            ConfigLayer   `yaml:"layer" protobuf:"4"`
	HTTP             HTTPProbeSpec `yaml:"http,omitempty" protobuf:"5"`
}

// Definition implements resource.Spec.
func (ProbeSpecSpec) Definition() *resource.Definition { return probeSpecDefinition }

// TCPProbeSpec succeeds if the endpoint accepts a connection.
type TCPProbeSpec struct {
	Endpoint string        `yaml:"endpoint" protobuf:"1"`
	Timeout  time.Duration `yaml:"timeout" protobuf:"2"`
}

// HTTPProbeSpec succeeds if the URL answers with a status from 200 to 399.
type HTTPProbeSpec struct {
	URL     URL           `yaml:"url" protobuf:"1"`
	Timeout time.Duration `yaml:"timeout" protobuf:"2"`
}

// URL is a URL; on the wire it is a message of its own.
type URL struct {
	FullPath string `yaml:"fullPath" protobuf:"1"`
}

// MarshalText implements encoding.TextMarshaler.
func (u URL) MarshalText() ([]byte, error) { return []byte(u.FullPath), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (u *URL) UnmarshalText(text []byte) error {
	u.FullPath = string(text)

	return nil
}

// ID is the identity of the probe in namespace network: what it tests.
func (s ProbeSpecSpec) ID() string {
	if s.HTTP.URL.FullPath != "" {
		return "http:" + s.HTTP.URL.FullPath
	}

	return "tcp:" + s.TCP.Endpoint
}

// ConfigLayer is the layer that the spec comes from.
func (s ProbeSpecSpec) ConfigLayer() ConfigLayer { return s.Layer }
