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
	var store *common.ContainerdInstance

	cmd := s.OutputFlag(s.Flags(&cobra.Command{
		Use:     "list",
		Aliases: []string{"ls", "l"},
		Short:   "List images",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return session.List(s, cmd, imageColumns, func(n session.Node, ctx context.Context) ([]*machine.ImageServiceListResponse, error) {
				return listImages(ctx, n, store)
			})
		},
	}))

	session.ImageStoreFlag(cmd, &store, "cri")

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

func listImages(ctx context.Context, n session.Node, store *common.ContainerdInstance) ([]*machine.ImageServiceListResponse, error) {
	images, err := session.All(n.ImagesOf(ctx, store))
	slices.SortFunc(images, func(a, b *machine.ImageServiceListResponse) int { return cmp.Compare(a.GetName(), b.GetName()) })

	return images, err
}
