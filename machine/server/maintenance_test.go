// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/api/contract"
	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/config/configtest"
	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/install/loader"
	"github.com/seed-59268b81/talos/install/release"
	"github.com/seed-59268b81/talos/install/trial"
	"github.com/seed-59268b81/talos/resources/runtime"
	"github.com/seed-59268b81/talos/test/registrytest"
)

// fromLayouts opens releases in layouts, by the names of their images.
func fromLayouts(layouts map[string]string) func(context.Context, string, *view.Config) (*release.Image, error) {
	return func(_ context.Context, image string, _ *view.Config) (*release.Image, error) {
		layout, there := layouts[image]
		if !there {
			return nil, fmt.Errorf("read %s: %w", image, fs.ErrNotExist)
		}

		return release.Open(release.Layout(layout))
	}
}

// upgrade makes the call, and returns what it says.
func (b *bench) upgrade(ctx context.Context, image string) (lines []string, err error) {
	stream, err := machine.NewLifecycleServiceClient(b.conn).Upgrade(ctx, &machine.LifecycleServiceUpgradeRequest{
		Containerd: system, Source: &machine.InstallArtifactsSource{ImageName: image},
	})
	if err != nil {
		return nil, err
	}

	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return lines, nil
		}

		if err != nil {
			return lines, err
		}

		lines = append(lines, m.GetProgress().GetMessage())
	}
}

// TestUpgradeWithoutConfiguration: a machine whose configuration is lost has no containerd. Its administrators upgrade it from a registry, by
// both calls. In maintenance there are none.
func TestUpgradeWithoutConfiguration(t *testing.T) {
	const (
		image = "registry.test/installer:v1.1.0"
		other = "registry.test/other:v1.1.0"
	)

	b := newBench(t)
	trials := &memoryTrials{}
	b.Loader, b.Trials, b.Containerd = bootDisk(t), trials, filepath.Join(t.TempDir(), "containerd.sock")
	b.Fetch = fromLayouts(map[string]string{image: layoutOf(t, "v1.1.0", "amd64"), other: layoutOf(t, "v1.1.0", "arm64")})

	for role, want := range map[string]string{
		contract.RoleReader:   "a machine without a configuration has no administrators: apply one first (talosctl apply-config --insecure)",
		contract.RoleOperator: "the caller has [os:operator]",
	} {
		_, err1 := b.upgrade(as(t.Context(), role), image)
		_, err2 := b.machine.Upgrade(as(t.Context(), role), &machine.UpgradeRequest{Image: image})

		for _, err := range []error{err1, err2} {
			if status.Code(err) != codes.PermissionDenied || !strings.HasSuffix(status.Convert(err).Message(), want) {
				t.Errorf("as %s: got %v, want PermissionDenied: %s", role, err, want)
			}
		}
	}

	ctx := as(t.Context(), contract.RoleAdmin)

	for image, want := range map[string]codes.Code{
		other:                        codes.FailedPrecondition, // another architecture
		"registry.test/installer:v9": codes.NotFound,
		"":                           codes.InvalidArgument,
	} {
		_, err1 := b.upgrade(ctx, image)
		_, err2 := b.machine.Upgrade(ctx, &machine.UpgradeRequest{Image: image})

		for _, err := range []error{err1, err2} {
			if status.Code(err) != want {
				t.Errorf("%q: got %v, want %s", image, err, want)
			}
		}
	}

	there := b.Loader
	b.Loader = &loader.Installed{Open: func() (loader.Partition, int64, error) { return nil, 0, loader.ErrNoSystem }}

	if _, err := b.upgrade(ctx, image); status.Code(err) != codes.FailedPrecondition || !strings.Contains(err.Error(), "no disk has the system") {
		t.Errorf("a machine without a disk: got %v", err)
	}

	b.Loader = there

	if trials.last.ID != "" {
		t.Errorf("what cannot be installed is tried: %+v", trials.last)
	}

	lines, err := b.upgrade(ctx, image)
	if err != nil || len(lines) < 3 || lines[0] != "the machine has no configuration, and so no containerd: reading "+image+" from its registry" {
		t.Fatalf("got %q, %v", lines, err)
	}

	want := trial.Change{From: "Talos-v1.0.0.efi", To: "Talos-v1.1.0.efi"}
	if trials.last.Entry != want || b.powerRequest(t) != nil {
		t.Errorf("got %+v and %+v, want %+v without a restart", trials.last, b.powerRequest(t), want)
	}

	if _, err := b.machine.Upgrade(ctx, &machine.UpgradeRequest{Image: image}); err != nil {
		t.Fatal(err)
	}

	if power := b.powerRequest(t); trials.last.Entry.To != "Talos-v1.1.0~1.efi" || power == nil || power.Action != runtime.PowerReboot {
		t.Errorf("got %+v and %+v, want the second entry of v1.1.0 and a restart", trials.last, power)
	}
}

// TestUpgradeWaitsForContainerd: a machine with a configuration has its images in containerd, also before that runs.
func TestUpgradeWaitsForContainerd(t *testing.T) {
	b := newBench(t)
	b.Loader, b.Trials, b.Containerd = bootDisk(t), &memoryTrials{}, filepath.Join(t.TempDir(), "containerd.sock")
	b.Fetch = fromLayouts(nil)
	configure(t, b, configtest.ControlPlane(t))

	if _, err := b.upgrade(as(t.Context(), contract.RoleAdmin), "registry.test/installer:v1"); status.Code(err) != codes.Unavailable {
		t.Errorf("got %v, want %s", err, codes.Unavailable)
	}
}

// TestUpgradePulls: the call of older clients pulls the image from a registry into a real containerd.
func TestUpgradePulls(t *testing.T) {
	b := newBench(t)
	b.Containerd = realContainerd(t)
	trials := &memoryTrials{}
	b.Loader, b.Trials = bootDisk(t), trials
	ctx := as(t.Context(), contract.RoleAdmin)

	ref := served(t, registrytest.Layout(t, layoutOf(t, "v1.1.0", "amd64")))

	if _, err := b.machine.Upgrade(ctx, &machine.UpgradeRequest{Image: ref, Stage: true}); err != nil {
		t.Fatal(err)
	}

	if want := (trial.Change{From: "Talos-v1.0.0.efi", To: "Talos-v1.1.0.efi"}); trials.last.Entry != want {
		t.Errorf("got %+v, want %+v", trials.last, want)
	}

	if _, err := b.machine.Upgrade(ctx, &machine.UpgradeRequest{Image: served(t, image(t, 1)), Stage: true}); status.Code(err) != codes.InvalidArgument {
		t.Errorf("an image of something else: got %v, want %s", err, codes.InvalidArgument)
	}

	if _, err := b.machine.Upgrade(ctx, &machine.UpgradeRequest{Image: strings.Replace(ref, ":v1", ":v9", 1), Stage: true}); status.Code(err) != codes.NotFound {
		t.Errorf("no such tag: got %v, want %s", err, codes.NotFound)
	}
}
