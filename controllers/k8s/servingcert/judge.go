// SPDX-License-Identifier: Apache-2.0

package servingcert

import (
	"crypto/rsa"
	"crypto/x509"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Bounds of a request. They are far above what a Node needs.
const (
	maxRequest      = 16 << 10
	maxSANs         = 256
	minRSA, maxRSA  = 2048, 4096
	digitalSig      = "digital signature"
	keyEncipherment = "key encipherment"
	serverAuth      = "server auth"
)

// Judge returns why a request is not approved; nil if it is valid.
func Judge(r Request, c Cluster) error {
	switch {
	case r.Signer != Signer:
		return fmt.Errorf("the signer is %q, not %s", r.Signer, Signer)
	case r.Node() == "":
		return fmt.Errorf("the requester %q is not a Node's user", r.Username)
	case !slices.Contains(r.Groups, nodesGroup):
		return fmt.Errorf("the requester %q is not in the group %s", r.Username, nodesGroup)
	}

	csr, err := parse(r.PEM)
	if err != nil {
		return err
	}

	if err := checkSubject(csr, r.Username); err != nil {
		return err
	}

	if err := checkUsages(csr, r.Usages); err != nil {
		return err
	}

	if err := checkKinds(csr); err != nil {
		return err
	}

	return c.allows(r.Node(), csr.DNSNames, csr.IPAddresses)
}

// parse decodes what the signer decodes: the first PEM block, which must be a CERTIFICATE REQUEST.
func parse(text []byte) (*x509.CertificateRequest, error) {
	if len(text) > maxRequest {
		return nil, fmt.Errorf("the request has %d bytes, want at most %d", len(text), maxRequest)
	}

	block, _ := pem.Decode(text)
	if block == nil || block.Type != "CERTIFICATE REQUEST" {
		return nil, errors.New("the request is not a CERTIFICATE REQUEST in PEM")
	}

	csr, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("the request cannot be decoded: %w", err)
	}

	// The signature of a huge key takes long to verify.
	if key, ok := csr.PublicKey.(*rsa.PublicKey); ok && (key.N.BitLen() < minRSA || key.N.BitLen() > maxRSA) {
		return nil, fmt.Errorf("the key is RSA with %d bits, want %d to %d", key.N.BitLen(), minRSA, maxRSA)
	}

	if err := csr.CheckSignature(); err != nil {
		return nil, fmt.Errorf("the request is not signed with its own key: %w", err)
	}

	return csr, nil
}

func checkSubject(csr *x509.CertificateRequest, username string) error {
	switch {
	case csr.Subject.CommonName != username:
		return fmt.Errorf("the common name is %q, not the requester's %q", csr.Subject.CommonName, username)
	case !slices.Equal(csr.Subject.Organization, []string{nodesGroup}):
		return fmt.Errorf("the organization is %q, want only %s", csr.Subject.Organization, nodesGroup)
	case len(csr.Subject.Names) != 2:
		return fmt.Errorf("the subject %s has more than a common name and an organization", csr.Subject)
	default:
		return nil
	}
}

// checkUsages checks that the usages are those of a server. An RSA key may also encipher keys.
func checkUsages(csr *x509.CertificateRequest, usages []string) error {
	got := slices.Sorted(slices.Values(usages))

	if slices.Equal(got, []string{digitalSig, serverAuth}) {
		return nil
	}

	_, isRSA := csr.PublicKey.(*rsa.PublicKey)
	if isRSA && slices.Equal(got, []string{digitalSig, keyEncipherment, serverAuth}) {
		return nil
	}

	return fmt.Errorf("the usages are %q, want %s and %s, with an RSA key also %s", usages, digitalSig, serverAuth, keyEncipherment)
}

// subjectAltName is the only extension that a kubelet requests.
var subjectAltName = asn1.ObjectIdentifier{2, 5, 29, 17}

func checkKinds(csr *x509.CertificateRequest) error {
	switch n := len(csr.DNSNames) + len(csr.IPAddresses); {
	case len(csr.EmailAddresses) > 0:
		return fmt.Errorf("the request has e-mail addresses: %q", csr.EmailAddresses)
	case len(csr.URIs) > 0:
		return fmt.Errorf("the request has URIs: %s", csr.URIs)
	case n == 0:
		return errors.New("the request has no DNS name and no IP address")
	case n > maxSANs:
		return fmt.Errorf("the request has %d names and addresses, want at most %d", n, maxSANs)
	}

	for _, extension := range csr.Extensions {
		if !extension.Id.Equal(subjectAltName) {
			return fmt.Errorf("the request has the extension %s, which a kubelet does not need", extension.Id)
		}
	}

	return nil
}

// isName reports whether a text may be the name of a host: a wildcard is not.
func isName(name string) bool {
	if name == "" || len(name) > 253 {
		return false
	}

	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > 63 || strings.Trim(label, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") != "" {
			return false
		}
	}

	return true
}
