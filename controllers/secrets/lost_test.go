// SPDX-License-Identifier: Apache-2.0

package secrets_test

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/v1alpha1"
	"github.com/seed-59268b81/talos/controllers/controllertest"
	"github.com/seed-59268b81/talos/controllers/secrets"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/pki"
	configres "github.com/seed-59268b81/talos/resources/config"
	"github.com/seed-59268b81/talos/resources/network"
	secretsres "github.com/seed-59268b81/talos/resources/secrets"
)

// TestLostConfiguration has a machine for which only the authority of its administrators is known, and then its configuration.
func TestLostConfiguration(t *testing.T) {
	ca, err := pki.NewCA(pki.CAOptions{Kind: pki.Ed25519, Organization: []string{"talos"}})
	if err != nil {
		t.Fatal(err)
	}

	lost, err := config.Encode(map[string]any{"version": "v1alpha1", "machine": map[string]any{"ca": map[string]any{"crt": v1alpha1.Base64(ca.PEM.Crt)}}})
	if err != nil {
		t.Fatal(err)
	}

	cfg, err := config.Decode(lost)
	if err != nil {
		t.Fatal(err)
	}

	n := controllertest.Start(t, secrets.Controllers()...)
	n.Hostname("m1")
	controllertest.Set(n, network.NodeAddressAccumulativeID, network.NodeAddressSpec{Addresses: []netip.Prefix{controllertest.Address}})
	controllertest.Wait(n, secretsres.APIID, func(s secretsres.APICertsSpec) bool { return s.SkipVerifyingClientCert })

	if err := typed.Set(t.Context(), n.State, "", configres.AccessID, configres.NewMachineConfigSpec(cfg)); err != nil {
		t.Fatal(err)
	}

	certs := controllertest.Wait(n, secretsres.APIID, func(s secretsres.APICertsSpec) bool { return !s.SkipVerifyingClientCert })
	if diff := cmp.Diff([]secretsres.Cert{{Crt: ca.PEM.Crt}}, certs.AcceptedCAs); diff != "" {
		t.Errorf("accepted (-want +got):\n%s", diff)
	}

	served, err := pki.ParseCertificate(certs.Server.Crt)
	if err != nil || served.Subject.CommonName != pki.MaintenanceName {
		t.Errorf("serves as %v, %v, want %s", served.Subject, err, pki.MaintenanceName)
	}
}
