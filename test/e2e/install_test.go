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

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/build/artifact"
	"github.com/seed-59268b81/talos/client"
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

	dir, p := t.TempDir(), newPage(t, nil, "install.md")

	// run runs a line of the page, where the machine has an address of the lab.
	run := func(ctx context.Context, line string) (string, error) {
		cmd := c.TalosctlCommand(ctx, strings.Fields(strings.Replace(line, "-n 10.5.0.2", "--endpoints "+c.Node.APIEndpoint(), 1))...)
		cmd.Dir = dir

		out, err := cmd.CombinedOutput()

		return string(out), err
	}

	c.Run("disks", func(t *testing.T) {
		if out, err := run(t.Context(), p.has(t, "get disks --insecure -n 10.5.0.2")); err != nil || !strings.Contains(out, "vda") || !strings.Contains(out, "vdb") {
			t.Errorf("got %s, %v", out, err)
		}

		if out, err := run(t.Context(), p.has(t, "get discoveredvolumes --insecure -n 10.5.0.2")); err != nil || !strings.Contains(out, layout.PartitionImageCache) {
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

	c.Run("for administrators only", func(t *testing.T) {
		const want = "apply one first (talosctl apply-config --insecure)"

		out, err := run(t.Context(), "upgrade --insecure -n 10.5.0.2 --image registry.test/installer:v1 --wait=false")
		if err == nil || !strings.Contains(out, want) {
			t.Errorf("upgrade: got %s, %v", out, err)
		}

		direct, err := client.New([]string{c.Node.APIEndpoint()}, client.WithInsecure())
		if err != nil {
			t.Fatal(err)
		}
		defer direct.Close()

		stream, err := direct.Lifecycle.Install(t.Context(), &machine.LifecycleServiceInstallRequest{Destination: &machine.InstallDestination{Disk: "/dev/vda"}})
		if err == nil {
			_, err = stream.Recv()
		}

		if status.Code(err) != codes.PermissionDenied || !strings.Contains(err.Error(), want) {
			t.Errorf("install: got %v", err)
		}
	})

	c.Run("apply", func(t *testing.T) {
		if out, err := run(t.Context(), p.has(t, "gen config demo https://10.5.0.2:6443 --install-disk /dev/vda")); err != nil {
			t.Fatalf("got %s, %v", out, err)
		}

		text, err := os.ReadFile(filepath.Join(dir, "controlplane.yaml"))
		if err != nil || !strings.Contains(string(text), "/dev/vda") {
			t.Fatalf("got %s, %v", text, err)
		}

		// The test knows the keys of its own.
		if err := os.WriteFile(filepath.Join(dir, "controlplane.yaml"), c.Generated.ControlPlane, 0o600); err != nil {
			t.Fatal(err)
		}

		line := p.has(t, "apply-config --insecure -n 10.5.0.2 -f controlplane.yaml")

		for _, flag := range []string{" --dry-run", ""} {
			if out, err := run(t.Context(), line+flag); err != nil || !strings.Contains(out, "of the medium vdb to /dev/vda") {
				t.Fatalf("apply-config%s: got %s, %v", flag, out, err)
			}
		}
	})

	progressOf := p.has(t, "get unattendedinstallstatus --insecure -n 10.5.0.2")
	if len(p.left) > 0 {
		t.Errorf("no step runs these commands of docs/%s: %v", p.file, p.left)
	}

	c.Until("the machine answers its administrator", installTime, func(ctx context.Context) error {
		var system block.SystemDiskSpec

		_, err := c.Resource(ctx, block.NamespaceName, "SystemDisks.block.talos.dev", block.SystemDiskID, &system)
		if err == nil && system.DevPath != "/dev/vda" {
			err = fmt.Errorf("its system is on %q", system.DevPath)
		}

		if err != nil {
			progress, _ := run(ctx, progressOf)

			return fmt.Errorf("%w; %s", err, progress)
		}

		return nil
	})

	c.Bootstrap()
	c.Kubeconfig()
	c.Ready("")
}
