// SPDX-License-Identifier: Apache-2.0

package trustd

import (
	"context"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"log/slog"
	"slices"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/api/contract"
	securityapi "github.com/seed-59268b81/talos/api/security"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/pki"
	"github.com/seed-59268b81/talos/resources/secrets"
)

// TestTakenOver: an attacker in trustd gets nothing from the signer without the token, and with it the same as any node of the
// cluster.
func TestTakenOver(t *testing.T) {
	ca := newCA(t)
	view := newView(t, ca)
	signer := newSigner(slog.New(slog.NewTextHandler(t.Output(), nil)), func(context.Context) (*Authority, error) { return &view.Authority, nil })

	csr := requestFor(t, edKey(), x509.CertificateRequest{
		Subject:     pkix.Name{CommonName: "cp1", Organization: []string{"os:admin"}},
		DNSNames:    []string{"cp1", "w1"},
		IPAddresses: ips("10.5.0.2", "10.5.0.3"),
	})

	for name, test := range map[string]struct {
		md   metadata.MD
		csr  []byte
		code codes.Code
	}{
		"as a node":              {metadata.MD{contract.KeyToken: {token}, keyAddress: {"10.5.0.3"}}, csr, codes.OK},
		"as the control plane":   {metadata.MD{contract.KeyToken: {token}, keyAddress: {"10.5.0.2"}}, csr, codes.OK},
		"without the token":      {metadata.MD{keyAddress: {"10.5.0.3"}}, csr, codes.Unauthenticated},
		"with another":           {metadata.MD{contract.KeyToken: {"x"}, keyAddress: {"10.5.0.3"}}, csr, codes.Unauthenticated},
		"with two":               {metadata.MD{contract.KeyToken: {"x", token}, keyAddress: {"10.5.0.3"}}, csr, codes.Unauthenticated},
		"from nowhere":           {metadata.MD{contract.KeyToken: {token}}, csr, codes.InvalidArgument},
		"from two":               {metadata.MD{contract.KeyToken: {token}, keyAddress: {"10.5.0.3", "10.5.0.4"}}, csr, codes.InvalidArgument},
		"from a name as address": {metadata.MD{contract.KeyToken: {token}, keyAddress: {"cp1"}}, csr, codes.InvalidArgument},
		"another node's address": {metadata.MD{contract.KeyToken: {token}, keyAddress: {"10.5.0.9"}}, csr, codes.PermissionDenied},
		"with garbage":           {metadata.MD{contract.KeyToken: {token}, keyAddress: {"10.5.0.3"}}, []byte("garbage"), codes.InvalidArgument},
	} {
		answer, err := signer.Certificate(metadata.NewIncomingContext(t.Context(), test.md), &securityapi.CertificateRequest{Csr: test.csr})
		if status.Code(err) != test.code {
			t.Errorf("%s: got %v, want %v", name, err, test.code)
		}

		if err != nil {
			continue
		}

		cert, err := pki.ParseCertificate(answer.GetCrt())
		if err != nil {
			t.Fatal(err)
		}

		if len(cert.Subject.Organization) > 0 || cert.IsCA || !slices.Equal(cert.ExtKeyUsage, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}) ||
			cert.VerifyHostname("cp1") == nil || cert.VerifyHostname("10.5.0.2") == nil || cert.NotAfter.Sub(cert.NotBefore) > Lifetime+pki.Backdate {
			t.Errorf("%s: got %v, names %q, addresses %v, usages %v", name, cert.Subject, cert.DNSNames, cert.IPAddresses, cert.ExtKeyUsage)
		}
	}

	broken := newSigner(slog.New(slog.DiscardHandler), func(context.Context) (*Authority, error) { return nil, errors.New("machine.ca: it has no key") })

	ctx := metadata.NewIncomingContext(t.Context(), metadata.MD{contract.KeyToken: {token}, keyAddress: {"10.5.0.3"}})
	if _, err := broken.Certificate(ctx, &securityapi.CertificateRequest{Csr: csr}); status.Code(err) != codes.Internal {
		t.Errorf("without a key: got %v, want %v", err, codes.Internal)
	}
}

// TestNoKeyInTrustd: the socket shows no resource with the authority's key or the token.
func TestNoKeyInTrustd(t *testing.T) {
	if kinds := Kinds(); slices.Contains(kinds, resource.KindOf[secrets.OSRootSpec]("")) || len(kinds) != 1 {
		t.Errorf("got %v, want only trustd's own certificate", kinds)
	}
}
