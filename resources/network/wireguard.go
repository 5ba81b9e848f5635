// SPDX-License-Identifier: Apache-2.0

package network

import (
	"net/netip"
	"time"
)

// WireguardSpec are the settings of a WireGuard link. Keys are in base64. A status has no private key.
type WireguardSpec struct {
	PrivateKey   string          `yaml:"privateKey,omitempty" protobuf:"1"`
	PublicKey    string          `yaml:"publicKey,omitempty" protobuf:"2"`
	ListenPort   int             `yaml:"listenPort" protobuf:"3"`
	FirewallMark int             `yaml:"firewallMark" protobuf:"4"`
	Peers        []WireguardPeer `yaml:"peers" protobuf:"5"`
}

// WireguardPeer is the other end of a tunnel. Without an endpoint the peer calls first.
type WireguardPeer struct {
	PublicKey                   string         `yaml:"publicKey" protobuf:"1"`
	PresharedKey                string         `yaml:"presharedKey" protobuf:"2"`
	Endpoint                    string         `yaml:"endpoint" protobuf:"3"`
	PersistentKeepaliveInterval time.Duration  `yaml:"persistentKeepaliveInterval" protobuf:"4"`
	AllowedIPs                  []netip.Prefix `yaml:"allowedIPs" protobuf:"5"`
}
