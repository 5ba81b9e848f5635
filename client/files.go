// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"io"
	"iter"

	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/seed-59268b81/talos/api/machine"
)

// List streams the files below a path. A file that the node could not read has its Error set.
func (c *Client) List(ctx context.Context, request *machine.ListRequest) iter.Seq2[*machine.FileInfo, error] {
	return answers(receive(ctx, "list "+request.GetRoot(), c.Machine.List, request))
}

// DiskUsage streams the space that is used below paths.
func (c *Client) DiskUsage(ctx context.Context, request *machine.DiskUsageRequest) iter.Seq2[*machine.DiskUsageInfo, error] {
	return answers(receive(ctx, "disk usage", c.Machine.DiskUsage, request))
}

// Read streams the content of one regular file.
func (c *Client) Read(ctx context.Context, path string) io.ReadCloser {
	return newDataReader(ctx, "read "+path, c.Machine.Read, &machine.ReadRequest{Path: path})
}

// Copy streams a file or a tree as a gzipped tar archive. Names in it are relative to path.
func (c *Client) Copy(ctx context.Context, path string) io.ReadCloser {
	return newDataReader(ctx, "copy "+path, c.Machine.Copy, &machine.CopyRequest{RootPath: path})
}

// Mounts lists the node's mounts.
func (c *Client) Mounts(ctx context.Context) ([]*machine.MountStat, error) {
	return field(ctx, "list mounts", c.Machine.Mounts, &emptypb.Empty{}, (*machine.Mounts).GetStats)
}

// Statfs returns the size and use of the file system of a path.
func (c *Client) Statfs(ctx context.Context, path string) (*machine.StorageServiceStatfsResponse, error) {
	r, err := c.FileSystems.Statfs(ctx, &machine.StorageServiceStatfsRequest{Path: path})

	return r, named("file system of "+path, err)
}
