// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"fmt"
	"io"
	"iter"

	"github.com/seed-59268b81/talos/api/common"
	"github.com/seed-59268b81/talos/api/machine"
)

// ImagesOf lists the images that a node has in a containerd instance.
func (c *Client) ImagesOf(ctx context.Context, instance *common.ContainerdInstance) iter.Seq2[*machine.ImageServiceListResponse, error] {
	return receive(ctx, "list images", c.Images.List, &machine.ImageServiceListRequest{Containerd: instance})
}

// PullImage makes the node pull an image, and streams the progress of its layers. The last message has the image's name.
func (c *Client) PullImage(ctx context.Context, instance *common.ContainerdInstance, reference string) iter.Seq2[*machine.ImageServicePullResponse, error] {
	return receive(ctx, "pull "+reference, c.Images.Pull, &machine.ImageServicePullRequest{Containerd: instance, ImageRef: reference})
}

// RemoveImage removes an image by its reference.
func (c *Client) RemoveImage(ctx context.Context, instance *common.ContainerdInstance, reference string) error {
	_, err := c.Images.Remove(ctx, &machine.ImageServiceRemoveRequest{Containerd: instance, ImageRef: reference})

	return named("remove image "+reference, err)
}

// VerifyImage checks a reference against the node's image verification configuration.
func (c *Client) VerifyImage(ctx context.Context, reference string) (*machine.ImageServiceVerifyResponse, error) {
	r, err := c.Images.Verify(ctx, &machine.ImageServiceVerifyRequest{ImageRef: reference})

	return r, named("verify image "+reference, err)
}

// ImportImage sends an image as an OCI archive and returns the name that it has on the node.
func (c *Client) ImportImage(ctx context.Context, instance *common.ContainerdInstance, archive io.Reader) (string, error) {
	const call = "import image"

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	stream, err := c.Images.Import(ctx)
	if err != nil {
		return "", fmt.Errorf("%s: %w", call, err)
	}

	first := &machine.ImageServiceImportRequest{Request: &machine.ImageServiceImportRequest_Containerd{Containerd: instance}}
	if err := stream.Send(first); err == nil {
		err = sendChunks(archive, func(chunk []byte) error {
			return stream.Send(&machine.ImageServiceImportRequest{
				Request: &machine.ImageServiceImportRequest_ImageChunk{ImageChunk: &common.Data{Bytes: chunk}},
			})
		})
		if err != nil {
			return "", fmt.Errorf("%s: %w", call, err)
		}
	}

	r, err := stream.CloseAndRecv()

	return r.GetName(), named(call, err)
}
