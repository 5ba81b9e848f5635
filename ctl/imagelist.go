// SPDX-License-Identifier: Apache-2.0

package ctl

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/api/common"
	"github.com/seed-59268b81/talos/api/machine"
)

func newImageListCommand(s *connection) *cobra.Command {
	var store imageStore

	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls", "l"},
		Short:   "List images",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			instance, err := store.instance()
			if err != nil {
				return err
			}

			return list(cmd, s, imageColumns, func(n node, ctx context.Context) ([]*machine.ImageServiceListResponse, error) {
				return n.listImages(ctx, instance)
			})
		},
	}

	s.flags(cmd)
	s.outputFlag(cmd)
	store.flag(cmd, "cri")

	return cmd
}

var imageColumns = []column[*machine.ImageServiceListResponse]{
	{"IMAGE", (*machine.ImageServiceListResponse).GetName},
	{"DIGEST", (*machine.ImageServiceListResponse).GetDigest},
	{"SIZE", func(i *machine.ImageServiceListResponse) string { return humanize.Bytes(uint64(max(0, i.GetSize()))) }},
	{"CREATED", func(i *machine.ImageServiceListResponse) string {
		return i.GetCreatedAt().AsTime().Format(time.RFC3339)
	}},
}

func (n node) listImages(ctx context.Context, instance *common.ContainerdInstance) ([]*machine.ImageServiceListResponse, error) {
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

func (n node) imageNames(ctx context.Context, store imageStore) ([]string, error) {
	instance, err := store.instance()
	if err != nil {
		return nil, err
	}

	images, err := n.listImages(ctx, instance)

	var names []string
	for _, image := range images {
		names = append(names, image.GetName())
	}

	return names, err
}
