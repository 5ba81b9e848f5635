// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/build/artifact"
	"github.com/seed-59268b81/talos/build/image"
	"github.com/seed-59268b81/talos/config/generate"
	"github.com/seed-59268b81/talos/test/cluster"
	"github.com/seed-59268b81/talos/version"
)

// revertBudget is how long a machine may take from its restart into a version that cannot run until the version before serves again.
const revertBudget = 180 * time.Second

// broken is a machine that is upgraded to versions that cannot run. It has no Kubernetes: what is tried is how it starts.
type broken struct {
	*cluster.Cluster
	*breaker
}

// newBroken starts a machine that answers, without Kubernetes.
func newBroken(t *testing.T) broken {
	cluster.Above(t, cluster.All, "starts a virtual machine several times, which takes long where it is emulated")

	built, err := artifact.Find()
	if err != nil {
		t.Fatal(err)
	}

	b := broken{cluster.Start(t), newBreaker(t, built)}

	b.Maintenance()
	takesConfiguration(t, b.Cluster)
	b.Kubeconfig()

	return b
}

// TestBrokenUpgrade upgrades a machine to versions that cannot run. Each time the machine must serve with the version that it had within the
// budget, and say why.
func TestBrokenUpgrade(t *testing.T) {
	b := newBroken(t)

	b.Run("a document that the version does not know", b.unknownDocument)
	b.shape("init missing", ": the system did not start: initramfs: the root image has no /sbin/init", func(t *testing.T) image.UKI {
		return b.withRoot(t, rootWith(t, ""))
	})
	// A kernel that ends before the initramfs has loaded the driver of the firmware's memory leaves no reason.
	b.shape("kernel panic", "", func(*testing.T) image.UKI {
		uki := b.uki
		uki.Initramfs = []byte("no archive")

		return uki
	}, "Kernel panic - not syncing: VFS: Unable to mount root fs")
	b.shape("torn root image", ": the system did not start: initramfs: the root image cannot be mounted: .* invalid argument", func(t *testing.T) image.UKI {
		_, whole := b.split(t)
		torn := slices.Concat(whole[:len(whole)/2], make([]byte, len(whole)-len(whole)/2))

		return b.withRoot(t, torn)
	})
	b.shape("process 1 crashes", ": .*"+initEnded, func(t *testing.T) image.UKI {
		return b.withRoot(t, rootWith(t, process1(t, "5s")))
	}, "panic: this version cannot run", "Kernel panic - not syncing: "+initEnded)
	b.shape("process 1 hangs", ": .*"+watchdogCause, func(t *testing.T) image.UKI {
		return b.withRoot(t, rootWith(t, process1(t, "")))
	}, "Kernel panic - not syncing: "+watchdogCause)
	b.Run("the API does not start", func(t *testing.T) {
		b.goesBack(t, "the API does not start", b.noAPI(t), `not healthy within 2m30s: .*apid \(the API does not answer`)
	})
	b.Run("a power cut at the deadline", b.cut)
	b.Run("half an image", b.half)
	b.Run("full EFI partition", b.full)
}

// shape upgrades the machine to a version with the unified kernel image, which causes faults on the console.
func (b broken) shape(name, why string, uki func(*testing.T) image.UKI, faults ...string) {
	b.Run(name, func(t *testing.T) {
		for _, f := range faults {
			b.Causes(f)
		}

		archive, image := b.release(t, strings.ReplaceAll(name, " ", "-"), uki(t))
		b.imports(t, archive)
		b.goesBack(t, name, image, neverStarted+why)
	})
}

const (
	neverStarted = "its boot entry never started"
	initEnded    = "Attempted to kill init!"
)

// do runs talosctl to its end.
func (b broken) do(t *testing.T, args ...string) (string, error) {
	t.Helper()

	ctx, cancel := context.WithTimeout(t.Context(), upgradeTime)
	defer cancel()

	out, err := b.TalosctlCommand(ctx, args...).CombinedOutput()
	t.Logf("talosctl %s: %v\n%s", strings.Join(args, " "), err, out)

	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}

	return string(out), err
}

// imports imports an image as soon as containerd, which starts later than the API, takes it.
func (b broken) imports(t *testing.T, archive string) {
	t.Helper()

	b.Until("the image is imported", 5*time.Minute, func(context.Context) error {
		out, err := b.do(t, "image", "import", "--namespace", "system", archive)
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}

		return nil
	})
}

// goesBack upgrades to an image that cannot run, does something as soon as the machine restarts, and waits until the version before serves.
func (b broken) goesBack(t *testing.T, shape, image, why string, then ...func()) {
	t.Helper()

	ctx, cancel := context.WithTimeout(t.Context(), upgradeTime)
	defer cancel()

	var out bytes.Buffer

	cmd := b.TalosctlCommand(ctx, "upgrade", "--image", image, "--drain=false", "--timeout", upgradeTime.String())
	cmd.Stdout, cmd.Stderr = &out, &out

	boots := machineStatus(t, b.Cluster).Boots

	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}

	b.Until("the machine restarts", upgradeTime, func(context.Context) error {
		if machineStatus(t, b.Cluster).Boots == boots {
			return errors.New("it has not yet")
		}

		return nil
	})

	start := time.Now()

	for _, f := range then {
		f()
	}

	b.Until("the version before serves again", revertBudget+2*time.Minute, func(ctx context.Context) error {
		if n := machineStatus(t, b.Cluster).Boots; n < boots+2 {
			return fmt.Errorf("%d restarts", n-boots)
		}

		var v struct{ Version string }
		if _, err := b.Resource(ctx, "runtime", "Versions.runtime.talos.dev", "version", &v); err != nil {
			return err
		}

		if v.Version != version.Tag {
			return fmt.Errorf("%s runs", v.Version)
		}

		return nil
	})

	took := time.Since(start)
	b.Measured(fmt.Sprintf("%s: from the restart until %s serves again", shape, version.Tag), took)

	if took > revertBudget {
		t.Errorf("the version before serves again after %s, want at most %s", took, revertBudget)
	}

	err := cmd.Wait()
	t.Logf("talosctl upgrade: %v\n%s", err, &out)

	pattern := regexp.MustCompile(why)
	if err == nil || !pattern.MatchString(out.String()) {
		t.Errorf("upgrade: got %v; want %s", err, pattern)
	}

	b.says(t, why)
}

// noAPI imports a version whose API does not start, and returns the name of its image.
func (b broken) noAPI(t *testing.T) string {
	t.Helper()

	archive, image := b.release(t, "no-api", b.withRoot(t, b.changed(t, func(tree string) error {
		return os.Remove(filepath.Join(tree, "usr/libexec/sandbox"))
	})))
	b.imports(t, archive)

	return image
}

// cut takes the power away when the deadline of a trial is over, while the machine goes back.
func (b broken) cut(t *testing.T) {
	const over = "is reverted: not healthy within 2m30s"

	image, before := b.noAPI(t), strings.Count(b.Console(), over)

	b.goesBack(t, "a power cut at the deadline", image, "not healthy within 2m30s|the machine restarted before the trial was decided", func() {
		b.Until("the deadline is over", upgradeTime, func(context.Context) error {
			if strings.Count(b.Console(), over) == before {
				return errors.New("the trial runs")
			}

			return nil
		})
		powerCycle(t, b.Cluster)
	})
}

// says checks that the machine says why it went back.
func (b broken) says(t *testing.T, why string) {
	t.Helper()

	for args, want := range map[string]string{
		"get trials": "boot entry +reverted .*(" + why + ")", "get boots": `(?m) -1 .* (reboot over the API|power cut or hard reset|trial \w+ is reverted: .*(` + why + `))`,
	} {
		if out, err := b.do(t, strings.Fields(args)...); err != nil || !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("%s: got %s, %v; want %s", args, out, err, want)
		}
	}
}

// unknownDocument upgrades to a version that cannot decode the configuration.
func (b broken) unknownDocument(t *testing.T) {
	const kind = "EnvironmentConfig"

	b.Apply(slices.Concat(b.Generated.ControlPlane, []byte("---\napiVersion: v1alpha1\nkind: "+kind+"\nvariables: {EXAMPLE: \"1\"}\n")))

	archive, image := b.release(t, "unknown-document", b.withRoot(t, b.changed(t, func(tree string) error { return forget(tree, kind) })))
	b.imports(t, archive)
	b.goesBack(t, "unknown document", image, ".*"+kind)
}

// half is an image whose second half is missing.
func (b broken) half(t *testing.T) {
	text, err := os.ReadFile(released(t).Installer())
	if err != nil {
		t.Fatalf("%v (make next builds it)", err)
	}

	file := filepath.Join(t.TempDir(), "half.tar")
	if err := os.WriteFile(file, text[:len(text)/2], 0o644); err != nil {
		t.Fatal(err)
	}

	boots := machineStatus(t, b.Cluster).Boots

	if out, err := b.do(t, "image", "import", "--namespace", "system", file); err == nil {
		t.Errorf("half of an image was imported: %s", out)
	}

	if out, err := b.do(t, "upgrade", "--image", generate.InstallerRepository+":"+nextVersion, "--drain=false", "--timeout", "1m"); err == nil {
		t.Errorf("half of an image was installed: %s", out)
	}

	b.stays(t, boots)
}

// stays checks that the machine has not restarted, and tries nothing.
func (b broken) stays(t *testing.T, boots int) {
	t.Helper()

	if now := machineStatus(t, b.Cluster).Boots; now != boots {
		t.Errorf("the machine has restarted %d times", now-boots)
	}

	if out, err := b.do(t, "get", "trials"); err != nil || regexp.MustCompile(`\b(armed|running)\b`).MatchString(out) {
		t.Errorf("got %s, %v; want no trial that is armed or runs", out, err)
	}
}
