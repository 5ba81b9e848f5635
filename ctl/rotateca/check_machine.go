// SPDX-License-Identifier: Apache-2.0

package rotateca

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"

	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/pki"
	"github.com/seed-59268b81/talos/resources/secrets"
)

// checkMachine returns why what a node's configuration says about the authority of its API is not in effect yet.
func checkMachine(ctx context.Context, r state.Reader, m member) error {
	var (
		root   secrets.OSRootSpec
		api    secrets.APICertsSpec
		trustd secrets.TrustdCertsSpec
	)

	ok, err := typed.All(typed.Read(ctx, r, secrets.OSRootID, &root), typed.Read(ctx, r, secrets.APIID, &api))
	if err != nil {
		return err
	}

	if !ok {
		return errors.New("the node has no certificate of its API yet")
	}

	if err := errors.Join(
		m.trust.is("the node's authority", root.IssuingCA.Crt, root.AcceptedCAs),
		m.trust.signed("the certificate of the API", api.Server.Crt, m.controlPlane),
		m.trust.acceptedBy("the API", api.AcceptedCAs),
	); err != nil || !m.controlPlane {
		return err
	}

	f := typed.Read(ctx, r, secrets.TrustdID, &trustd)
	if f.Err != nil {
		return f.Err
	}

	if !f.OK {
		return errors.New("trustd has no certificate yet")
	}

	return errors.Join(
		m.trust.signed("the API's client certificate", api.Client.Crt, false),
		m.trust.signed("the certificate of trustd", trustd.Server.Crt, true),
		m.trust.acceptedBy("trustd", trustd.AcceptedCAs),
	)
}

// is checks an authority and those that are accepted beside it.
func (t trust) is(what string, issuing []byte, accepted []secrets.Cert) error {
	cert, err := pki.ParseCertificate(issuing)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}

	if !cert.Equal(t.issuing) {
		return fmt.Errorf("%s is %s, want %s", what, short(cert), short(t.issuing))
	}

	return t.acceptedBy(what, accepted)
}

// acceptedBy checks which authorities are accepted.
func (t trust) acceptedBy(what string, accepted []secrets.Cert) error {
	certs, err := certificates(accepted)
	if err != nil {
		return fmt.Errorf("%s: accepted authorities: %w", what, err)
	}

	if !sameSet(certs, t.all()) {
		return fmt.Errorf("%s accepts the authorities %s, want %s", what, fingerprints(certs), fingerprints(t.all()))
	}

	return nil
}

// signed checks that the authority signed a certificate and, of a server, that its bridges follow.
func (t trust) signed(what string, text []byte, server bool) error {
	certs, err := pki.ParseCertificates(text)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}

	if err := certs[0].CheckSignatureFrom(t.issuing); err != nil {
		return fmt.Errorf("%s is not of the authority %s yet", what, short(t.issuing))
	}

	if server && !sameSet(certs[1:], t.bridgesTo(t.issuing)) {
		return fmt.Errorf("%s is followed by %d certificates, want %d", what, len(certs)-1, len(t.bridgesTo(t.issuing)))
	}

	return nil
}

// clientOf returns a client certificate of an authority.
func clientOf(cert *x509.Certificate, key []byte, options pki.LeafOptions) (pki.Pair, error) {
	ca, err := pki.ParseCA(pki.EncodeCertificate(cert), key)
	if err != nil {
		return pki.Pair{}, err
	}

	options.Client = true

	return ca.Sign(options)
}
