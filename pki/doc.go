// SPDX-License-Identifier: Apache-2.0

// Package pki makes and reads the X.509 material of a cluster: certificate authorities, leaf
// certificates, signing requests and bare key pairs, all carried as PEM.
//
// It is a pure library: bytes and options in, bytes out; randomness is the only thing it takes from
// outside. The machine configuration, the secrets controllers, trustd, talosctl and the kubeconfig
// writer all make their certificates here, so the rules below hold everywhere:
//
//	ca, err   := pki.NewCA(pki.CAOptions{Kind: pki.Ed25519, Organization: []string{"talos"}})
//	ca, err   := pki.ParseCA(crtPEM, keyPEM)       // checks that the two belong together
//	pair, err := ca.Sign(pki.LeafOptions{CommonName: "admin", Client: true, TTL: 24 * time.Hour})
//	csr, key, err := pki.NewCSR(pki.CSROptions{Kind: pki.Ed25519, IPs: ips})
//	crt, err  := ca.SignCSR(csr, pki.LeafOptions{Server: true, TTL: 24 * time.Hour})
//	when      := pki.RenewAt(cert)                 // half of its life
//
// Keys of an authority decide the kind of key of its leaves unless the caller says otherwise. A leaf
// never outlives its authority: its end is moved forward to the authority's end. Signing a request
// takes the public key, names and common name from it, never the organization: in this system an
// organization is a role.
//
// Private keys are written under the PEM headers that existing configurations carry
// ("ED25519 PRIVATE KEY" over PKCS#8, "EC PRIVATE KEY", "RSA PRIVATE KEY") and are read under those
// and under plain PKCS#8 "PRIVATE KEY".
package pki
