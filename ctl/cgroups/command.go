// SPDX-License-Identifier: Apache-2.0

package cgroups

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/client"
	"github.com/seed-59268b81/talos/ctl/session"
)

// cgroupMount is the path of the control groups of a node.
const cgroupMount = "/sys/fs/cgroup"

// Command returns talosctl cgroups.
func Command(s *session.Session) *cobra.Command {
	var (
		preset, schema string
		idsOnly        bool
	)

	cmd := s.OutputFlag(s.Flags(&cobra.Command{
		Use:     "cgroups",
		Aliases: []string{"cg"},
		Short:   "Show what the control groups of the nodes use",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			wanted, err := readSchema(cmd, preset, schema)
			if err != nil {
				return err
			}

			return session.List(s, cmd, cgroupColumns(wanted), func(n session.Node, ctx context.Context) ([]Row, error) {
				root, err := readGroups(ctx, n)
				if err != nil {
					return nil, err
				}

				if !idsOnly {
					names, err := groupNames(ctx, n)
					if err != nil {
						return nil, fmt.Errorf("names of the containers: %w; --skip-cri-resolve does not need them", err)
					}

					root.Rename(names)
				}

				return wanted.Rows(root), nil
			})
		},
	}))

	cmd.Flags().StringVar(&preset, "preset", "", "what to show: "+strings.Join(Presets(), ", "))
	cmd.Flags().StringVar(&schema, "schema-file", "", "file with the columns to show: name, file and field")
	cmd.Flags().BoolVar(&idsOnly, "skip-cri-resolve", false, "show the ids of pods and containers, not their names")
	session.Complete(cmd, "preset", Presets()...)

	return cmd
}

func readSchema(cmd *cobra.Command, preset, file string) (Schema, error) {
	switch {
	case (preset == "") == (file == ""):
		return Schema{}, session.UsageError(cmd, "set what to show with --preset or --schema-file")
	case preset != "":
		return Preset(preset)
	}

	text, err := os.ReadFile(file)
	if err != nil {
		return Schema{}, err
	}

	return Parse(text)
}

func cgroupColumns(schema Schema) []session.Column[Row] {
	columns := []session.Column[Row]{session.Col("NAME", func(r Row) string { return r.Name })}
	for i, c := range schema.Columns {
		columns = append(columns, session.Col(c.Name, func(r Row) string { return r.Cells[i] }))
	}

	return columns
}

func readGroups(ctx context.Context, n session.Node) (*Group, error) {
	archive := n.Copy(ctx, cgroupMount)
	defer archive.Close()

	root, err := Read(archive)
	if status.Code(err) == codes.DataLoss {
		err = nil // groups were removed while they were read
	}

	return root, err
}

// groupNames returns the names of pods and containers, by the names of their groups.
func groupNames(ctx context.Context, n session.Node) (map[string]string, error) {
	containers, err := n.Containers(ctx, client.KubernetesNamespace)

	names := map[string]string{}

	for _, c := range containers {
		if uid := c.GetUid(); uid != "" {
			names["pod"+uid] = c.GetPodId()
		}

		if id := c.GetInternalId(); id != "" {
			names[id] = path.Base(cmp.Or(c.GetName(), c.GetId()))
			if c.GetId() == c.GetPodId() {
				names[id] = "sandbox"
			}
		}
	}

	return names, err
}
