// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/config/generate"
	"github.com/seed-59268b81/talos/lab"
	"github.com/seed-59268b81/talos/lab/state"
	"github.com/seed-59268b81/talos/test/cluster"
	"github.com/seed-59268b81/talos/version"
)

// nextVersion is the other version that the test needs: make next builds it.
const nextVersion = "v0.1.1"

// upgradeTime is how long an upgrade may take: the image is unpacked, an emulated machine restarts, and the version is tried.
const upgradeTime = 15 * time.Minute

// TestUpgrade upgrades a machine from an archive, without network, to another version that is tried and stays. A version that does not start,
// and one that is refused, go. Then it goes back.
func TestUpgrade(t *testing.T) {
	cluster.Above(t, cluster.All, "starts one more virtual machine several times, which takes long where it is emulated")

	upgrades(t, lab.Image{})
}

// TestUpgradeBIOS is TestUpgrade for a machine that GRUB starts.
func TestUpgradeBIOS(t *testing.T) {
	cluster.Above(t, cluster.All, "starts one more virtual machine several times, which takes long where it is emulated")

	upgrades(t, lab.Image{BIOS: true})
}

func upgrades(t *testing.T, firmware lab.Image) {
	next := released(t).Installer()
	image := generate.InstallerRepository + ":" + nextVersion
	p := newPage(t, nil, "upgrade.md")

	c := cluster.StartIn(t, lab.Options{Provisioner: state.QEMU, Image: firmware})

	c.Maintenance()
	takesConfiguration(t, c)
	c.Bootstrap()
	c.Kubeconfig()

	boot, _ := c.Ready("")
	limit := c.Patience(upgradeTime)
	shows := func(t *testing.T, want string, args ...string) {
		t.Helper()
		c.Until("talosctl "+strings.Join(args, " ")+" shows "+want, upgradeTime, func(ctx context.Context) error {
			out, err := c.TalosctlCommand(ctx, args...).CombinedOutput()
			if err == nil && !strings.Contains(string(out), want) {
				err = fmt.Errorf("got %s", out)
			}

			return err
		})
	}
	do := func(t *testing.T, args ...string) (string, error) {
		t.Helper()

		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()

		out, err := c.TalosctlCommand(ctx, args...).CombinedOutput()
		t.Logf("talosctl %s: %v\n%s", strings.Join(args, " "), err, out)

		if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}

		return string(out), err
	}

	c.Run("refuses an image that is none", func(t *testing.T) {
		out, err := do(t, "upgrade", "--image", "registry.test/nothing:v1", "--timeout", "1m")
		if err == nil || !strings.Contains(out, "registry.test/nothing:v1") {
			t.Errorf("got %s, %v", out, err)
		}

		if out, err := do(t, "rollback"); err == nil || !strings.Contains(out, "there is no earlier version on this machine to go back to") {
			t.Errorf("got %s, %v", out, err)
		}
	})

	c.Run("upgrade", func(t *testing.T) {
		line := p.has(t, "-n 10.5.0.2 image import --namespace system installer-amd64.tar", "-n 10.5.0.2 ", "", "installer-amd64.tar", next)
		if out, err := do(t, strings.Fields(line)...); err != nil || !strings.Contains(out, image) {
			t.Fatalf("got %s, %v (make next builds the archive)", out, err)
		}

		line = p.has(t, "-n 10.5.0.2 upgrade --image "+image, "-n 10.5.0.2 ", "") + " --drain=false --timeout " + limit.String()

		out, err := do(t, strings.Fields(line)...)
		if err != nil || !strings.Contains(out, "the version stays: all conditions held for 30s") {
			t.Fatalf("got %s, %v", out, err)
		}

		boot, _ = c.Ready(boot)
		shows(t, nextVersion, "get", "version")
		shows(t, "committed", "get", "trials")
	})

	c.Run("a power cut during a trial", func(t *testing.T) {
		if out, err := do(t, "upgrade", "--image", image, "--no-reboot"); err != nil {
			t.Fatalf("got %s, %v", out, err)
		}

		if out, err := do(t, "reboot", "--wait=false"); err != nil {
			t.Fatalf("got %s, %v", out, err)
		}

		shows(t, "running", "get", "trials")

		if err := errors.Join(c.Node.PowerCut(t.Context()), c.Node.PowerOn(t.Context())); err != nil {
			t.Fatal(err)
		}

		shows(t, "the machine restarted before the trial was decided", "get", "trials")
		boot, _ = c.Ready(boot)
		shows(t, nextVersion, "get", "version")
	})

	c.Run("rollback", func(t *testing.T) {
		if out, err := do(t, strings.Fields(p.has(t, "-n 10.5.0.2 rollback", "-n 10.5.0.2 ", ""))...); err != nil {
			t.Fatalf("got %s, %v", out, err)
		}

		boot, _ = c.Ready(boot)
		shows(t, version.Tag, "get", "version")
		shows(t, "committed", "get", "trials")
	})

	if len(p.left) > 0 {
		t.Errorf("no step runs these commands of docs/%s: %v", p.file, p.left)
	}

	c.Run("takes at most 2.5 reboots", func(t *testing.T) {
		timed := func(args ...string) (took time.Duration) {
			start := time.Now()

			if out, err := do(t, append(args, "--wait=false", "--drain=false")...); err != nil {
				t.Fatalf("got %s, %v", out, err)
			}

			boot, _ = c.Ready(boot)
			took = time.Since(start)
			c.Measured("  "+args[0]+", from the command to Ready", took)

			return took
		}

		reboot := timed("reboot")
		if upgrade := timed("upgrade", "--image", image); upgrade > reboot*5/2 {
			t.Errorf("an upgrade takes %s, and a reboot %s: want at most 2.5 times that", upgrade, reboot)
		}
	})
}
