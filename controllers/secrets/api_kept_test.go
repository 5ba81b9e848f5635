// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"crypto/x509"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/controllers/controllertest"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/pki"
	"github.com/seed-59268b81/talos/resources/block"
	"github.com/seed-59268b81/talos/resources/secrets"
)

// TestKeptAPI boots a worker again and again: while no control plane answers, its API serves with the certificate of the boot before.
func TestKeptAPI(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, keptAPIFile)
	ca, other := newCA(t, pki.Ed25519), newCA(t, pki.Ed25519)
	cp := &controlPlane{ca: ca}

	// boot starts a worker of an authority.
	boot := func(ca *pki.CA) *controllertest.Node {
		n := controllertest.Start(t, apiController(cp.certificate), keptAPIController())

		controllertest.Set(n, secrets.CertSANAPIID, secrets.CertSANSpec{FQDN: "w1", DNSNames: []string{"w1"}, IPs: []netip.Addr{netip.MustParseAddr("10.5.0.3")}})
		controllertest.Set(n, secrets.OSRootID, secrets.OSRootSpec{
			IssuingCA: secrets.CertAndKey{Crt: ca.PEM.Crt}, AcceptedCAs: []secrets.Cert{{Crt: ca.PEM.Crt}}, Token: "abcdef.x",
		})

		return n
	}

	serves := func(n *controllertest.Node) secrets.CertAndKey {
		t.Helper()

		return controllertest.Wait(n, secrets.APIID, func(s secrets.APICertsSpec) bool { return !s.Server.Empty() && !s.SkipVerifyingClientCert }).Server
	}

	// The first boot gets a certificate, and keeps it: STATE is mounted to look for one, and to write it.
	n := boot(ca)
	n.Mount(keptAPIRequester, block.VolumeState, dir)

	first := serves(n)
	for _, err := os.Stat(file); err != nil; _, err = os.Stat(file) {
		n.Mount(keptAPIRequester, block.VolumeState, dir)
	}

	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("the kept certificate: %v, %v; want a file for root only", info, err)
	}

	// The second finds no control plane.
	cp.fail(errors.New("trustd at 10.5.0.2:50001: connection refused"))

	n = boot(ca)
	n.Mount(keptAPIRequester, block.VolumeState, dir)

	if got := serves(n); !got.Equal(first) {
		t.Error("no control plane answers: got another certificate than that of the boot before")
	}

	verify(t, first, ca, "10.5.0.3", x509.ExtKeyUsageServerAuth)

	// The third is one of another cluster, by its configuration: what was kept is not used.
	n = boot(other)
	n.Mount(keptAPIRequester, block.VolumeState, dir)
	controllertest.Wait(n, secrets.APIKeptID, func(s secrets.APICertsSpec) bool { return s.Server.Equal(first) })

	for tries := cp.fail(errors.New("no")); cp.fail(errors.New("no")) < tries+2; { // it was looked at
		time.Sleep(10 * time.Millisecond)
	}

	if got, err := typed.Find[secrets.APICertsSpec](t.Context(), n.State, "", secrets.APIID); err != nil || got != nil {
		t.Errorf("got %v, %v: the API serves with a certificate of an authority that is not accepted", got, err)
	}

	// The fourth has a damaged file, and a control plane: the new certificate is kept.
	if err := os.WriteFile(file, []byte(`{"Crt": "`), 0o600); err != nil {
		t.Fatal(err)
	}

	cp.fail(nil)

	n = boot(ca)
	n.Mount(keptAPIRequester, block.VolumeState, dir)

	if serves(n).Equal(first) {
		t.Error("got the certificate of a damaged file")
	}
}
