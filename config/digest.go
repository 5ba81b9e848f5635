// SPDX-License-Identifier: Apache-2.0

package config

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
)

// Digest identifies the text of a configuration. Line ends at its end do not count: not every form in which a text is passed on keeps them.
func Digest(text []byte) string {
	sum := sha256.Sum256(bytes.TrimRight(text, "\r\n"))

	return hex.EncodeToString(sum[:])
}
