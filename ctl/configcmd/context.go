// SPDX-License-Identifier: Apache-2.0

package configcmd

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/client"
	"github.com/seed-59268b81/talos/config/talosconfig"
)

func contextCommand(f *file) *cobra.Command {
	return &cobra.Command{
		Use:               "context <name>",
		Short:             "Make a context the current one",
		Aliases:           []string{"use-context"},
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: f.contextNames,
		RunE: func(_ *cobra.Command, args []string) error {
			return f.edit(func(c *talosconfig.Config) error {
				if _, err := c.Find(args[0]); err != nil {
					return err
				}

				c.Context = args[0]

				return nil
			})
		},
	}
}

func contextsCommand(f *file) *cobra.Command {
	return &cobra.Command{
		Use:     "contexts",
		Short:   "List the contexts",
		Aliases: []string{"get-contexts"},
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, _, err := f.load()
			if err != nil {
				return err
			}

			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 3, ' ', 0)
			fmt.Fprintln(w, "CURRENT\tNAME\tENDPOINTS\tNODES")

			for _, name := range c.Names() {
				current := ""
				if name == c.Context {
					current = "*"
				}

				context := c.Contexts[name]
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", current, name, strings.Join(context.Dial(), ","), strings.Join(context.Nodes, ","))
			}

			return w.Flush()
		},
	}
}

func endpointCommand(f *file) *cobra.Command {
	return &cobra.Command{
		Use:     "endpoint <address>...",
		Short:   "Set the endpoints of the context; without addresses, clear them",
		Aliases: []string{"endpoints"},
		RunE: func(_ *cobra.Command, args []string) error {
			return f.editContext(func(context *talosconfig.Context) { context.Endpoints, context.Target = split(args), "" })
		},
	}
}

func nodeCommand(f *file) *cobra.Command {
	return &cobra.Command{
		Use:     "node <address>...",
		Short:   "Set the nodes of the context; without addresses, clear them",
		Aliases: []string{"nodes"},
		RunE: func(_ *cobra.Command, args []string) error {
			return f.editContext(func(context *talosconfig.Context) { context.Nodes = split(args) })
		},
	}
}

func proxyCommand(f *file) *cobra.Command {
	return &cobra.Command{
		Use:   "proxy-url <url>",
		Short: "Set the proxy of the context (http, https or socks5); without a URL, clear it",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			proxy := strings.Join(args, "")

			if proxy != "" {
				if err := client.CheckProxy(proxy); err != nil {
					return err
				}
			}

			return f.editContext(func(context *talosconfig.Context) { context.ProxyURL = proxy })
		},
	}
}

// split splits comma-separated addresses.
func split(args []string) []string {
	return strings.Fields(strings.ReplaceAll(strings.Join(args, ","), ",", " "))
}
