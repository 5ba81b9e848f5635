// SPDX-License-Identifier: Apache-2.0

//go:build linux

package container

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"slices"
	"strconv"

	containerd "github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/core/containers"
	"github.com/containerd/containerd/v2/core/mount"
	"github.com/containerd/containerd/v2/pkg/oci"
	rooted "github.com/containerd/continuity/fs"
	"github.com/containerd/errdefs"
	"github.com/moby/sys/user"
	specs "github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"
)

// maxUserFile is the largest /etc/passwd or /etc/group that is read: an image comes from outside.
const maxUserFile = 10 << 20

// withImageUser runs the process as the user of the image, with all groups that the image's files give this user. The files are in the
// container's snapshot, which is mounted for as long as they are read.
func withImageUser(client *containerd.Client, image containerd.Image) oci.SpecOpts {
	return func(ctx context.Context, _ oci.Client, c *containers.Container, s *oci.Spec) error {
		config, err := image.Spec(ctx)
		if err != nil {
			return fmt.Errorf("configuration of image %s: %w", image.Name(), err)
		}

		mounts, err := client.SnapshotService(c.Snapshotter).Mounts(ctx, c.SnapshotKey)
		if err != nil {
			return fmt.Errorf("snapshot %s: %w", c.SnapshotKey, err)
		}

		s.Process.User, err = mountedUser(ctx, client.MountManager(), c.SnapshotKey, mounts, config.Config.User)
		if err != nil {
			return fmt.Errorf("user %q of image %s: %w", config.Config.User, image.Name(), err)
		}

		return nil
	}
}

// mountedUser mounts a snapshot while it looks up a user.
func mountedUser(ctx context.Context, manager mount.Manager, snapshot string, mounts []mount.Mount, name string) (found specs.User, err error) {
	activation := snapshot + "-user"

	// Layers that are file systems of their own are mounted by containerd, below the overlay.
	switch active, err := manager.Activate(ctx, activation, mounts); {
	case err == nil:
		defer manager.Deactivate(context.WithoutCancel(ctx), activation)

		mounts = active.System
	case !errdefs.IsNotImplemented(err):
		return found, fmt.Errorf("mount snapshot %s: %w", snapshot, err)
	}

	err = mount.WithReadonlyTempMount(ctx, mounts, func(root string) error {
		found, err = imageUser(root, name)

		return err
	})

	return found, err
}

// imageUser returns the user that an image names as USER, UID, USER:GROUP and so on, with its groups. The empty text is root. A number needs no
// entry in /etc/passwd.
func imageUser(root, name string) (specs.User, error) {
	passwd, err := userFile(root, "etc/passwd")
	if err != nil {
		return specs.User{}, err
	}

	group, err := userFile(root, "etc/group")
	if err != nil {
		return specs.User{}, err
	}

	found, err := user.GetExecUser(name, nil, bytes.NewReader(passwd), bytes.NewReader(group))
	if err != nil {
		return specs.User{}, err
	}

	// A user that is named together with a group has its other groups too, as in pods.
	member, err := user.GetExecUser(strconv.Itoa(found.Uid), nil, bytes.NewReader(passwd), bytes.NewReader(group))
	if err != nil {
		return specs.User{}, err
	}

	u := specs.User{UID: uint32(found.Uid), GID: uint32(found.Gid), AdditionalGids: []uint32{uint32(found.Gid)}}

	for _, id := range append(member.Sgids, found.Uid, found.Gid) {
		if id < 0 || id > math.MaxInt32 {
			return specs.User{}, fmt.Errorf("%d: %w", id, user.ErrRange)
		}
	}

	for _, gid := range member.Sgids {
		if !slices.Contains(u.AdditionalGids, uint32(gid)) {
			u.AdditionalGids = append(u.AdditionalGids, uint32(gid))
		}
	}

	return u, nil
}

// userFile reads a file of an image; nil if there is none. Links are followed within the image. Another object than a file, which could block or
// never end, is an error.
func userFile(root, name string) ([]byte, error) {
	path, err := rooted.RootPath(root, name)
	if err != nil {
		return nil, err
	}

	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) {
		return nil, nil
	}

	if err != nil {
		return nil, err
	}
	defer f.Close()

	switch info, err := f.Stat(); {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("/%s is not a file", name)
	case info.Size() > maxUserFile:
		return nil, fmt.Errorf("/%s has %d bytes: at most %d are read", name, info.Size(), maxUserFile)
	}

	return io.ReadAll(io.LimitReader(f, maxUserFile))
}
