// SPDX-License-Identifier: Apache-2.0

package rotateca

import (
	"bytes"
	"crypto/x509"
	"fmt"
	"slices"

	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/pki"
	"github.com/seed-59268b81/talos/resources/secrets"
)

// kind is what an authority is for.
type kind int

const (
	machineAPI kind = iota
	kubernetes
)

func (k kind) String() string {
	if k == kubernetes {
		return "Kubernetes"
	}

	return "machine API"
}

// options describe a new authority, as talosctl gen config creates them.
func (k kind) options() pki.CAOptions {
	if k == kubernetes {
		return pki.CAOptions{Kind: pki.ECDSAP256, Organization: []string{"kubernetes"}}
	}

	return pki.CAOptions{Kind: pki.Ed25519, Organization: []string{"talos"}}
}

// trust is what the configuration of a node says about the authorities of a kind.
type trust struct {
	// issuing signs certificates. Workers know it without its key.
	issuing *x509.Certificate
	key     []byte
	// bridges are certificates for the keys of these authorities that other authorities signed. Servers send those of issuing.
	bridges []*x509.Certificate
	// accepted are the other authorities.
	accepted []*x509.Certificate
}

// trustOf reads a configuration.
func trustOf(k kind, cfg *view.Config) (trust, error) {
	path, pair, list := "machine.ca", cfg.MachineCA(), cfg.MachineAcceptedCAs()
	if k == kubernetes {
		path, pair, list = "cluster.ca", cfg.ClusterCA(), cfg.ClusterAcceptedCAs()
	}

	authority, err := pki.ParseAuthority(pair.Crt)
	if err != nil {
		return trust{}, fmt.Errorf("%s: %w", path, err)
	}

	t := trust{issuing: authority.Certificate, key: bytes.TrimSpace(pair.Key), bridges: authority.Bridges}
	t.accept(authority.Others...)

	for i, c := range list {
		authority, err := pki.ParseAuthority(c.Crt)
		if err != nil {
			return trust{}, fmt.Errorf("accepted authority %d of %s: %w", i+1, k, err)
		}

		t.accept(authority.Trusted()...)
		t.bridges = append(slices.Clip(t.bridges), authority.Bridges...)
	}

	return t, nil
}

// accept adds authorities that are not accepted yet.
func (t *trust) accept(certs ...*x509.Certificate) {
	for _, cert := range certs {
		if !t.accepts(cert) {
			t.accepted = append(slices.Clip(t.accepted), cert)
		}
	}
}

// accepts reports whether certificates of an authority are accepted.
func (t trust) accepts(cert *x509.Certificate) bool {
	return t.issuing.Equal(cert) || contains(t.accepted, cert)
}

// all returns the authorities that are accepted.
func (t trust) all() []*x509.Certificate {
	return append([]*x509.Certificate{t.issuing}, t.accepted...)
}

// without returns the other accepted authorities but some.
func (t trust) without(certs ...*x509.Certificate) []*x509.Certificate {
	return slices.DeleteFunc(slices.Clone(t.accepted), func(cert *x509.Certificate) bool { return contains(certs, cert) })
}

func (t trust) equal(o trust) bool {
	return t.issuing.Equal(o.issuing) && bytes.Equal(t.key, o.key) && sameSet(t.bridges, o.bridges) && sameSet(t.accepted, o.accepted)
}

// bridgesTo returns the bridges to an authority.
func (t trust) bridgesTo(cert *x509.Certificate) []*x509.Certificate {
	return slices.DeleteFunc(slices.Clone(t.bridges), func(bridge *x509.Certificate) bool { return !pki.SameKey(bridge, cert) })
}

// text returns an authority with the bridges to it, PEM.
func (t trust) text(cert *x509.Certificate) []byte {
	return pki.EncodeCertificates(append([]*x509.Certificate{cert}, t.bridgesTo(cert)...))
}

func contains(certs []*x509.Certificate, cert *x509.Certificate) bool {
	return slices.ContainsFunc(certs, cert.Equal)
}

func sameSet(a, b []*x509.Certificate) bool {
	return !slices.ContainsFunc(a, func(cert *x509.Certificate) bool { return !contains(b, cert) }) &&
		!slices.ContainsFunc(b, func(cert *x509.Certificate) bool { return !contains(a, cert) })
}

// certificates reads the certificates of a resource.
func certificates(list []secrets.Cert) ([]*x509.Certificate, error) {
	if len(list) == 0 {
		return nil, nil
	}

	return pki.ParseCertificates(secrets.JoinCerts(list))
}

// short names an authority in messages.
func short(cert *x509.Certificate) string { return pki.Fingerprint(cert)[:16] }
