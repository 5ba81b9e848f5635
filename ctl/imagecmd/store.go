// SPDX-License-Identifier: Apache-2.0

package imagecmd

import (
	"context"
	"fmt"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/api/common"
	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/ctl/session"
)

func newImageRemoveCommand(s *session.Session) *cobra.Command {
	var store *common.ContainerdInstance

	cmd := s.Flags(&cobra.Command{
		Use:     "remove IMAGE",
		Aliases: []string{"rm"},
		Short:   "Remove an image from the nodes",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return s.Each(cmd, func(ctx context.Context, n session.Node) error { return n.RemoveImage(ctx, store, args[0]) })
		},
		ValidArgsFunction: s.CompleteArg(0, func(n session.Node, ctx context.Context) ([]string, error) {
			images, err := listImages(ctx, n, store)

			return session.Names(images, (*machine.ImageServiceListResponse).GetName), err
		}),
	})

	session.ImageStoreFlag(cmd, &store, "cri")

	return cmd
}

func newImageImportCommand(s *session.Session) *cobra.Command {
	var store *common.ContainerdInstance

	cmd := s.Flags(&cobra.Command{
		Use:   "import FILE",
		Short: "Send an image to the nodes, as an OCI archive",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			out := session.NewLines(cmd.OutOrStdout())

			return s.Each(cmd, func(ctx context.Context, n session.Node) error {
				file, err := os.Open(args[0])
				if err != nil {
					return fmt.Errorf("import image: %w", err)
				}

				defer file.Close()

				name, err := n.ImportImage(ctx, store, file)
				if err != nil {
					return err
				}

				return out.Print(n.Name, name)
			})
		},
	})

	session.ImageStoreFlag(cmd, &store, "cri")

	return cmd
}

func newImageVerifyCommand(s *session.Session) *cobra.Command {
	return s.OutputFlag(s.Flags(&cobra.Command{
		Use:   "verify IMAGE",
		Short: "Check an image against the nodes' image verification configuration",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return session.List(s, cmd, verifyColumns, session.Single(func(n session.Node, ctx context.Context) (*machine.ImageServiceVerifyResponse, error) {
				return n.VerifyImage(ctx, args[0])
			}))
		},
	}))
}

var verifyColumns = []session.Column[*machine.ImageServiceVerifyResponse]{
	session.Col("VERIFIED", func(v *machine.ImageServiceVerifyResponse) string { return strconv.FormatBool(v.GetVerified()) }),
	session.Col("IMAGE", (*machine.ImageServiceVerifyResponse).GetDigestedImageRef),
	session.Col("MESSAGE", (*machine.ImageServiceVerifyResponse).GetMessage),
}
