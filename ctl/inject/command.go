// SPDX-License-Identifier: Apache-2.0

// Package inject is "talosctl inject": it changes manifests so that their pods can use the API of the machines.
package inject

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/api/contract"
	"github.com/seed-59268b81/talos/ctl/session"
)

// Command returns talosctl inject.
func Command() *cobra.Command {
	return session.Group("inject", "Change manifests so that their pods can use the API of the machines", serviceAccount())
}

func serviceAccount() *cobra.Command {
	var (
		path  string
		roles []string
	)

	cmd := &cobra.Command{
		Use:     "serviceaccount",
		Aliases: []string{"sa"},
		Short:   "Give the pods of a manifest access to the API of the machines",
		Long: `Give the pods of a manifest access to the API of the machines.

For each object with pods, the output also has a ServiceAccount of talos.dev, which requests credentials with the roles. The pods mount them
where talosctl finds them. The machine configuration of the control planes must allow it: see KubeTalosAPIAccessConfig.`,
		Example: "  talosctl inject serviceaccount -f deployment.yaml --roles " + contract.RoleReader + " | kubectl apply -f -",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, role := range roles {
				if !slices.Contains(contract.Roles(), role) {
					return session.UsageError(cmd, "--roles: %q is not known: want some of %s", role, strings.Join(contract.Roles(), ", "))
				}
			}

			text, err := read(cmd.InOrStdin(), path)
			if err != nil {
				return err
			}

			out, err := ServiceAccounts(text, roles)
			if err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}

			_, err = cmd.OutOrStdout().Write(out)

			return err
		},
	}

	cmd.Flags().StringVarP(&path, "file", "f", "", "file with the manifest, or - for the standard input")
	cmd.Flags().StringSliceVarP(&roles, "roles", "r", []string{contract.RoleReader}, "roles of the pods")

	return session.Require(cmd, "file")
}

func read(in io.Reader, path string) ([]byte, error) {
	if path == "-" {
		return io.ReadAll(in)
	}

	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read manifest: %w", err)
	}

	return text, nil
}
