// SPDX-License-Identifier: Apache-2.0

package configcmd

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/validate"
	"github.com/seed-59268b81/talos/controllers/validation"
	"github.com/seed-59268b81/talos/ctl/session"
)

func validateCommand() *cobra.Command {
	var (
		path, mode string
		strict     bool
	)

	cmd := &cobra.Command{
		Use:   "validate",
		Short: "Check a machine configuration",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			m, err := validate.ParseMode(mode)
			if err != nil {
				return fmt.Errorf("--mode: %w", err)
			}

			text, err := session.ReadConfig(cmd, path)
			if err != nil {
				return err
			}

			cfg, err := config.Decode(text)
			if err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}

			warnings, err := validation.Config(cfg, m)

			for _, warning := range warnings {
				fmt.Fprintf(cmd.ErrOrStderr(), "* %s\n", warning)
			}

			if err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}

			if strict && len(warnings) > 0 {
				return fmt.Errorf("%s: %d warnings, which are errors with --strict", path, len(warnings))
			}

			fmt.Fprintf(cmd.OutOrStdout(), "%s is valid for %s mode\n", path, m)

			return nil
		},
	}

	flags := cmd.Flags()
	flags.StringVarP(&path, "config", "c", "", "file with the machine configuration, or - for the standard input")
	flags.StringVarP(&mode, "mode", "m", "", "where the machine runs: metal, cloud or container")
	flags.BoolVar(&strict, "strict", false, "treat warnings as errors")

	return session.Require(cmd, "config", "mode")
}
