// SPDX-License-Identifier: Apache-2.0

package gen

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/secrets"
)

func secretsCommand(force *bool) *cobra.Command {
	var output, fromConfig, fromPKI, token, talosVersion string

	cmd := &cobra.Command{
		Use:   "secrets",
		Short: "Generate the secrets bundle of a cluster",
		Long: `Generate the secrets bundle of a cluster: authorities, keys and tokens.

With the bundle, "gen config" generates configurations of the same cluster again. Keep it safe.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := contractOf(talosVersion)
			if err := errors.Join(err, refuseExisting([]string{output}, *force)); err != nil {
				return err
			}

			bundle, err := makeBundle(fromConfig, fromPKI, token)
			if err != nil {
				return err
			}

			text, err := bundle.Encode()
			if err != nil {
				return err
			}

			return write(cmd.OutOrStdout(), output, text, *force)
		},
	}

	flags := cmd.Flags()
	flags.StringVarP(&output, "output", "o", "secrets.yaml", "file to write, or - for the standard output")
	flags.StringVar(&fromConfig, "from-controlplane-config", "", "take the secrets from a control plane configuration")
	flags.StringVarP(&fromPKI, "from-kubernetes-pki", "p", "", "take the authorities from a directory like /etc/kubernetes/pki")
	flags.StringVarP(&token, "kubernetes-bootstrap-token", "t", "", "the bootstrap token to use with --from-kubernetes-pki")
	flags.StringVar(&talosVersion, "talos-version", "", "generate for this release, v1.12 or later (the bundle is the same for all)")
	cmd.MarkFlagsMutuallyExclusive("from-controlplane-config", "from-kubernetes-pki")

	return cmd
}

func makeBundle(fromConfig, fromPKI, token string) (*secrets.Bundle, error) {
	switch {
	case token != "" && fromPKI == "":
		return nil, fmt.Errorf("--kubernetes-bootstrap-token goes with --from-kubernetes-pki")
	case fromPKI != "":
		return secrets.FromKubernetesPKI(fromPKI, token)
	case fromConfig == "":
		return secrets.New()
	}

	text, err := os.ReadFile(fromConfig)
	if err != nil {
		return nil, fmt.Errorf("read machine configuration: %w", err)
	}

	cfg, err := config.Decode(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", fromConfig, err)
	}

	return secrets.FromConfig(cfg)
}
