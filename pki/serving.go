// SPDX-License-Identifier: Apache-2.0

package pki

import "crypto/tls"

// Serving returns the configuration of a gRPC server that asks for the certificate of each connection, since it may be replaced. Callers
// show none. Without a certificate there is no connection.
func Serving(current func() (*tls.Certificate, error)) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13, NextProtos: []string{"h2"}, SessionTicketsDisabled: true,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return current() },
	}
}
