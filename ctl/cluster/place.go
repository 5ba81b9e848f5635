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

// EnvState names the directory of clusters, like --state.
const EnvState = "TALOS_LAB_STATE"

// defaultName is the cluster that is meant when none is named.
const defaultName = "talos-default"

// place is which cluster is meant.
type place struct {
	name, state string
}

func (p *place) flags(cmd *cobra.Command) {
	cmd.PersistentFlags().StringVar(&p.name, "name", defaultName, "name of the cluster")
	cmd.PersistentFlags().StringVar(&p.state, "state", os.Getenv(EnvState),
		"directory with a folder for each cluster (default $"+EnvState+" or ~/.talos/clusters)")
}

// own tells whether the cluster stays in its directory and leaves the user's
// own files alone.
func (p *place) own() bool { return p.state != "" }

// dir is the cluster's directory.
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

// run returns the RunE of a command that works on the cluster.
func (p *place) run(do func(cmd *cobra.Command, l *lab.Lab, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		l, err := p.open()
		if err != nil {
			return err
		}

		return do(cmd, l, args)
	}
}

// again is a command on this cluster, for hints.
func (p *place) again(command string) string {
	if p.name != defaultName {
		command += " --name " + p.name
	}

	if p.own() && p.state != os.Getenv(EnvState) {
		command += " --state " + p.state
	}

	return "talosctl cluster " + command
}
