// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/build/artifact"
	"github.com/seed-59268b81/talos/lab"
	"github.com/seed-59268b81/talos/lab/qemu"
	"github.com/seed-59268b81/talos/lab/state"
	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/resources/block"
	"github.com/seed-59268b81/talos/sys/gpt"
	"github.com/seed-59268b81/talos/test/cluster"
)

// installTime is how long an installation may take where the machine is emulated: it copies a gigabyte of images and reads it back.
const installTime = 15 * time.Minute

// medium returns an image of a medium: the disk image without META.
func medium(t *testing.T) string {
	t.Helper()

	built, err := artifact.Find()
	if err != nil {
		t.Fatal(err)
	}

	path := filepath.Join(t.TempDir(), "medium.raw")
	if err := qemu.CopyBase(built.Disk(), path); err != nil {
		t.Skipf("needs a built system: %v", err)
	}

	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()

	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}

	table, err := gpt.Read(f, uint64(info.Size()), 512)
	if err != nil {
		t.Fatal(err)
	}

	table.Partitions = slices.DeleteFunc(table.Partitions, func(p gpt.Partition) bool { return p.Label == layout.PartitionMeta })

	if err := table.Write(f); err != nil {
		t.Fatal(err)
	}

	return path
}

// TestInstall starts a machine from a medium that cannot be written, beside an empty disk. It is in maintenance, refuses disks that it cannot use,
// installs itself, and is Ready from its own disk.
func TestInstall(t *testing.T) {
	cluster.Above(t, cluster.All, "starts one more virtual machine twice, which takes long where it is emulated")

	c := cluster.StartIn(t, lab.Options{Provisioner: state.QEMU, Image: lab.Image{Medium: medium(t)}})
	c.Maintenance()

	insecure := func(ctx context.Context, args ...string) (string, error) {
		out, err := c.TalosctlCommand(ctx, append(args, "--insecure", "--endpoints", c.Node.APIEndpoint())...).CombinedOutput()

		return string(out), err
	}

	c.Run("disks", func(t *testing.T) {
		if out, err := insecure(t.Context(), "get", "disks"); err != nil || !strings.Contains(out, "vda") || !strings.Contains(out, "vdb") {
			t.Errorf("got %s, %v", out, err)
		}

		if out, err := insecure(t.Context(), "get", "discoveredvolumes"); err != nil || !strings.Contains(out, layout.PartitionImageCache) {
			t.Errorf("got %s, %v", out, err)
		}
	})

	c.Run("refusals", func(t *testing.T) {
		for disk, want := range map[string]string{
			"/dev/vdb": "it is the medium that the machine was started from",
			"/dev/vdz": "machine.install.disk",
		} {
			text := strings.Replace(string(c.Generated.ControlPlane), "disk: /dev/vda", "disk: "+disk, 1)
			if err := c.ApplyInsecure(t.Context(), []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v, want %q", disk, err, want)
			}
		}
	})

	if err := c.ApplyInsecure(t.Context(), c.Generated.ControlPlane); err != nil {
		c.Fail("%v", err)
	}

	c.Until("the machine answers its administrator", installTime, func(ctx context.Context) error {
		var system block.SystemDiskSpec

		_, err := c.Resource(ctx, block.NamespaceName, "SystemDisks.block.talos.dev", block.SystemDiskID, &system)
		if err == nil && system.DevPath != "/dev/vda" {
			err = fmt.Errorf("its system is on %q", system.DevPath)
		}

		if err != nil {
			progress, _ := insecure(ctx, "get", "unattendedinstallstatus")

			return fmt.Errorf("%w; %s", err, progress)
		}

		return nil
	})

	c.Bootstrap()
	c.Kubeconfig()
	c.Ready("")
}
