// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"fmt"
	"net/url"
)

// URL is a URL; on the wire it is a message of its own.
type URL struct {
	FullPath string `yaml:"fullPath" protobuf:"1"`
}

// MarshalYAML prints the URL itself.
func (u URL) MarshalYAML() (any, error) { return u.FullPath, nil }

// String returns the URL.
func (u URL) String() string { return u.FullPath }

// Parse parses the URL, which must have a host.
func (u URL) Parse() (*url.URL, error) {
	parsed, err := url.Parse(u.FullPath)
	if err != nil {
		return nil, err
	}

	if parsed.Host == "" {
		return nil, fmt.Errorf("URL %q has no host", u.FullPath)
	}

	return parsed, nil
}
