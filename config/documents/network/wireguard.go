// SPDX-License-Identifier: Apache-2.0

package network

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/seed-59268b81/talos/config/document"
	"github.com/seed-59268b81/talos/config/value"
)

// WireguardConfig creates a WireGuard link: an encrypted tunnel to each of its peers.
type WireguardConfig struct {
	document.Named `yaml:",inline"`
	// The private key of this machine, in base64.
	PrivateKey value.WireguardKey `yaml:"privateKey" required:"true"`
	// The UDP port that the link listens on; without one the kernel chooses it.
	ListenPort uint16 `yaml:"listenPort,omitempty"`
	// The mark of the link's own packets, for routing rules and firewalls.
	FirewallMark uint32 `yaml:"firewallMark,omitempty"`
	// The other ends.
	Peers []WireguardPeer `yaml:"peers,omitempty"`

	LinkSettings `yaml:",inline"`
}

// WireguardPeer is the other end of a tunnel.
type WireguardPeer struct {
	// The public key of the peer, in base64.
	PublicKey value.WireguardKey `yaml:"publicKey" required:"true"`
	// A key that both ends share beside their own, in base64.
	PresharedKey value.WireguardKey `yaml:"presharedKey,omitempty"`
	// Where the peer is; without it the peer calls first.
	Endpoint netip.AddrPort `yaml:"endpoint,omitempty"`
	// How often something is sent, so that a NAT between the two remembers them; 0 for never.
	PersistentKeepaliveInterval time.Duration `yaml:"persistentKeepaliveInterval,omitempty"`
	// The networks behind the peer: what it may send from, and what is sent to it.
	AllowedIPs []netip.Prefix `yaml:"allowedIPs,omitempty"`
}

var wireguard = document.Of[WireguardConfig]("WireguardConfig", `apiVersion: v1alpha1
kind: WireguardConfig
name: wg0
privateKey: "0NSW1TVZAPhYcCQk3fcQQTqsgZfE8tOvPWEA3xbMmVI="
listenPort: 51820
peers:
    - publicKey: "a1AmpJpNUXb9JCfX+WLBPkkpQNYqFgOC4gEnrt8jKjM="
      endpoint: 192.0.2.77:51820
      persistentKeepaliveInterval: 25s
      allowedIPs:
        - 198.51.100.0/24
addresses:
    - address: 198.51.100.1/24
`)

// maxKeepalive is the longest interval that the kernel takes, in seconds.
const maxKeepalive = 65535 * time.Second

// Validate implements document.Validator.
func (w *WireguardConfig) Validate(r *document.Report) {
	w.validate(r, "")

	seen := map[value.WireguardKey]bool{}

	for i, peer := range w.Peers {
		at := fmt.Sprintf("peers[%d]", i)

		if seen[peer.PublicKey] {
			r.Wrong(at+".publicKey", "is the key of another peer too")
		}

		seen[peer.PublicKey] = true

		if k := peer.PersistentKeepaliveInterval; k < 0 || k > maxKeepalive || k%time.Second != 0 {
			r.Wrong(at+".persistentKeepaliveInterval", "%v is not an interval of whole seconds up to %v", k, maxKeepalive)
		}
	}
}
