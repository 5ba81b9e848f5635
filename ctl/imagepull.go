// SPDX-License-Identifier: Apache-2.0

package ctl

import (
	"context"
	"fmt"
	"io"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/api/machine"
)

func newImagePullCommand(s *connection) *cobra.Command {
	var store imageStore

	cmd := &cobra.Command{
		Use:     "pull IMAGE",
		Aliases: []string{"p"},
		Short:   "Have the nodes pull an image",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			instance, err := store.instance()
			if err != nil {
				return err
			}

			// The names are the answer; the progress is for a person who waits.
			progress := io.Discard
			if isTerminal(cmd.ErrOrStderr()) {
				progress = cmd.ErrOrStderr()
			}

			out := &lines{w: cmd.OutOrStdout()}

			return s.each(cmd, func(ctx context.Context, n node) error {
				for step, err := range n.PullImage(ctx, instance, args[0]) {
					if err != nil {
						return err
					}

					if layer := step.GetPullProgress(); layer != nil {
						fmt.Fprintf(progress, "%s: %s\n", n.name, describeLayer(layer))
					}

					if name := step.GetName(); name != "" {
						if err := out.print(n.name, name); err != nil {
							return err
						}
					}
				}

				return nil
			})
		},
	}

	s.flags(cmd)
	store.flag(cmd, "cri")

	return cmd
}

func describeLayer(layer *machine.ImageServicePullProgress) string {
	p := layer.GetProgress()

	switch p.GetStatus() {
	case machine.ImageServicePullLayerProgress_DOWNLOADING:
		return fmt.Sprintf("%s downloading %s of %s", layer.GetLayerId(), humanize.Bytes(uint64(max(0, p.GetOffset()))), humanize.Bytes(uint64(max(0, p.GetTotal()))))
	case machine.ImageServicePullLayerProgress_DOWNLOAD_COMPLETE:
		return layer.GetLayerId() + " downloaded"
	case machine.ImageServicePullLayerProgress_EXTRACTING:
		return fmt.Sprintf("%s extracting for %s", layer.GetLayerId(), p.GetElapsed().AsDuration())
	case machine.ImageServicePullLayerProgress_EXTRACT_COMPLETE:
		return layer.GetLayerId() + " extracted"
	default:
		return layer.GetLayerId() + " is there"
	}
}
