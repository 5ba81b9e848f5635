// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"bytes"
	"encoding/base64"
)

// CertAndKey is a certificate and its private key, both PEM.
type CertAndKey struct {
	Crt []byte `yaml:"crt" protobuf:"1"`
	Key []byte `yaml:"key" protobuf:"2"`
}

// MarshalYAML prints both as base64, as the machine configuration carries them.
func (p CertAndKey) MarshalYAML() (any, error) {
	return struct {
		Crt string `yaml:"crt"`
		Key string `yaml:"key"`
	}{base64.StdEncoding.EncodeToString(p.Crt), base64.StdEncoding.EncodeToString(p.Key)}, nil
}

// Empty reports whether both halves are missing.
func (p CertAndKey) Empty() bool { return len(p.Crt) == 0 && len(p.Key) == 0 }

// Equal compares both halves.
func (p CertAndKey) Equal(o CertAndKey) bool {
	return bytes.Equal(p.Crt, o.Crt) && bytes.Equal(p.Key, o.Key)
}

// Cert is a certificate, PEM.
type Cert struct {
	Crt []byte `yaml:"crt" protobuf:"1"`
}

// MarshalYAML prints it as base64.
func (p Cert) MarshalYAML() (any, error) {
	return struct {
		Crt string `yaml:"crt"`
	}{base64.StdEncoding.EncodeToString(p.Crt)}, nil
}

// Key is a private or public key, PEM.
type Key struct {
	Key []byte `yaml:"key" protobuf:"1"`
}

// MarshalYAML prints it as base64.
func (p Key) MarshalYAML() (any, error) {
	return struct {
		Key string `yaml:"key"`
	}{base64.StdEncoding.EncodeToString(p.Key)}, nil
}

// JoinCerts concatenates certificates to one PEM bundle.
func JoinCerts(certs []Cert) []byte {
	var out []byte

	for _, c := range certs {
		out = append(out, bytes.TrimSpace(c.Crt)...)
		out = append(out, '\n')
	}

	return out
}
