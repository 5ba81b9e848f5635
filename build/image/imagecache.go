// SPDX-License-Identifier: Apache-2.0

package image

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/seed-59268b81/talos/build/graph"
	configimages "github.com/seed-59268b81/talos/config/images"
	"github.com/seed-59268b81/talos/layout"
)

// cacheStep creates the file system of the partition IMAGECACHE. It has the OCI layout with all container images that a node
// pulls, or a layout with these and more, and the file systems of their layers. Each layer is there twice: a machine that cannot
// use the file system unpacks the layer.
func cacheStep(o Options, name, about, images, layers string) graph.Step {
	return graph.Step{
		Name:   name,
		About:  about,
		Needs:  []string{images, layers},
		Inputs: o.inputs(),
		Run: func(ctx context.Context, w *graph.Work) error {
			layout := w.Needs[images]

			tree, remove, err := scratch(w.Dir)
			if err != nil {
				return err
			}
			defer remove()

			if err := graph.LinkTree(layout.Dir, tree); err != nil {
				return err
			}

			if err := graph.LinkTree(w.Needs[layers].Dir, filepath.Join(tree, configimages.LayersDir)); err != nil {
				return err
			}

			id := identity("imagecache", layout.Digest, w.Needs[layers].Digest).String()

			return makeExt4(ctx, tree, filepath.Join(w.Dir, cacheName), id)
		},
	}
}

// cacheName is the file of the file system.
const cacheName = "imagecache.ext4"

// blockSize is the block size of the file system.
const blockSize = 4096

// makeExt4 creates a file system image with the contents of a tree. It is read-only, so it has no journal and almost no free
// space.
func makeExt4(ctx context.Context, tree, image, id string) error {
	var (
		blocks, files int64
		fixes         strings.Builder
	)

	err := filepath.WalkDir(tree, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}

		info, err := d.Info()
		if err != nil {
			return err
		}

		files++
		blocks += (info.Size() + blockSize - 1) / blockSize

		fixInode(&fixes, strings.TrimPrefix(path, tree))

		return nil
	})
	if err != nil {
		return fmt.Errorf("image cache: %w", err)
	}

	// Extent blocks, inode table, group descriptors and bitmaps fit in 1/64 of the size and 8 MiB.
	blocks += blocks/64 + 8<<20/blockSize
	inodes := files + files/8 + 64
	env := []string{"E2FSPROGS_FAKE_TIME=" + strconv.FormatInt(epoch.Unix(), 10)}

	if err := run(ctx, env, "mke2fs", "-q", "-F", "-t", "ext4", "-d", tree, "-L", layout.PartitionImageCache, "-U", id, "-m", "0",
		"-b", strconv.Itoa(blockSize), "-N", strconv.FormatInt(inodes, 10),
		"-O", "^has_journal,^resize_inode", "-E", "hash_seed="+id+",root_owner=0:0,lazy_itable_init=0",
		image, strconv.FormatInt(blocks, 10)); err != nil {
		return fmt.Errorf("image cache: %w", err)
	}

	script := image + ".fixes"
	defer os.Remove(script)

	if err := os.WriteFile(script, []byte(fixes.String()), 0o600); err != nil {
		return fmt.Errorf("image cache: %w", err)
	}

	return run(ctx, env, "debugfs", "-w", "-f", script, image)
}

// fixInode sets root as a file's owner and fixed times: mke2fs takes owner and times from the host.
func fixInode(script *strings.Builder, path string) {
	if path == "" {
		path = "/"
	}

	stamp := " @" + strconv.FormatInt(epoch.Unix(), 10)

	for _, field := range []string{"atime" + stamp, "mtime" + stamp, "ctime" + stamp, "uid 0", "gid 0"} {
		fmt.Fprintf(script, "set_inode_field %q %s\n", path, field)
	}
}
