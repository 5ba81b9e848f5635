// SPDX-License-Identifier: Apache-2.0

package configcmd

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/config/talosconfig"
	"github.com/seed-59268b81/talos/ctl/session"
	"github.com/seed-59268b81/talos/pki"
)

func addCommand(f *file) *cobra.Command {
	var ca, crt, key string

	cmd := &cobra.Command{
		Use:   "add <context>",
		Short: "Add a context, from certificate files",
		Args:  cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			context, err := newContext(ca, crt, key)
			if err != nil {
				return err
			}

			return f.edit(func(c *talosconfig.Config) error {
				if c.Contexts[args[0]] != nil {
					return fmt.Errorf("there is a context %q already: remove it first, or use another name", args[0])
				}

				c.Merge(talosconfig.New(args[0], context))

				return nil
			})
		},
	}

	cmd.Flags().StringVar(&ca, "ca", "", "file with the authority of the machines, PEM")
	cmd.Flags().StringVar(&crt, "crt", "", "file with the client's certificate, PEM")
	cmd.Flags().StringVar(&key, "key", "", "file with the client's private key, PEM")

	return session.Require(cmd, "ca", "crt", "key")
}

// newContext reads and checks the certificate files.
func newContext(caFile, crtFile, keyFile string) (*talosconfig.Context, error) {
	ca, errCA := os.ReadFile(caFile)
	crt, errCrt := os.ReadFile(crtFile)
	key, errKey := os.ReadFile(keyFile)

	if err := errors.Join(errCA, errCrt, errKey); err != nil {
		return nil, fmt.Errorf("add context: %w", err)
	}

	if _, err := pki.ParseCertificates(ca); err != nil {
		return nil, fmt.Errorf("add context: --ca %s: %w", caFile, err)
	}

	if _, err := (pki.Pair{Crt: crt, Key: key}).TLS(); err != nil {
		return nil, fmt.Errorf("add context: --crt %s, --key %s: %w", crtFile, keyFile, err)
	}

	return &talosconfig.Context{CA: ca, Crt: crt, Key: key}, nil
}
