// SPDX-License-Identifier: Apache-2.0

//go:build linux

package config

import (
	"bytes"
	"encoding/pem"
	"errors"
	"fmt"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/v1alpha1"
	metactl "github.com/seed-59268b81/talos/controllers/meta"
	"github.com/seed-59268b81/talos/pki"
	"github.com/seed-59268b81/talos/sys/meta"
)

// Meta keeps the certificates of the administrators' authorities beside STATE, on a partition of its own: whatever becomes of
// STATE, a machine that was configured once stays closed to strangers, and its administrators get in. It has no key, so the API
// answers with a certificate of this boot (talosctl --insecure shows the client certificate when it is asked for one).
type Meta interface {
	// Get returns nil when there is none, meta.ErrNotLoaded of the controllers before META was found.
	Get(tag meta.Tag) ([]byte, error)
	Set(tag meta.Tag, value []byte) error
}

// encodeAdministrators returns the certificates of a configuration's authorities, PEM.
func encodeAdministrators(main *v1alpha1.Config) ([]byte, error) {
	var out bytes.Buffer

	texts := [][]byte{main.Machine.CA.Crt}
	for _, ca := range main.Machine.AcceptedCAs {
		texts = append(texts, ca.Crt)
	}

	for _, text := range texts {
		certs, err := pki.ParseCertificates(text)
		if err != nil {
			return nil, fmt.Errorf("certificates of the administrators' authorities: %w", err)
		}

		// The certificates are encoded again, so that a private key in the same PEM text is not kept.
		for _, cert := range certs {
			if err := pem.Encode(&out, &pem.Block{Type: "CERTIFICATE", Bytes: cert.Raw}); err != nil {
				return nil, err
			}
		}
	}

	return out.Bytes(), nil
}

// decodeAdministrators returns a configuration with the authorities alone.
func decodeAdministrators(text []byte) (*config.Config, error) {
	certs, err := pki.ParseCertificates(text)
	if err != nil {
		return nil, fmt.Errorf("META key %s: %w", meta.Administrators, err)
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

	return usable(encoded)
}

// administrators returns what META knows.
func (c *Controller) administrators() metaRead {
	text, err := c.meta.Get(meta.Administrators)

	switch {
	case errors.Is(err, metactl.ErrNotLoaded):
		return metaRead{}
	case err != nil: // it may have had them
		return metaRead{configured: true, loaded: true, err: err}
	case text == nil:
		return metaRead{loaded: true}
	}

	access, err := decodeAdministrators(text)

	return metaRead{access, true, true, err}
}
