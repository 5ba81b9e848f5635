// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"encoding/base64"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/seed-59268b81/talos/config/value"
)

// Object is a free-form object with the types of JSON: map[string]any, []any, string, bool, int64,
// uint64 (beyond int64), float64 and nil.
type Object map[string]any

// ExtraArgs are command line flags by name, without dashes. A flag with several values is passed several times.
type ExtraArgs map[string]Args

// Args are the values of a flag. In a document, a single value may be a plain scalar.
type Args []string

// OneOrMany makes the decoder accept a scalar as a list of one.
func (Args) OneOrMany() {}

// MarshalYAML encodes a single value as a plain string.
func (a Args) MarshalYAML() (any, error) {
	if len(a) == 1 {
		return a[0], nil
	}

	return []string(a), nil
}

// Base64 are bytes, mostly PEM, that are base64 in the document.
type Base64 []byte

// UnmarshalText decodes base64.
func (b *Base64) UnmarshalText(text []byte) error {
	decoded, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(text)))
	if err != nil {
		return fmt.Errorf("not base64: %w", err)
	}

	*b = decoded

	return nil
}

// MarshalText encodes base64.
func (b Base64) MarshalText() ([]byte, error) {
	return []byte(base64.StdEncoding.EncodeToString(b)), nil
}

// CertPair is a certificate and its key, in PEM. Workers have authorities without their keys.
type CertPair struct {
	// The certificate.
	Crt Base64 `yaml:"crt"`
	// Its private key.
	Key Base64 `yaml:"key"`
}

// Cert is a certificate without its key.
type Cert struct {
	// The certificate.
	Crt Base64 `yaml:"crt"`
}

// KeyOnly is a private key without a certificate.
type KeyOnly struct {
	// The private key.
	Key Base64 `yaml:"key"`
}

// URL is an absolute URL with a host.
type URL = value.URL

// ParseURL reads an absolute URL with a host.
func ParseURL(text string) (URL, error) { return value.ParseURL(text) }

// FileMode is a file's permissions in octal: 0o644, 0644 or 644 quoted.
type FileMode fs.FileMode

// UnmarshalText parses an octal number.
func (m *FileMode) UnmarshalText(text []byte) error {
	digits := strings.TrimPrefix(strings.TrimPrefix(string(text), "0o"), "0O")

	n, err := strconv.ParseUint(digits, 8, 12)
	if err != nil {
		return fmt.Errorf("%q is not a file mode: want octal such as 0o644", text)
	}

	*m = FileMode(n)

	return nil
}

// MarshalText returns the octal number.
func (m FileMode) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "0o%o", uint32(m)), nil }
