// SPDX-License-Identifier: Apache-2.0

package rotateca

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/ctl/session"
)

// Command returns talosctl rotate-ca.
func Command(s *session.Session) *cobra.Command {
	var (
		r          run
		talos, k8s bool
		initNode   string
	)

	cmd := s.Flags(&cobra.Command{
		Use:   "rotate-ca",
		Short: "Replace the authorities (CAs) of the machine API and of Kubernetes",
		Long: `Replace the authorities (CAs) of the machine API and of Kubernetes in a running cluster, in three steps. Each is in effect on every
node before the next begins:

  1. Every node accepts certificates of the old and of the new authority.
  2. The new authority issues, and all certificates are replaced. The old authority is still accepted. The new talosconfig is written.
  3. The old authority is not accepted any more, nor are talosconfigs and kubeconfigs of it.

By default the command only says what it would do. If it is interrupted or a node does not come along, the same command continues;
with --revert it goes back, as long as a control plane node issues with the old authority.

The endpoints must be control plane nodes, and the nodes are those of Kubernetes, unless they are named.`,
		Example: `  talosctl rotate-ca
  talosctl rotate-ca --dry-run=false --output talosconfig`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if talos {
				r.kinds = append(r.kinds, machineAPI)
			}

			if k8s {
				r.kinds = append(r.kinds, kubernetes)
			}

			return r.start(cmd, s, initNode)
		},
	})

	flags := cmd.Flags()
	flags.BoolVar(&r.dryRun, "dry-run", true, "only say what would be done; --dry-run=false does it")
	flags.BoolVar(&talos, "talos", true, "replace the authority of the machine API")
	flags.BoolVar(&k8s, "kubernetes", true, "replace the authority of Kubernetes")
	flags.BoolVar(&r.revert, "revert", false, "go back to the old authority of a rotation that is not complete")
	flags.StringSliceVar(&r.controlPlanes, "control-plane-nodes", nil, "addresses of the control plane nodes, if they should not be discovered")
	flags.StringSliceVar(&r.workers, "worker-nodes", nil, "addresses of the worker nodes, if they should not be discovered")
	flags.StringVar(&initNode, "init-node", "", "address of the control plane node that was bootstrapped: one more of --control-plane-nodes")
	flags.StringVar(&r.endpoint, "k8s-endpoint", "", "Kubernetes endpoint to use, instead of that of the kubeconfig or the configuration")
	flags.StringVarP(&r.output, "output", "o", "talosconfig", "file for the new talosconfig; its other contexts stay")
	flags.DurationVar(&r.settle, "settle", 6*time.Minute, "how long API servers and pods have time to read the new authority of Kubernetes, which they do every five minutes, before it issues")
	flags.DurationVar(&r.timeout, "wait-timeout", 10*time.Minute, "how long to wait for each node to have a step in effect")

	return cmd
}

// start checks the flags, connects and runs.
func (r *run) start(cmd *cobra.Command, s *session.Session, initNode string) error {
	if initNode != "" {
		r.controlPlanes = append([]string{initNode}, r.controlPlanes...)
	}

	switch {
	case len(r.kinds) == 0:
		return session.UsageError(cmd, "neither --talos nor --kubernetes is set: there is nothing to do")
	case len(r.workers) > 0 && len(r.controlPlanes) == 0:
		return session.UsageError(cmd, "--worker-nodes without --control-plane-nodes: name all nodes, or none")
	case r.timeout <= 0:
		return session.UsageError(cmd, "--wait-timeout %s: want a time to wait, such as 5m", r.timeout)
	case r.settle < 0:
		return session.UsageError(cmd, "--settle %s is negative", r.settle)
	}

	if !strings.Contains(r.endpoint, "://") && r.endpoint != "" {
		r.endpoint = "https://" + r.endpoint
	}

	context, name, err := s.ConfiguredContext()
	if err != nil {
		return err
	}

	if len(context.Crt) == 0 {
		return errors.New("the client configuration has no client certificate: the command needs that of an administrator")
	}

	var mu sync.Mutex

	r.name = name
	r.say = func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()

		fmt.Fprintf(cmd.OutOrStdout(), format+"\n", args...) // a failure to print does not stop a rotation
	}

	if r.cluster, err = connect(context); err != nil {
		return err
	}

	defer func() { r.cluster.close() }()

	return r.do(cmd.Context())
}
