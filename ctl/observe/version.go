// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"context"
	"fmt"
	"io"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/ctl/session"
	"github.com/seed-59268b81/talos/version"
)

func newVersionCommand(s *session.Session) *cobra.Command {
	var clientOnly, short bool

	cmd := s.MaintenanceFlags(&cobra.Command{
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

			return s.Report(cmd, writeVersion)
		},
	})

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

	printVersion(w, &machine.VersionInfo{
		Tag: version.Tag, Sha: version.SHA, Built: version.Built, GoVersion: runtime.Version(), Os: runtime.GOOS, Arch: runtime.GOARCH,
	})
}

func writeVersion(ctx context.Context, n session.Node, w io.Writer) error {
	v, err := session.Bounded(ctx, n, session.Node.Version)
	if err != nil {
		return err
	}

	fmt.Fprintf(w, "\tNODE:        %s\n", n.Name)
	printVersion(w, v.GetVersion())

	if v.GetFeatures().GetRbac() {
		fmt.Fprintln(w, "\tEnabled:     RBAC")
	}

	return nil
}

func printVersion(w io.Writer, v *machine.VersionInfo) {
	fmt.Fprintf(w, "\tTag:         %s\n", v.GetTag())
	fmt.Fprintf(w, "\tSHA:         %s\n", v.GetSha())
	fmt.Fprintf(w, "\tBuilt:       %s\n", v.GetBuilt())
	fmt.Fprintf(w, "\tGo version:  %s\n", v.GetGoVersion())
	fmt.Fprintf(w, "\tOS/Arch:     %s/%s\n", v.GetOs(), v.GetArch())
}
