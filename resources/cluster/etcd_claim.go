// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"net/netip"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/resources/enum"
)

// EtcdClaim is what a machine says about its etcd, so that others do not start a second cluster. The numbers are those of the wire.
type EtcdClaim uint32

// The claims.
const (
	// EtcdNone: the machine has no data of etcd, and was not asked to start a cluster.
	EtcdNone EtcdClaim = iota
	// EtcdAsked: the machine was asked to start a cluster.
	EtcdAsked
	// EtcdData: the machine has data of etcd.
	EtcdData
)

var etcdClaims = enum.Of[EtcdClaim]("none", "asked", "data")

// String returns the name.
func (c EtcdClaim) String() string { return etcdClaims.Text(c) }

// MarshalText implements encoding.TextMarshaler.
func (c EtcdClaim) MarshalText() ([]byte, error) { return etcdClaims.Marshal(c) }

// UnmarshalText implements encoding.TextUnmarshaler.
func (c *EtcdClaim) UnmarshalText(text []byte) error { return etcdClaims.Parse("claim", text, c) }

var etcdClaimDefinition = domain.Type("EtcdClaims", "Claim={.claim}", "Hostname={.hostname}", "Addresses={.addresses}", "Local={.local}")

// EtcdClaimSpec is a machine of the cluster, this one included, that has an etcd or was asked to start one. Its id is the machine's identity.
// A machine that claims nothing has none.
type EtcdClaimSpec struct {
	Claim     EtcdClaim    `yaml:"claim" protobuf:"1"`
	Hostname  string       `yaml:"hostname" protobuf:"2"`
	Addresses []netip.Addr `yaml:"addresses" protobuf:"3"`
	// Local is set for this machine.
	Local bool `yaml:"local" protobuf:"4"`
}

// Definition implements resource.Spec.
func (EtcdClaimSpec) Definition() *resource.Definition { return etcdClaimDefinition }
