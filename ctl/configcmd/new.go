// SPDX-License-Identifier: Apache-2.0

package configcmd

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/api/contract"
	"github.com/seed-59268b81/talos/config/talosconfig"
	"github.com/seed-59268b81/talos/ctl/session"
)

func newCommand(s *session.Session) *cobra.Command {
	var (
		roles []string
		ttl   time.Duration
	)

	cmd := s.Flags(&cobra.Command{
		Use:   "new [<path>]",
		Short: "Generate a client configuration with a new certificate, signed by a control plane node",
		Long: `Generate a client configuration with a new certificate, signed by a control plane node.

It is written to the path, by default ./talosconfig. The roles are
` + strings.Join(contract.Roles(), ", ") + ".",
		Example: "  talosctl config new --roles " + contract.RoleReader + " --crt-ttl 24h reader.talosconfig",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			path := "talosconfig"
			if len(args) == 1 {
				path = args[0]
			}

			if ttl <= 0 {
				return session.UsageError(cmd, "--crt-ttl %s: want a positive time, such as 24h", ttl)
			}

			if _, err := os.Stat(path); err == nil {
				return fmt.Errorf("write client configuration: %s exists: remove it first, or use another path", path)
			}

			return s.One(cmd, func(ctx context.Context, n session.Node) error {
				answer, err := n.GenerateClientConfiguration(ctx, roles, ttl)
				if err != nil {
					return err
				}

				config, err := talosconfig.Decode(answer.GetTalosconfig())
				if err != nil {
					return fmt.Errorf("generate client configuration: the node's answer: %w", err)
				}

				return saveAs(s, path, config)
			})
		},
	})

	cmd.Flags().StringSliceVar(&roles, "roles", []string{contract.RoleAdmin}, "roles of the certificate")
	cmd.Flags().DurationVar(&ttl, "crt-ttl", 365*24*time.Hour, "how long the certificate is valid")
	session.Complete(cmd, "roles", contract.Roles()...)

	return cmd
}

// saveAs saves a new configuration with the endpoints and nodes of the present one.
func saveAs(s *session.Session, path string, config *talosconfig.Config) error {
	made, err := config.Find("")
	if err != nil {
		return fmt.Errorf("generate client configuration: the node's answer: %w", err)
	}

	used, err := s.Configured()
	if err != nil {
		return err
	}

	if len(made.Dial()) == 0 {
		made.Endpoints = used.Dial()
	}

	if len(made.Nodes) == 0 {
		made.Nodes = used.Nodes
	}

	return config.Save(path)
}
