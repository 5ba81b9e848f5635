// SPDX-License-Identifier: Apache-2.0

// Package pki creates and reads the X.509 material of a cluster: certificate authorities, leaf
// certificates, signing requests and bare key pairs, all as PEM.
//
// Its only inputs are its arguments, time and randomness. The machine configuration, the secrets
// controllers, trustd, talosctl and the kubeconfig writer all use it, so the rules below hold
// everywhere:
//
//	ca, err   := pki.NewCA(pki.CAOptions{Kind: pki.Ed25519, Organization: []string{"talos"}})
//	ca, err   := pki.ParseCA(crtPEM, keyPEM)       // checks that the two belong together
//	pair, err := ca.Sign(pki.LeafOptions{CommonName: "admin", Client: true, TTL: 24 * time.Hour})
//	csr, key, err := pki.NewCSR(pki.CSROptions{Kind: pki.Ed25519, IPs: ips})
//	crt, err  := ca.SignCSR(csr, pki.LeafOptions{Server: true, TTL: 24 * time.Hour})
//	when      := pki.RenewAt(cert)                 // half of its life
//
// Leaves have the kind of key of their authority by default. A leaf ends with its authority at the
// latest. SignCSR takes the public key, names and common name from the request, but never the
// organization, which is a role in this system.
//
// Private keys are written with the PEM headers of existing configurations ("ED25519 PRIVATE KEY"
// over PKCS#8, "EC PRIVATE KEY", "RSA PRIVATE KEY"), and are read with those and with plain PKCS#8
// "PRIVATE KEY".
package pki
