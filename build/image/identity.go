// SPDX-License-Identifier: Apache-2.0

package image

import (
	"crypto/sha256"
	"strings"

	"github.com/seed-59268b81/talos/sys/gpt"
)

// identity derives an identifier (UUID version 8) from parts, so that images are reproducible.
func identity(parts ...string) gpt.GUID {
	var g gpt.GUID

	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	copy(g[:], sum[:])

	g[6] = g[6]&0x0f | 0x80
	g[8] = g[8]&0x3f | 0x80

	return g
}
