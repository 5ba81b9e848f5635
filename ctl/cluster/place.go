// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/config/talosconfig"
	"github.com/seed-59268b81/talos/lab"
)

// EnvState is the environment variable of --state.
const EnvState = "TALOS_LAB_STATE"

// defaultName is the default value of --name.
const defaultName = "talos-default"

// place holds the flags that select the cluster.
type place struct {
	name, state string
}

func (p *place) flags(cmd *cobra.Command) {
	cmd.PersistentFlags().StringVar(&p.name, "name", defaultName, "name of the cluster")
	cmd.PersistentFlags().StringVar(&p.state, "state", os.Getenv(EnvState),
		"directory with a folder for each cluster (default $"+EnvState+" or ~/.talos/clusters)")
}

// own reports whether all files of the cluster stay in its directory, and the user's own files do not change.
func (p *place) own() bool { return p.state != "" }

// dir returns the cluster's directory.
func (p *place) dir() (string, error) {
	state := p.state

	if state == "" {
		home := os.Getenv(talosconfig.EnvHome)

		if home == "" {
			user, err := os.UserHomeDir()
			if err != nil {
				return "", fmt.Errorf("find the clusters' directory: %w: name it with --state", err)
			}

			home = filepath.Join(user, ".talos")
		}

		state = filepath.Join(home, "clusters")
	}

	dir, err := filepath.Abs(filepath.Join(state, p.name))
	if err != nil {
		return "", fmt.Errorf("find the clusters' directory: %w", err)
	}

	return dir, nil
}

func (p *place) open() (*lab.Lab, error) {
	dir, err := p.dir()
	if err != nil {
		return nil, err
	}

	command, err := supervisorCommand()
	if err != nil {
		return nil, err
	}

	return lab.Open(dir, command...)
}

// run returns the RunE of a command that opens the cluster and calls do.
func (p *place) run(do func(cmd *cobra.Command, l *lab.Lab, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		l, err := p.open()
		if err != nil {
			return err
		}

		return do(cmd, l, args)
	}
}

// again returns a command line for this cluster.
func (p *place) again(command string) string {
	if p.name != defaultName {
		command += " --name " + p.name
	}

	if p.own() && p.state != os.Getenv(EnvState) {
		command += " --state " + p.state
	}

	return "talosctl cluster " + command
}
