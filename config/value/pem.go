// SPDX-License-Identifier: Apache-2.0

package value

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
)

// Certificates are one or several certificates in PEM.
type Certificates string

// UnmarshalText implements encoding.TextUnmarshaler.
func (c *Certificates) UnmarshalText(text []byte) error {
	count := 0

	for rest := text; len(strings.TrimSpace(string(rest))) > 0; count++ {
		var block *pem.Block

		if block, rest = pem.Decode(rest); block == nil {
			return errors.New(`the value is not a certificate in PEM: want text from "-----BEGIN CERTIFICATE-----" to "-----END CERTIFICATE-----"`)
		}

		if block.Type != "CERTIFICATE" {
			return fmt.Errorf("the value has a %s in PEM: want a CERTIFICATE", block.Type)
		}

		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			return fmt.Errorf("certificate %d cannot be read: %w", count+1, err)
		}
	}

	*c = Certificates(text)

	return nil
}

// Format implements Formatted.
func (Certificates) Format() Format {
	return Format{About: "certificates in PEM", Example: "-----BEGIN CERTIFICATE-----"}
}

// PrivateKey is a private key in PEM.
type PrivateKey string

// UnmarshalText implements encoding.TextUnmarshaler. Errors do not show the key.
func (k *PrivateKey) UnmarshalText(text []byte) error {
	if len(strings.TrimSpace(string(text))) > 0 {
		if block, _ := pem.Decode(text); block == nil || !strings.HasSuffix(block.Type, "PRIVATE KEY") {
			return errors.New(`the value is not a private key in PEM: want text from "-----BEGIN PRIVATE KEY-----" to "-----END PRIVATE KEY-----"`)
		}
	}

	*k = PrivateKey(text)

	return nil
}

// Format implements Formatted.
func (PrivateKey) Format() Format {
	return Format{About: "a private key in PEM", Example: "-----BEGIN PRIVATE KEY-----"}
}

// PublicKey is a public key in PEM.
type PublicKey string

// UnmarshalText implements encoding.TextUnmarshaler.
func (k *PublicKey) UnmarshalText(text []byte) error {
	if block, _ := pem.Decode(text); block == nil || !strings.HasSuffix(block.Type, "PUBLIC KEY") {
		return errors.New(`the value is not a public key in PEM: want text from "-----BEGIN PUBLIC KEY-----" to "-----END PUBLIC KEY-----"`)
	}

	*k = PublicKey(text)

	return nil
}

// Format implements Formatted.
func (PublicKey) Format() Format {
	return Format{About: "a public key in PEM", Example: "-----BEGIN PUBLIC KEY-----"}
}

// CertificateAndKey is a certificate with its private key.
type CertificateAndKey struct {
	// The certificate, in PEM.
	Cert Certificates `yaml:"cert" required:"true"`
	// Its private key, in PEM.
	Key PrivateKey `yaml:"key" required:"true"`
}
