// SPDX-License-Identifier: Apache-2.0

package apid

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/netip"

	"github.com/seed-59268b81/talos/resources/secrets"
)

// View is the configuration of apid at one moment. It is replaced as a whole.
type View struct {
	// Listen address, host:port.
	Listen string
	// Server certificate, and the client certificate to call other nodes with (nil on a worker).
	Server *tls.Certificate
	Client *tls.Certificate
	// CAs that must have signed the certificates of clients and other nodes.
	CAs *x509.CertPool
	// Open is maintenance mode: callers need no certificate and are readers.
	Open bool
	// NoRouting refuses calls to other nodes.
	NoRouting bool
	// Addresses and Hostnames that are this node.
	Addresses []netip.Addr
	Hostnames []string
	// Members are the addresses of the machines of the cluster by their names, in lower case.
	Members map[string][]netip.Addr

	certs secrets.APICertsSpec // the source of Server, Client and CAs
}

// errNotReady is the state before the first certificate.
var errNotReady = errors.New("apid has no certificate yet")

// TLS returns the server's configuration for one connection.
func (v *View) TLS() (*tls.Config, error) {
	if v == nil || v.Server == nil {
		return nil, errNotReady
	}

	cfg := &tls.Config{
		MinVersion:   tls.VersionTLS13,
		Certificates: []tls.Certificate{*v.Server},
		NextProtos:   []string{"h2"},
		ClientAuth:   tls.RequireAndVerifyClientCert,
		ClientCAs:    v.CAs,
	}

	if v.Open {
		cfg.ClientAuth = tls.NoClientCert
		cfg.ClientCAs = nil

		return cfg, nil
	}

	cfg.VerifyPeerCertificate = func(_ [][]byte, chains [][]*x509.Certificate) error {
		leaf := chains[0][0]
		if len(leaf.ExtKeyUsage) != 1 || leaf.ExtKeyUsage[0] != x509.ExtKeyUsageClientAuth {
			return fmt.Errorf("client certificate %q: its extended key usage must be exactly client authentication", leaf.Subject)
		}

		return nil
	}

	return cfg, nil
}
