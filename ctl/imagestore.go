// SPDX-License-Identifier: Apache-2.0

package ctl

import (
	"context"
	"fmt"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/api/machine"
)

func newImageRemoveCommand(s *connection) *cobra.Command {
	var store imageStore

	cmd := &cobra.Command{
		Use:     "remove IMAGE",
		Aliases: []string{"rm"},
		Short:   "Remove an image from the nodes",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			instance, err := store.instance()
			if err != nil {
				return err
			}

			return s.each(cmd, func(ctx context.Context, n node) error { return n.RemoveImage(ctx, instance, args[0]) })
		},
		ValidArgsFunction: s.completeArg(0, func(n node, ctx context.Context) ([]string, error) { return n.imageNames(ctx, store) }),
	}

	s.flags(cmd)
	store.flag(cmd, "cri")

	return cmd
}

func newImageImportCommand(s *connection) *cobra.Command {
	var store imageStore

	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Send an image to the nodes, as an OCI archive",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			instance, err := store.instance()
			if err != nil {
				return err
			}

			out := &lines{w: cmd.OutOrStdout()}

			return s.each(cmd, func(ctx context.Context, n node) error {
				file, err := os.Open(args[0])
				if err != nil {
					return fmt.Errorf("import image: %w", err)
				}

				defer file.Close()

				name, err := n.ImportImage(ctx, instance, file)
				if err != nil {
					return err
				}

				return out.print(n.name, name)
			})
		},
	}

	s.flags(cmd)
	store.flag(cmd, "cri")

	return cmd
}

func newImageVerifyCommand(s *connection) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "verify IMAGE",
		Short: "Check an image against the nodes' image verification configuration",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return list(cmd, s, verifyColumns, single(func(n node, ctx context.Context) (*machine.ImageServiceVerifyResponse, error) {
				return n.VerifyImage(ctx, args[0])
			}))
		},
	}

	s.flags(cmd)
	s.outputFlag(cmd)

	return cmd
}

var verifyColumns = []column[*machine.ImageServiceVerifyResponse]{
	{"VERIFIED", func(v *machine.ImageServiceVerifyResponse) string { return strconv.FormatBool(v.GetVerified()) }},
	{"IMAGE", (*machine.ImageServiceVerifyResponse).GetDigestedImageRef},
	{"MESSAGE", (*machine.ImageServiceVerifyResponse).GetMessage},
}
