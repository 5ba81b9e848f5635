// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
)

// manifestName returns the name of a manifest that is downloaded: its URL without the parts that may be secret. The name is in logs, and in
// resources that everyone may read.
func manifestName(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.User == nil && u.RawQuery == "" {
		return address
	}

	name := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	sum := sha256.Sum256([]byte(address))

	return name.String() + "#" + hex.EncodeToString(sum[:4]) // URLs that differ in a secret part have different names
}
