// SPDX-License-Identifier: Apache-2.0

package secrets

// URL is a URL; on the wire it is a message of its own.
type URL struct {
	FullPath string `yaml:"fullPath" protobuf:"1"`
}

// MarshalYAML prints the URL itself.
func (u URL) MarshalYAML() (any, error) { return u.FullPath, nil }

// String returns the URL.
func (u URL) String() string { return u.FullPath }
