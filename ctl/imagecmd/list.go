// SPDX-License-Identifier: Apache-2.0

package imagecmd

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/api/common"
	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/ctl/session"
)

func newImageListCommand(s *session.Session) *cobra.Command {
	var store session.ImageStore

	cmd := s.OutputFlag(s.Flags(&cobra.Command{
		Use:     "list",
		Aliases: []string{"ls", "l"},
		Short:   "List images",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			instance, err := store.Instance()
			if err != nil {
				return err
			}

			return session.List(s, cmd, imageColumns, func(n session.Node, ctx context.Context) ([]*machine.ImageServiceListResponse, error) {
				return listImages(ctx, n, instance)
			})
		},
	}))

	store.Flag(cmd, "cri")

	return cmd
}

var imageColumns = []session.Column[*machine.ImageServiceListResponse]{
	session.Col("IMAGE", (*machine.ImageServiceListResponse).GetName),
	session.Col("DIGEST", (*machine.ImageServiceListResponse).GetDigest),
	session.Col("SIZE", func(i *machine.ImageServiceListResponse) string { return humanize.Bytes(uint64(max(0, i.GetSize()))) }),
	session.Col("CREATED", func(i *machine.ImageServiceListResponse) string {
		return i.GetCreatedAt().AsTime().Format(time.RFC3339)
	}),
}

func listImages(ctx context.Context, n session.Node, instance *common.ContainerdInstance) ([]*machine.ImageServiceListResponse, error) {
	var images []*machine.ImageServiceListResponse

	for image, err := range n.ImagesOf(ctx, instance) {
		if err != nil {
			return nil, err
		}

		images = append(images, image)
	}

	slices.SortFunc(images, func(a, b *machine.ImageServiceListResponse) int { return cmp.Compare(a.GetName(), b.GetName()) })

	return images, nil
}

func imageNames(ctx context.Context, n session.Node, store session.ImageStore) ([]string, error) {
	instance, err := store.Instance()
	if err != nil {
		return nil, err
	}

	images, err := listImages(ctx, n, instance)

	var names []string
	for _, image := range images {
		names = append(names, image.GetName())
	}

	return names, err
}
