// SPDX-License-Identifier: Apache-2.0

package value

import (
	"encoding/base64"
	"errors"
)

// wireguardKeySize is the length of a Curve25519 key, in bytes.
const wireguardKeySize = 32

// WireguardKey is a key of WireGuard in base64: private, public or shared.
type WireguardKey string

// UnmarshalText implements encoding.TextUnmarshaler. A key may be a secret, so errors do not show it.
func (k *WireguardKey) UnmarshalText(text []byte) error {
	if len(text) > 0 {
		if key, err := base64.StdEncoding.DecodeString(string(text)); err != nil || len(key) != wireguardKeySize {
			return errors.New("the value is not a WireGuard key: want 32 bytes in base64, as \"wg genkey\" prints them")
		}
	}

	*k = WireguardKey(text)

	return nil
}

// Format implements Formatted.
func (WireguardKey) Format() Format {
	return Format{About: "a WireGuard key", Example: "a1AmpJpNUXb9JCfX+WLBPkkpQNYqFgOC4gEnrt8jKjM=", Pattern: `^[A-Za-z0-9+/]{43}=$`}
}
