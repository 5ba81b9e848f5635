// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
)

// manifestName is what a manifest is called that is downloaded: its address without what may be secret in it. The name is in
// logs, and in resources that anybody may read.
func manifestName(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.User == nil && u.RawQuery == "" {
		return address
	}

	name := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	sum := sha256.Sum256([]byte(address))

	return name.String() + "#" + hex.EncodeToString(sum[:4]) // two that differ in what is left out are two
}
