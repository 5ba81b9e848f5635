// SPDX-License-Identifier: Apache-2.0

// Package configtest provides the configurations that existing clients generate at the 1.12 contract, with
// real certificates in place of the placeholders.
package configtest

import (
	_ "embed"
	"encoding/base64"
	"regexp"
	"sync"
	"testing"

	"github.com/seed-59268b81/talos/api/contract"
	"github.com/seed-59268b81/talos/config/secrets"
	"github.com/seed-59268b81/talos/config/v1alpha1"
	"github.com/seed-59268b81/talos/pki"
)

//go:embed controlplane-1.12.yaml
var controlPlane []byte

//go:embed worker-1.12.yaml
var worker []byte

//go:embed talosconfig-1.12.yaml
var client []byte

var once = sync.OnceValues(secrets.New)

// Bundle returns the secrets bundle that all tests of a binary share.
func Bundle(t testing.TB) *secrets.Bundle {
	t.Helper()

	bundle, err := once()
	if err != nil {
		t.Fatal(err)
	}

	return bundle
}

// ControlPlane returns the configuration of a control plane machine.
func ControlPlane(t testing.TB) []byte {
	certs := Bundle(t).Certs

	return fill(t, controlPlane, pair(certs.OS), pair(certs.Kubernetes), pair(certs.Aggregator),
		[][]byte{certs.ServiceAccount.Key}, pair(certs.Etcd))
}

// Worker returns the configuration of a worker.
func Worker(t testing.TB) []byte {
	certs := Bundle(t).Certs

	return fill(t, worker, [][]byte{certs.OS.Crt}, [][]byte{certs.Kubernetes.Crt})
}

// Talosconfig returns the client's configuration.
func Talosconfig(t testing.TB) []byte {
	t.Helper()

	certs := Bundle(t).Certs

	ca, err := pki.ParseCA(certs.OS.Crt, certs.OS.Key)
	if err != nil {
		t.Fatal(err)
	}

	leaf, err := ca.Sign(pki.LeafOptions{Organization: []string{contract.RoleAdmin}, Client: true, TTL: pki.CALifetime})
	if err != nil {
		t.Fatal(err)
	}

	return fill(t, client, [][]byte{certs.OS.Crt}, [][]byte{leaf.Crt, leaf.Key})
}

func pair(p v1alpha1.CertPair) [][]byte { return [][]byte{p.Crt, p.Key} }

var placeholder = regexp.MustCompile(`(CERTIFICATE|KEY)_PEM_BASE64`)

// fill replaces the placeholders in order.
func fill(t testing.TB, text []byte, groups ...[][]byte) []byte {
	t.Helper()

	var values [][]byte

	for _, group := range groups {
		values = append(values, group...)
	}

	if got, want := len(placeholder.FindAll(text, -1)), len(values); got != want {
		t.Fatalf("the example has %d placeholders, want %d", got, want)
	}

	return placeholder.ReplaceAllFunc(text, func([]byte) []byte {
		value := values[0]
		values = values[1:]

		return []byte(base64.StdEncoding.EncodeToString(value))
	})
}
