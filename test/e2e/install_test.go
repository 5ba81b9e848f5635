// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/build/artifact"
	"github.com/seed-59268b81/talos/build/hosttools/hosttest"
	"github.com/seed-59268b81/talos/client"
	"github.com/seed-59268b81/talos/lab"
	"github.com/seed-59268b81/talos/lab/qemu/accel"
	"github.com/seed-59268b81/talos/lab/state"
	"github.com/seed-59268b81/talos/resources/block"
	"github.com/seed-59268b81/talos/test/cluster"
)

// installTime is how long an installation may take where the machine is emulated: it copies a gigabyte of images and reads it back.
const installTime = 15 * time.Minute

// cdImage makes the image of a CD that a machine can install itself from without a network, as a user does. The emulated machines have the
// arguments that make them faster (package qemu), and pass them on.
func cdImage(t *testing.T) string {
	t.Helper()

	built, err := artifact.Find()
	if err != nil {
		t.Fatal(err)
	}

	imager := built.Bin("imager")
	if _, err := os.Stat(imager); err != nil {
		hosttest.NotBuilt(t, err)
	}

	dir := t.TempDir()
	args := []string{"iso", "--image-cache", "--input", built.Out, "--output", dir}

	if !accel.Choose(t.Context(), hosttest.Need(t, "qemu-system-x86_64")).KVM {
		args = append(args, "--extra-kernel-arg", "pti=off", "--extra-kernel-arg", "cryptomgr.notests")
	}

	//program:built imager
	cmd := exec.CommandContext(t.Context(), imager, args...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("imager: %v: %s", err, out)
	}

	return filepath.Join(dir, "iso-amd64.iso")
}

// TestInstall starts a machine by UEFI from a CD, beside an empty disk. It is in maintenance, refuses disks that it cannot use, installs itself, and
// is Ready from its own disk.
func TestInstall(t *testing.T) { installFromCD(t, false) }

// TestInstallBIOS does the same by a BIOS.
func TestInstallBIOS(t *testing.T) { installFromCD(t, true) }

func installFromCD(t *testing.T, bios bool) {
	cluster.Above(t, cluster.All, "starts one more virtual machine twice, which takes long where it is emulated")

	c := cluster.StartIn(t, lab.Options{Provisioner: state.QEMU, Image: lab.Image{CD: cdImage(t), BIOS: bios}})
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
		if out, err := run(t.Context(), p.has(t, "get disks --insecure -n 10.5.0.2")); err != nil || !strings.Contains(out, "vda") || !strings.Contains(out, "sr0") {
			t.Errorf("got %s, %v", out, err)
		}

		if out, err := run(t.Context(), p.has(t, "get discoveredvolumes --insecure -n 10.5.0.2")); err != nil || !strings.Contains(out, "iso9660") {
			t.Errorf("got %s, %v", out, err)
		}
	})

	c.Run("refusals", func(t *testing.T) {
		for disk, want := range map[string]string{
			"/dev/sr0": "it is the medium that the machine was started from",
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
			if out, err := run(t.Context(), line+flag); err != nil || !strings.Contains(out, "of the medium sr0 to /dev/vda") {
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
