// SPDX-License-Identifier: Apache-2.0

package secrets_test

import (
	"bytes"
	"net"
	"net/netip"
	"slices"
	"testing"

	"github.com/seed-59268b81/talos/controllers/controllertest"
	"github.com/seed-59268b81/talos/controllers/secrets"
	"github.com/seed-59268b81/talos/cosi/cositest"
	"github.com/seed-59268b81/talos/discovery/seal"
	"github.com/seed-59268b81/talos/pki"
	"github.com/seed-59268b81/talos/resources/cluster"
	configres "github.com/seed-59268b81/talos/resources/config"
	"github.com/seed-59268b81/talos/resources/network"
	secretsres "github.com/seed-59268b81/talos/resources/secrets"
)

// TestDiscoveryd holds what discoveryd gets, which is not the cluster's secret, and who gets nothing.
func TestDiscoveryd(t *testing.T) {
	ca, err := pki.NewCA(pki.CAOptions{Kind: pki.Ed25519, Organization: []string{"talos"}})
	if err != nil {
		t.Fatal(err)
	}

	secret := bytes.Repeat([]byte{1}, seal.KeySize)
	discovery := cluster.ConfigSpec{DiscoveryEnabled: true, ServiceClusterID: "c", ServiceEncryptionKey: secret}

	n := controllertest.Start(t, secrets.Controllers()...)
	n.Hostname("cp1")
	controllertest.Set(n, network.NodeAddressAccumulativeID, network.NodeAddressSpec{Addresses: []netip.Prefix{controllertest.Address}})
	controllertest.Set(n, secretsres.OSRootID, secretsres.OSRootSpec{IssuingCA: secretsres.CertAndKey{Crt: ca.PEM.Crt, Key: ca.PEM.Key}})
	controllertest.Set(n, configres.MachineTypeID, configres.MachineTypeSpec{MachineType: configres.TypeControlPlane})
	controllertest.Set(n, cluster.ConfigID, discovery)

	got := controllertest.Wait[secretsres.DiscoverydSpec](n, secretsres.DiscoverydID, nil)
	if got.ClusterID != "c" || !bytes.Equal(got.ProofKey, seal.ProofKey(secret)) || bytes.Contains(got.ProofKey, secret[:8]) {
		t.Errorf("cluster %s, key %x", got.ClusterID, got.ProofKey)
	}

	served, err := pki.ParseCertificate(got.Server.Crt)
	if err != nil || !slices.ContainsFunc(served.IPAddresses, func(ip net.IP) bool { return ip.IsLoopback() }) {
		t.Errorf("the certificate is for %v, %v", served, err)
	}

	discovery.ServiceClusterID = "d"
	controllertest.Set(n, cluster.ConfigID, discovery)
	controllertest.Wait(n, secretsres.DiscoverydID, func(s secretsres.DiscoverydSpec) bool { return s.ClusterID == "d" })

	for name, change := range map[string]func(on bool){
		"discovery is off": func(on bool) {
			discovery.DiscoveryEnabled = on
			controllertest.Set(n, cluster.ConfigID, discovery)
		},
		"the secret is missing": func(on bool) {
			discovery.ServiceEncryptionKey = nil
			if on {
				discovery.ServiceEncryptionKey = secret
			}

			controllertest.Set(n, cluster.ConfigID, discovery)
		},
		"a worker": func(on bool) {
			kind := configres.TypeWorker
			if on {
				kind = configres.TypeControlPlane
			}

			controllertest.Set(n, configres.MachineTypeID, configres.MachineTypeSpec{MachineType: kind})
		},
	} {
		change(false)
		t.Log(name)
		cositest.WaitGone[secretsres.DiscoverydSpec](n.Environment, secretsres.DiscoverydID)
		change(true)
		controllertest.Wait[secretsres.DiscoverydSpec](n, secretsres.DiscoverydID, nil)
	}
}
