// SPDX-License-Identifier: Apache-2.0

package session

import (
	"time"

	"github.com/spf13/cobra"
)

// Session holds the flags that select the machines, the connection and the output format. All commands share one Session, since a run
// of the program is one command.
type Session struct {
	talosconfig  string
	context      string
	endpoints    []string
	nodes        []string
	cluster      bool
	insecure     bool
	fingerprints []string
	Format       string

	// CompletionTimeout is the timeout of a completion. The default is 2 seconds.
	CompletionTimeout time.Duration
}

// Flags adds the flags of every command that talks to machines, and returns the command.
func (s *Session) Flags(cmd *cobra.Command) *cobra.Command {
	flags := cmd.Flags()
	flags.StringVar(&s.talosconfig, "talosconfig", "", "path of the client configuration (default $TALOSCONFIG, or ~/.talos/config)")
	flags.StringVar(&s.context, "context", "", "context of the client configuration to use")
	flags.StringSliceVarP(&s.endpoints, "endpoints", "e", nil, "endpoints to connect to, instead of the configured ones")
	flags.StringSliceVarP(&s.nodes, "nodes", "n", nil, "nodes to work on, instead of the configured ones: addresses, or names of members of the cluster")
	flags.BoolVar(&s.cluster, "cluster", false, "work on all members of the cluster, instead of named nodes")
	s.completeFlags(cmd)

	return cmd
}

// MaintenanceFlags is Flags for a command that also works on a machine in maintenance.
func (s *Session) MaintenanceFlags(cmd *cobra.Command) *cobra.Command {
	return s.maintenanceFlags(cmd, "i")
}

// LongMaintenanceFlags is MaintenanceFlags for a command whose own flag is -i.
func (s *Session) LongMaintenanceFlags(cmd *cobra.Command) *cobra.Command {
	return s.maintenanceFlags(cmd, "")
}

func (s *Session) maintenanceFlags(cmd *cobra.Command, short string) *cobra.Command {
	flags := cmd.Flags()
	flags.BoolVarP(&s.insecure, "insecure", short, false, "talk to a machine in maintenance, whose certificate cannot be verified")
	flags.StringSliceVar(&s.fingerprints, "cert-fingerprint", nil, "with --insecure: accept these fingerprints of the machine's certificate only")

	return s.Flags(cmd)
}

// LeadingFlags has the root command know which flags of other commands have no value. Without them it would take the name of the command in
// "talosctl --cluster version" for the value of the flag.
func LeadingFlags(root *cobra.Command) {
	for name, short := range map[string]string{"cluster": "", "insecure": "i"} {
		root.Flags().BoolP(name, short, false, "")
		root.Flags().Lookup(name).Hidden = true
	}
}
