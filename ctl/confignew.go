// SPDX-License-Identifier: Apache-2.0

package ctl

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/api/contract"
	"github.com/seed-59268b81/talos/config/talosconfig"
)

func newConfigNewCommand() *cobra.Command {
	var (
		connection connection
		roles      []string
		ttl        time.Duration
	)

	cmd := &cobra.Command{
		Use:   "new [<path>]",
		Short: "Make a client configuration with a new certificate, signed by a control plane node",
		Long: `Make a client configuration with a new certificate, signed by a control plane node.

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
				return usageError(cmd, "--crt-ttl %s: a certificate has to be valid for some time", ttl)
			}

			if _, err := os.Stat(path); err == nil {
				return fmt.Errorf("write client configuration: %s exists: remove it first, or use another path", path)
			}

			return connection.one(cmd, func(ctx context.Context, n node) error {
				answer, err := n.GenerateClientConfiguration(ctx, roles, ttl)
				if err != nil {
					return err
				}

				config, err := talosconfig.Decode(answer.GetTalosconfig())
				if err != nil {
					return fmt.Errorf("generate client configuration: the node's answer: %w", err)
				}

				return connection.saveAs(path, config)
			})
		},
	}

	connection.flags(cmd)
	cmd.Flags().StringSliceVar(&roles, "roles", []string{contract.RoleAdmin}, "what the certificate allows")
	cmd.Flags().DurationVar(&ttl, "crt-ttl", 365*24*time.Hour, "how long the certificate is valid")
	complete(cmd, "roles", contract.Roles()...)

	return cmd
}

// saveAs saves a new configuration for the same endpoints and nodes as the one in use.
func (c *connection) saveAs(path string, config *talosconfig.Config) error {
	made, err := config.Find("")
	if err != nil {
		return fmt.Errorf("generate client configuration: the node's answer: %w", err)
	}

	used, err := c.configured()
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
