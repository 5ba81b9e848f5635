// SPDX-License-Identifier: Apache-2.0

package value

import "encoding/base64"

// KeySize is the size of the identity of a cluster and of its key, in bytes.
const KeySize = 32

// DiscoverySchemes are the schemes of the URLs of discovery services. All are gRPC; http is without TLS.
var DiscoverySchemes = []string{"https", "http", "grpc"}

// IsKey reports whether a text is a key in base64. Existing clients write identities in its form for URLs, and keys in the other one.
func IsKey(text string) bool {
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
		if raw, err := encoding.DecodeString(text); err == nil && len(raw) == KeySize {
			return true
		}
	}

	return false
}
