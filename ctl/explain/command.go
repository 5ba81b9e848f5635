// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"cmp"
	"context"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/ctl/session"
)

// Command returns talosctl explain.
func Command(s *session.Session) *cobra.Command {
	var namespace string

	cmd := s.MaintenanceFlags(&cobra.Command{
		Use:   "explain [TYPE [ID]]",
		Short: "Say why a machine, or a resource, is not ready: the cause, the evidence, and what to try",
		Long: `Say why a machine, or a resource, is not ready.

Without arguments the command begins with the machine's unmet conditions. It follows what each of them depends on (services, resources,
their controllers and the inputs of those) back to the cause, and prints the cause, the evidence and what to try.`,
		Example: `  talosctl -n 10.5.0.2 explain
  talosctl -n 10.5.0.2 explain service kubelet
  talosctl -n 10.5.0.2 explain volumestatus`,
		Args: cobra.MaximumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return s.Report(cmd, func(ctx context.Context, n session.Node, w io.Writer) error {
				return explainNode(ctx, w, n, namespace, args)
			})
		},
	})

	cmd.Flags().StringVar(&namespace, "namespace", "", "namespace, if not the default one of the type")

	return cmd
}

func explainNode(ctx context.Context, w io.Writer, n session.Node, namespace string, args []string) error {
	facts, definitions, err := Gather(ctx, n.Client)
	if err != nil {
		return err
	}

	subjects := []Symptom{{Kind: Machine}}

	if len(args) > 0 {
		definition, err := definitions.Find(args[0])
		if err != nil {
			return err
		}

		subjects = Subjects(facts, definition.Type, cmp.Or(namespace, definition.DefaultNamespace), slices.Concat(args[1:], []string{""})[0])
	}

	for _, s := range subjects {
		step := Explain(facts, s)
		if step == nil && len(subjects) > 1 {
			continue // of many subjects, only those with a problem are printed
		}

		if err := Print(w, n.Name, facts, s, step); err != nil {
			return err
		}
	}

	return nil
}
