// SPDX-License-Identifier: Apache-2.0

package access

import (
	"bytes"
	"encoding/pem"
	"fmt"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/v1alpha1"
	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/pki"
)

// EncodeAuthorities returns the certificates of a configuration's authorities, PEM.
func EncodeAuthorities(cfg *config.Config) ([]byte, error) {
	var out bytes.Buffer

	says := view.Of(cfg)

	texts := [][]byte{says.MachineCA().Crt}
	for _, ca := range says.MachineAcceptedCAs() {
		texts = append(texts, ca.Crt)
	}

	for _, text := range texts {
		certs, err := pki.ParseCertificates(text)
		if err != nil {
			return nil, fmt.Errorf("encode authorities: %w", err)
		}

		// Encode the certificates again, so that a private key in the same PEM text is not stored.
		for _, cert := range certs {
			if err := pem.Encode(&out, &pem.Block{Type: "CERTIFICATE", Bytes: cert.Raw}); err != nil {
				return nil, err
			}
		}
	}

	return out.Bytes(), nil
}

// DecodeAuthorities returns a configuration that has only the authorities.
func DecodeAuthorities(text []byte) (*config.Config, error) {
	certs, err := pki.ParseCertificates(text)
	if err != nil {
		return nil, err
	}

	main := &v1alpha1.Config{Version: v1alpha1.Version}

	for i, cert := range certs {
		crt := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Raw})

		if i == 0 {
			main.Machine.CA.Crt = crt
		} else {
			main.Machine.AcceptedCAs = append(main.Machine.AcceptedCAs, v1alpha1.Cert{Crt: crt})
		}
	}

	encoded, err := config.Encode(main)
	if err != nil {
		return nil, err
	}

	return config.DecodeForBoot(encoded)
}
