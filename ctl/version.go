// SPDX-License-Identifier: Apache-2.0

package ctl

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/version"
)

func newVersionCommand(s *connection) *cobra.Command {
	var clientOnly, short bool

	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the versions of this client and of the nodes",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			out := cmd.OutOrStdout()
			printClientVersion(out, short)

			if clientOnly {
				return nil
			}

			fmt.Fprintln(out, "Server:")

			answers := &documents{w: out}

			return s.each(cmd, func(ctx context.Context, n node) error {
				v, err := bounded(ctx, n, node.Version)
				if err != nil {
					return err
				}

				var b bytes.Buffer

				printServerVersion(&b, n.name, v)

				return answers.write(b.Bytes())
			})
		},
	}

	s.flags(cmd)
	s.maintenanceFlags(cmd)
	cmd.Flags().BoolVar(&clientOnly, "client", false, "print the client's version only")
	cmd.Flags().BoolVar(&short, "short", false, "print the client's version in one line")

	return cmd
}

func printClientVersion(w io.Writer, short bool) {
	fmt.Fprintln(w, "Client:")

	if short {
		fmt.Fprintf(w, "%s %s\n", version.Name, version.Tag)

		return
	}

	os, arch := version.Platform()
	printVersion(w, &machine.VersionInfo{
		Tag: version.Tag, Sha: version.SHA, Built: version.Built, GoVersion: version.GoVersion(), Os: os, Arch: arch,
	})
}

func printServerVersion(w io.Writer, node string, v *machine.Version) {
	fmt.Fprintf(w, "\tNODE:        %s\n", node)
	printVersion(w, v.GetVersion())

	if v.GetFeatures().GetRbac() {
		fmt.Fprintln(w, "\tEnabled:     RBAC")
	}
}

func printVersion(w io.Writer, v *machine.VersionInfo) {
	fmt.Fprintf(w, "\tTag:         %s\n", v.GetTag())
	fmt.Fprintf(w, "\tSHA:         %s\n", v.GetSha())
	fmt.Fprintf(w, "\tBuilt:       %s\n", v.GetBuilt())
	fmt.Fprintf(w, "\tGo version:  %s\n", v.GetGoVersion())
	fmt.Fprintf(w, "\tOS/Arch:     %s/%s\n", v.GetOs(), v.GetArch())
}
