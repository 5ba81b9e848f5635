// SPDX-License-Identifier: Apache-2.0

package configcmd

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/config/talosconfig"
	"github.com/seed-59268b81/talos/ctl/session"
)

// file is the client configuration that a command works on.
type file struct {
	given   string // --talosconfig
	context string // --context
}

func configCommand(s *session.Session) *cobra.Command {
	f := &file{}

	cmd := &cobra.Command{
		Use:   "config",
		Short: "Manage the client configuration (talosconfig)",
	}

	cmd.PersistentFlags().StringVar(&f.given, "talosconfig", "", "path of the client configuration (default $TALOSCONFIG, or ~/.talos/config)")
	cmd.PersistentFlags().StringVar(&f.context, "context", "", "context to work on, instead of the current one")

	cmd.AddCommand(
		addCommand(f),
		contextCommand(f),
		contextsCommand(f),
		endpointCommand(f),
		infoCommand(f),
		mergeCommand(f),
		newCommand(s),
		nodeCommand(f),
		proxyCommand(f),
		removeCommand(f),
		renameCommand(f),
	)

	return cmd
}

func (f *file) load() (*talosconfig.Config, string, error) {
	path, err := talosconfig.Path(f.given)
	if err != nil {
		return nil, "", err
	}

	c, err := talosconfig.LoadOrNew(path)

	return c, path, err
}

// edit reads the file, changes it and writes it back.
func (f *file) edit(change func(c *talosconfig.Config) error) error {
	c, path, err := f.load()
	if err != nil {
		return err
	}

	if err := change(c); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}

	return c.Save(path)
}

// editContext changes the chosen context.
func (f *file) editContext(change func(context *talosconfig.Context)) error {
	return f.edit(func(c *talosconfig.Config) error {
		context, err := c.Find(f.context)
		if err != nil {
			return err
		}

		change(context)

		return nil
	})
}

// contextNames completes the first argument with the names of contexts.
func (f *file) contextNames(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	c, _, err := f.load()

	switch {
	case err != nil:
		return nil, cobra.ShellCompDirectiveError
	case len(args) > 0:
		return nil, cobra.ShellCompDirectiveNoFileComp
	}

	return c.Names(), cobra.ShellCompDirectiveNoFileComp
}
