// SPDX-License-Identifier: Apache-2.0

package configure

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/config/patch"
	"github.com/seed-59268b81/talos/ctl/session"
)

func newApplyConfigCommand(s *session.Session) *cobra.Command {
	var (
		applying applying
		file     string
		base     string
		patches  []string
	)

	cmd := s.MaintenanceFlags(&cobra.Command{
		Use:     "apply-config",
		Aliases: []string{"apply"},
		Short:   "Send a machine configuration to the nodes",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, err := readConfig(cmd, file)
			if err != nil {
				return err
			}

			changes, err := patch.Load(patches)
			if err != nil {
				return err
			}

			if config, err = patch.Apply(config, changes...); err != nil {
				return err
			}

			from, err := baseConfig(cmd, base)
			if err != nil {
				return err
			}

			return s.Each(cmd, func(ctx context.Context, n session.Node) error {
				return applying.send(ctx, n, cmd.ErrOrStderr(), config, from)
			})
		},
	})

	applying.flags(cmd)
	cmd.Flags().StringVarP(&file, "file", "f", "", "file with the configuration, or - for standard input")
	cmd.Flags().StringVar(&base, "base", "", "file with the node's configuration that the new one was made from: refuse the new one if the node has another by now")
	cmd.Flags().StringArrayVarP(&patches, "config-patch", "p", nil, "patch the configuration before it is sent (inline, or @FILE); may be repeated")

	return session.Require(cmd, "file")
}

// baseConfig reads the configuration that a new one was made from, if there is one.
func baseConfig(cmd *cobra.Command, file string) (start, error) {
	if file == "" {
		return start{}, nil
	}

	text, err := readConfig(cmd, file)

	return start{persistentConfig, string(text)}, err
}

func readConfig(cmd *cobra.Command, file string) ([]byte, error) {
	content, err := session.ReadConfig(cmd, file)
	if err == nil && len(bytes.TrimSpace(content)) == 0 {
		err = fmt.Errorf("read configuration: %s is empty; generate one with: talosctl gen config", file)
	}

	return content, err
}

// printApplied prints the answer of the node with one write.
func printApplied(w io.Writer, node string, answer *machine.ApplyConfiguration) error {
	var b bytes.Buffer

	for _, warning := range answer.GetWarnings() {
		fmt.Fprintf(&b, "%s: WARNING: %s\n", node, warning)
	}

	if details := answer.GetModeDetails(); details != "" {
		fmt.Fprintf(&b, "%s\n", details)
	}

	_, err := b.WriteTo(w)

	return err
}
