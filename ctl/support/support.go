// SPDX-License-Identifier: Apache-2.0

// Package support is "talosctl support": it collects files about the state of the nodes in one zip file. The other topics define which
// files these are.
package support

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"filippo.io/age"
	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/ctl/session"
)

// Command returns talosctl support. The contents are the files of the bundle.
func Command(s *session.Session, contents ...session.BundleContents) *cobra.Command {
	var (
		path       string
		workers    int
		plain      bool
		recipients []string
	)

	cmd := s.MaintenanceFlags(&cobra.Command{
		Use:   "support",
		Short: "Collect logs, resources and more of the nodes in a file, for troubleshooting",
		Long: `Collect logs, resources, processes and more of the nodes in a zip file, for troubleshooting.

Secret resources, such as the machine configuration, are left out. Logs may still contain private data: with --encryption-recipients
only the owners of the age keys can read the file.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if workers < 1 {
				return session.UsageError(cmd, "--num-workers %d: want at least 1", workers)
			}

			if plain && len(recipients) > 0 {
				return session.UsageError(cmd, "--no-encryption and --encryption-recipients contradict each other")
			}

			saved, err := saveBundle(path, recipients, func(b *bundle) error {
				return s.Each(cmd, func(ctx context.Context, n session.Node) error {
					return collect(ctx, n, contents, b, workers, session.Progress(cmd))
				})
			})

			// The bundle is kept if some nodes did not answer.
			if saved {
				fmt.Fprintf(cmd.ErrOrStderr(), "support bundle saved to %q\n", path)
			}

			return err
		},
	})

	cmd.Flags().StringVarP(&path, "output", "O", "support.zip", "file to write")
	cmd.Flags().IntVarP(&workers, "num-workers", "w", 4, "number of parallel requests to a node")
	cmd.Flags().StringSliceVar(&recipients, "encryption-recipients", nil, "age public keys that can decrypt the file")
	cmd.Flags().Bool("encryption-no-default-recipients", false, "no effect: there are no default recipients")
	cmd.Flags().BoolVar(&plain, "no-encryption", false, "do not encrypt the file (the default without --encryption-recipients)")

	return cmd
}

// saveBundle writes the bundle that fill fills. It removes an empty bundle.
func saveBundle(path string, recipients []string, fill func(b *bundle) error) (saved bool, err error) {
	var keys []age.Recipient

	for _, text := range recipients {
		key, err := age.ParseX25519Recipient(text)
		if err != nil {
			return false, fmt.Errorf("--encryption-recipients %q: %w", text, err)
		}

		keys = append(keys, key)
	}

	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return false, fmt.Errorf("write support bundle: %s exists: remove it first, or use --output", path)
	}

	if err != nil {
		return false, fmt.Errorf("write support bundle: %w", err)
	}

	var sealed io.WriteCloser = file

	if len(keys) > 0 {
		if sealed, err = age.Encrypt(file, keys...); err != nil {
			return false, errors.Join(fmt.Errorf("encrypt support bundle: %w", err), file.Close(), os.Remove(path))
		}
	}

	b := newBundle(sealed)
	failed := fill(b)
	err = b.close()

	if len(keys) > 0 {
		err = errors.Join(err, sealed.Close())
	}

	if err = errors.Join(err, file.Close()); err != nil {
		err = fmt.Errorf("write support bundle: %w", err)
	}

	saved = b.files > 0 && err == nil
	if !saved {
		err = errors.Join(err, os.Remove(path))
	}

	return saved, errors.Join(failed, err)
}
