// SPDX-License-Identifier: Apache-2.0

package gen

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	contractapi "github.com/seed-59268b81/talos/api/contract"
	"github.com/seed-59268b81/talos/ctl/session"
	"github.com/seed-59268b81/talos/pki"
)

// writePair writes a certificate and its key, or neither when one of the files exists.
func writePair(cmd *cobra.Command, name string, pair pki.Pair, force bool) error {
	crt, key := name+".crt", name+".key"

	if err := refuseExisting([]string{crt, key}, force); err != nil {
		return err
	}

	if err := write(cmd.OutOrStdout(), crt, pair.Crt, force); err != nil {
		return err
	}

	return write(cmd.OutOrStdout(), key, pair.Key, force)
}

func caCommand(force *bool) *cobra.Command {
	var (
		organization string
		hours        int
		rsa          bool
	)

	cmd := &cobra.Command{
		Use:   "ca",
		Short: "Generate a self-signed certificate authority (ORGANIZATION.crt, ORGANIZATION.key)",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			kind := pki.Ed25519
			if rsa {
				kind = pki.RSA4096
			}

			ca, err := pki.NewCA(pki.CAOptions{Kind: kind, Organization: []string{organization}, TTL: time.Duration(hours) * time.Hour})
			if err != nil {
				return err
			}

			return writePair(cmd, organization, ca.PEM, *force)
		},
	}

	cmd.Flags().StringVar(&organization, "organization", "", "the organization of the certificate")
	cmd.Flags().IntVar(&hours, "hours", 87600, "how long the certificate is valid, in hours from now")
	cmd.Flags().BoolVar(&rsa, "rsa", false, "generate an RSA key, not Ed25519")
	return session.Require(cmd, "organization")
}

func keyCommand(force *bool) *cobra.Command {
	var name string

	cmd := &cobra.Command{
		Use:   "key",
		Short: "Generate an Ed25519 private key (NAME.key)",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			private, _, err := pki.NewKeyPair(pki.Ed25519)
			if err != nil {
				return err
			}

			return write(cmd.OutOrStdout(), name+".key", private, *force)
		},
	}

	cmd.Flags().StringVar(&name, "name", "", "the name of the file")
	return session.Require(cmd, "name")
}

func csrCommand(force *bool) *cobra.Command {
	var (
		keyFile, ip string
		roles       []string
	)

	cmd := &cobra.Command{
		Use:   "csr",
		Short: "Generate a certificate signing request for a key (KEY.csr)",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			key, err := os.ReadFile(keyFile)
			if err != nil {
				return fmt.Errorf("read key: %w", err)
			}

			addrs, err := addresses(ip)
			if err != nil {
				return err
			}

			csr, _, err := pki.NewCSR(pki.CSROptions{Key: key, Organization: roles, IPs: addrs})
			if err != nil {
				return fmt.Errorf("%s: %w", keyFile, err)
			}

			return write(cmd.OutOrStdout(), strings.TrimSuffix(keyFile, ".key")+".csr", csr, *force)
		},
	}

	cmd.Flags().StringVar(&keyFile, "key", "", "file with the private key, PEM")
	cmd.Flags().StringVar(&ip, "ip", "", "an address for the certificate")
	cmd.Flags().StringSliceVar(&roles, "roles", []string{contractapi.RoleAdmin}, "the roles of the client")

	return session.Require(cmd, "key")
}

func crtCommand(force *bool) *cobra.Command {
	var (
		caName, csrFile, name string
		hours                 int
	)

	cmd := &cobra.Command{
		Use:   "crt",
		Short: "Sign a request with an authority (NAME.crt)",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			crtPEM, errCrt := os.ReadFile(caName + ".crt")
			keyPEM, errKey := os.ReadFile(caName + ".key")
			csrPEM, errCSR := os.ReadFile(csrFile)

			if err := errors.Join(errCrt, errKey, errCSR); err != nil {
				return fmt.Errorf("sign request: %w", err)
			}

			crt, err := sign(crtPEM, keyPEM, csrPEM, time.Duration(hours)*time.Hour)
			if err != nil {
				return err
			}

			return write(cmd.OutOrStdout(), name+".crt", crt, *force)
		},
	}

	cmd.Flags().StringVar(&caName, "ca", "", "the authority: path of its .crt and .key without the ending")
	cmd.Flags().StringVar(&csrFile, "csr", "", "file with the request, PEM")
	cmd.Flags().StringVar(&name, "name", "", "the name of the file")
	cmd.Flags().IntVar(&hours, "hours", 24, "how long the certificate is valid, in hours from now")
	return session.Require(cmd, "ca", "csr", "name")
}

// sign signs a request as it is: the user has the key of the authority.
func sign(crtPEM, keyPEM, csrPEM []byte, ttl time.Duration) ([]byte, error) {
	ca, err := pki.ParseCA(crtPEM, keyPEM)
	if err != nil {
		return nil, err
	}

	csr, err := pki.ParseCSR(csrPEM)
	if err != nil {
		return nil, err
	}

	// A certificate with names is also valid for a server.
	return ca.SignCSR(csrPEM, pki.LeafOptions{
		Organization: csr.Subject.Organization,
		Client:       true,
		Server:       len(csr.IPAddresses)+len(csr.DNSNames) > 0,
		TTL:          ttl,
	})
}

func keypairCommand(force *bool) *cobra.Command {
	var organization, ip string

	cmd := &cobra.Command{
		Use:   "keypair",
		Short: "Generate an authority and a server certificate of it (ORGANIZATION.crt, ORGANIZATION.key)",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			addrs, err := addresses(ip)
			if err != nil {
				return err
			}

			ca, err := pki.NewCA(pki.CAOptions{Kind: pki.Ed25519, Organization: []string{organization}})
			if err != nil {
				return err
			}

			pair, err := ca.Sign(pki.LeafOptions{Organization: []string{organization}, IPs: addrs, Server: true, Client: true, TTL: pki.CALifetime})
			if err != nil {
				return err
			}

			pair.Crt = append(pair.Crt, ca.PEM.Crt...)

			return writePair(cmd, organization, pair, *force)
		},
	}

	cmd.Flags().StringVar(&organization, "organization", "", "the organization of the certificate")
	cmd.Flags().StringVar(&ip, "ip", "", "an address for the certificate")
	return session.Require(cmd, "organization")
}

// addresses parses an address, which may be empty.
func addresses(ip string) ([]netip.Addr, error) {
	if ip == "" {
		return nil, nil
	}

	addr, err := netip.ParseAddr(ip)
	if err != nil {
		return nil, fmt.Errorf("--ip %q is not an address", ip)
	}

	return []netip.Addr{addr}, nil
}
