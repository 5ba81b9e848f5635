// SPDX-License-Identifier: Apache-2.0

package client

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/seed-59268b81/talos/pki"
)

// WithCertificates makes the client trust servers signed by ca, and authenticate with crt, whose organizations are its roles. All
// three are PEM.
func WithCertificates(ca, crt, key []byte) Option {
	return func(s *settings) error {
		pool, err := authority(ca)
		if err != nil {
			return err
		}

		pair, err := tls.X509KeyPair(crt, key)
		if err != nil {
			return fmt.Errorf("the talosconfig's crt and key do not belong together: %w", err)
		}

		s.tls = &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS13}

		return nil
	}
}

// WithAuthority makes the client trust servers signed by ca, PEM, or by an authority of this computer if it is empty. The client
// shows no certificate: it is for a gateway in front of the machines, see WithBasicAuth.
func WithAuthority(ca []byte) Option {
	return func(s *settings) (err error) {
		s.tls = &tls.Config{MinVersion: tls.VersionTLS13}

		if len(ca) > 0 {
			s.tls.RootCAs, err = authority(ca)
		}

		return err
	}
}

func authority(ca []byte) (*x509.CertPool, error) {
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(ca) {
		return nil, errors.New("the talosconfig's ca contains no PEM certificate: fetch a new talosconfig or check that the file is complete")
	}

	return pool, nil
}

// WithTLS sets the TLS configuration.
func WithTLS(config *tls.Config) Option {
	return func(s *settings) error {
		s.tls = config

		return nil
	}
}

// WithInsecure is for a machine in maintenance mode, which has no identity yet and requires no client certificate. If
// fingerprints are given, the server's certificate must match one of them: the SHA-256 of the certificate or of its public key
// (SubjectPublicKeyInfo), in hex with or without colons, or in base64.
//
// A machine that has lost its configuration has no identity either, but requires the certificate of an administrator
// (WithIdentity).
func WithInsecure(fingerprints ...string) Option {
	return func(s *settings) error {
		var want [][]byte

		for _, fingerprint := range fingerprints {
			sum, err := parseFingerprint(fingerprint)
			if err != nil {
				return err
			}

			want = append(want, sum)
		}

		s.tls = &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS13}

		if len(want) > 0 {
			s.tls.VerifyConnection = func(state tls.ConnectionState) error { return checkFingerprint(state, want) }
		}

		return nil
	}
}

// WithIdentity, after WithInsecure, shows a certificate to a machine that has lost its configuration, and still knows its
// administrators. It is not shown to other machines: one in maintenance mode requires none, and --insecure is not for a
// configured one.
func WithIdentity(crt, key []byte) Option {
	return func(s *settings) error {
		pair, err := tls.X509KeyPair(crt, key)
		if err != nil {
			return fmt.Errorf("the talosconfig's crt and key do not belong together: %w", err)
		}

		var (
			lost  atomic.Bool // whether the last server has lost its configuration
			check = s.tls.VerifyConnection
		)

		s.tls.VerifyConnection = func(state tls.ConnectionState) error {
			lost.Store(state.PeerCertificates[0].Subject.CommonName == pki.MaintenanceName)

			if check == nil {
				return nil
			}

			return check(state)
		}

		// It is called after VerifyConnection.
		s.tls.GetClientCertificate = func(request *tls.CertificateRequestInfo) (*tls.Certificate, error) {
			if !lost.Load() || request.SupportsCertificate(&pair) != nil {
				return &tls.Certificate{}, nil
			}

			return &pair, nil
		}

		return nil
	}
}

func parseFingerprint(text string) ([]byte, error) {
	sum, err := hex.DecodeString(strings.ReplaceAll(text, ":", ""))
	if err != nil {
		sum, err = base64.StdEncoding.DecodeString(text)
	}

	if err != nil || len(sum) != sha256.Size {
		return nil, fmt.Errorf("certificate fingerprint %q is not a SHA-256 sum in hex or base64", text)
	}

	return sum, nil
}

func checkFingerprint(state tls.ConnectionState, want [][]byte) error {
	leaf := state.PeerCertificates[0]
	whole, key := sha256.Sum256(leaf.Raw), sha256.Sum256(leaf.RawSubjectPublicKeyInfo)

	if slices.ContainsFunc(want, func(sum []byte) bool { return string(sum) == string(whole[:]) || string(sum) == string(key[:]) }) {
		return nil
	}

	return fmt.Errorf("the server's certificate has fingerprint %x, which is not one of those given", whole)
}
