// SPDX-License-Identifier: Apache-2.0

package imagecmd

import (
	"context"
	"fmt"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/api/common"
	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/ctl/session"
)

func newImagePullCommand(s *session.Session) *cobra.Command {
	var store *common.ContainerdInstance

	cmd := s.Flags(&cobra.Command{
		Use:     "pull IMAGE",
		Aliases: []string{"p"},
		Short:   "Have the nodes pull an image",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			progress := session.Progress(cmd)

			out := session.NewLines(cmd.OutOrStdout())

			return s.Each(cmd, func(ctx context.Context, n session.Node) error {
				for step, err := range n.PullImage(ctx, store, args[0]) {
					if err != nil {
						return err
					}

					if layer := step.GetPullProgress(); layer != nil {
						fmt.Fprintf(progress, "%s: %s\n", n.Name, describeLayer(layer))
					}

					if name := step.GetName(); name != "" {
						if err := out.Print(n.Name, name); err != nil {
							return err
						}
					}
				}

				return nil
			})
		},
	})

	session.ImageStoreFlag(cmd, &store, "cri")

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
		return layer.GetLayerId() + " exists"
	}
}
