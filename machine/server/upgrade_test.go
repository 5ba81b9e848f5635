// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/api/common"
	"github.com/seed-59268b81/talos/api/contract"
	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/build/ociimage"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/install"
	"github.com/seed-59268b81/talos/install/loader"
	"github.com/seed-59268b81/talos/install/release"
	"github.com/seed-59268b81/talos/install/trial"
	"github.com/seed-59268b81/talos/resources/runtime"
	"github.com/seed-59268b81/talos/sys/efivar"
	"github.com/seed-59268b81/talos/sys/fat"
	"github.com/seed-59268b81/talos/sys/platform"
	"github.com/seed-59268b81/talos/test/powercut"
)

// layoutOf returns the layout of an installer's image.
func layoutOf(t *testing.T, version, arch string) string {
	t.Helper()

	dir := t.TempDir()
	files := map[string]string{}

	for _, name := range []string{release.UKI, release.Loader} {
		files[name] = filepath.Join(dir, name)
		if err := os.WriteFile(files[name], bytes.Repeat([]byte(name+version), 100_000), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	layers, err := release.Trees(filepath.Join(dir, "trees"), release.Manifest{Version: version, Arch: arch}, files)
	if err != nil {
		t.Fatal(err)
	}

	layout := filepath.Join(dir, "layout")
	if err := ociimage.Write(layout, ociimage.Image{
		Reference: "registry.test/installer:" + version, Layers: []ociimage.Tree{ociimage.Tree(layers[0]), ociimage.Tree(layers[1])},
	}); err != nil {
		t.Fatal(err)
	}

	return layout
}

// archive returns an installer's image as talosctl image import takes it.
func archive(t *testing.T, version, arch string) []byte {
	t.Helper()

	layout := layoutOf(t, version, arch)

	if err := ociimage.Archive(layout+".tar", layout); err != nil {
		t.Fatal(err)
	}

	b, err := os.ReadFile(layout + ".tar")
	if err != nil {
		t.Fatal(err)
	}

	return b
}

// memoryTrials keeps the record in memory.
type memoryTrials struct {
	mu   sync.Mutex
	last trial.Record
}

func (m *memoryTrials) Trial(context.Context) (trial.Record, error) {
	m.mu.Lock()
	defer m.mu.Unlock()

	return m.last, nil
}

func (m *memoryTrials) TryEntry(_ context.Context, change trial.Change, by string, within time.Duration) (trial.Record, error) {
	m.mu.Lock()
	defer m.mu.Unlock()

	m.last = trial.Record{ID: "abc123", By: by, Entry: change, AtBoot: true, Deadline: trial.DeadlineFor(within, 0), State: trial.Armed}

	return m.last, nil
}

func (m *memoryTrials) WithdrawEntry(_ context.Context, id, why string, keep bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()

	if m.last.ID != id || m.last.State != trial.Armed {
		return errors.New("it is not armed")
	}

	m.last.State, m.last.Why, m.last.Kept = trial.Reverted, why, keep

	return nil
}

type bootPartition struct{ *powercut.Disk }

func (bootPartition) Close() error { return nil }

// bootDisk is a disk with systemd-boot, from which v1.0.0 runs.
func bootDisk(t *testing.T) *loader.Installed {
	t.Helper()

	const size = 40 << 20

	disk := powercut.New(size)

	f, err := fat.Format(disk, fat.Options{Size: size, SectorSize: 512, Label: "EFI"})
	if err != nil {
		t.Fatal(err)
	}

	id := loader.NewID("v1.0.0")
	for _, file := range loader.EFIFiles(install.Bytes([]byte("loader")), install.Bytes([]byte("uki")), id) {
		if err := install.Put(t.Context(), f, file); err != nil {
			t.Fatal(err)
		}
	}

	l := &loader.Installed{Open: func() (loader.Partition, int64, error) { return bootPartition{disk}, size, nil }, Vars: efivar.Dir(t.TempDir())}
	name := efivar.Name{Name: "LoaderEntrySelected", Vendor: uuid.MustParse("4a67b082-0a4c-41cf-b6c7-440b29bb8c4f")}

	if err := l.Vars.Set(name, efivar.EncodeText(id)); err != nil {
		t.Fatal(err)
	}

	return l
}

func importArchive(ctx context.Context, t *testing.T, b *bench, archive []byte) {
	t.Helper()

	stream, err := machine.NewImageServiceClient(b.conn).Import(ctx)
	if err != nil {
		t.Fatal(err)
	}

	if err := stream.Send(&machine.ImageServiceImportRequest{Request: &machine.ImageServiceImportRequest_Containerd{Containerd: system}}); err != nil {
		t.Fatal(err)
	}

	for part := range slices.Chunk(archive, 32<<10) {
		if err := stream.Send(&machine.ImageServiceImportRequest{Request: &machine.ImageServiceImportRequest_ImageChunk{
			ImageChunk: &common.Data{Bytes: part},
		}}); err != nil && !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
	}

	if _, err := stream.CloseAndRecv(); err != nil {
		t.Fatal(err)
	}
}

var system = &common.ContainerdInstance{Driver: common.ContainerDriver_CONTAINERD, Namespace: common.ContainerdNamespace_NS_SYSTEM}

// TestUpgrade imports releases into a real containerd and upgrades to them.
func TestUpgrade(t *testing.T) {
	b := newBench(t)
	b.Containerd = realContainerd(t)
	trials := &memoryTrials{}
	disk := bootDisk(t)
	b.Loader, b.Trials = disk, trials
	ctx := as(t.Context(), contract.RoleAdmin)
	lifecycle := machine.NewLifecycleServiceClient(b.conn)

	importArchive(ctx, t, b, archive(t, "v1.1.0", "amd64"))
	importArchive(ctx, t, b, archive(t, "v1.2.0", "arm64"))

	upgrade := func(image string) (lines []string, exit bool, err error) {
		stream, err := lifecycle.Upgrade(ctx, &machine.LifecycleServiceUpgradeRequest{
			Containerd: system, Source: &machine.InstallArtifactsSource{ImageName: image},
		})
		if err != nil {
			t.Fatal(err)
		}

		for {
			m, err := stream.Recv()
			if errors.Is(err, io.EOF) {
				return lines, exit, nil
			}

			if err != nil {
				return lines, exit, err
			}

			if text := m.GetProgress().GetMessage(); text != "" {
				lines = append(lines, text)
			} else {
				exit = true
			}
		}
	}

	for image, want := range map[string]codes.Code{
		"registry.test/installer:v1.2.0": codes.FailedPrecondition, // another architecture
		"registry.test/installer:v9":     codes.NotFound,
		"":                               codes.InvalidArgument,
	} {
		if _, _, err := upgrade(image); status.Code(err) != want {
			t.Errorf("%s: got %v, want %s", image, err, want)
		}
	}

	for _, within := range []string{"1s", "1000h", "soon"} {
		_, err := b.machine.Upgrade(metadata.AppendToOutgoingContext(ctx, contract.KeyTrialTime, within), &machine.UpgradeRequest{Image: "registry.test/installer:v1.1.0", Stage: true})
		if status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), "it must be a duration of 1m0s to 24h0m0s") {
			t.Errorf("a trial of %s: got %v", within, err)
		}
	}

	if trials.last.ID != "" {
		t.Errorf("there is a trial: %+v", trials.last)
	}

	ctx = metadata.AppendToOutgoingContext(ctx, contract.KeyTrialTime, "7m0s")

	lines, exit, err := upgrade("registry.test/installer:v1.1.0")
	if err != nil || !exit {
		t.Fatalf("got %q, %v", lines, err)
	}

	want := []string{
		"upgrading from v0.1.0 to v1.1.0, sha256:", "writing v1.1.0, 2 MiB", "added boot entry Talos-v1.1.0.efi",
		"the next boot tries v1.1.0 (trial abc123). It stays if the machine is healthy within 7m0s; otherwise the machine goes back to v1.0.0",
	}
	if len(lines) != len(want) || !slices.EqualFunc(lines, want, strings.HasPrefix) {
		t.Errorf("got %q, want %q", lines, want)
	}

	if got := trials.last.Entry; got != (trial.Change{From: "Talos-v1.0.0.efi", To: "Talos-v1.1.0.efi"}) || !strings.Contains(trials.last.By, "(os:admin)") {
		t.Errorf("got %+v", trials.last)
	}

	if power := b.powerRequest(t); power != nil {
		t.Errorf("the machine goes down: %+v", power)
	}

	// While it is tried, nothing else may change.
	trials.last.State = trial.Running

	if _, _, err := upgrade("registry.test/installer:v1.1.0"); status.Code(err) != codes.FailedPrecondition || !strings.Contains(err.Error(), "trial abc123 is not over") {
		t.Errorf("got %v", err)
	}

	// It is healthy, and a person wants the version before.
	trials.last.State = trial.Committed

	if err := disk.Use(func(l loader.Loader) error { return l.SetDefault(trials.last.Entry.To) }); err != nil {
		t.Fatal(err)
	}

	if _, err := b.machine.Rollback(ctx, &machine.RollbackRequest{}); status.Code(err) != codes.FailedPrecondition {
		t.Errorf("before the restart: got %v", err)
	}

	name := efivar.Name{Name: "LoaderEntrySelected", Vendor: uuid.MustParse("4a67b082-0a4c-41cf-b6c7-440b29bb8c4f")}
	if err := disk.Vars.Set(name, efivar.EncodeText(strings.ToLower(trials.last.Entry.To))); err != nil {
		t.Fatal(err)
	}

	if _, err := b.machine.Rollback(ctx, &machine.RollbackRequest{}); err != nil {
		t.Fatal(err)
	}

	if got := trials.last.Entry; got != (trial.Change{From: "Talos-v1.1.0.efi", To: "Talos-v1.0.0.efi"}) {
		t.Errorf("got %+v", trials.last)
	}

	if power := b.powerRequest(t); power == nil || power.Action != runtime.PowerReboot || !strings.HasPrefix(power.Reason, "rollback from v1.1.0 to v1.0.0") {
		t.Errorf("got %+v", power)
	}
}

// TestLegacyUpgrade is the call of older clients: one call pulls, installs and restarts.
func TestLegacyUpgrade(t *testing.T) {
	b := newBench(t)
	b.Containerd = realContainerd(t)
	trials := &memoryTrials{}
	b.Loader, b.Trials = bootDisk(t), trials
	ctx := as(t.Context(), contract.RoleAdmin)

	importArchive(ctx, t, b, archive(t, "v1.1.0", "amd64"))

	if _, err := b.machine.Upgrade(ctx, &machine.UpgradeRequest{Image: "registry.test/installer:v1.1.0", RebootMode: 7}); status.Code(err) != codes.InvalidArgument {
		t.Errorf("got %v", err)
	}

	// Staged, the machine restarts when a person says so. Another upgrade takes its place.
	for _, stage := range []bool{true, false} {
		answer, err := b.machine.Upgrade(ctx, &machine.UpgradeRequest{Image: "registry.test/installer:v1.1.0", Preserve: true, Stage: stage})
		if err != nil || len(answer.GetMessages()) != 1 || answer.GetMessages()[0].GetAck() != "Upgrade request received" {
			t.Fatalf("got %v, %v", answer, err)
		}

		if power := b.powerRequest(t); (power != nil) == stage || power != nil && power.ActorID != answer.GetMessages()[0].GetActorId() {
			t.Errorf("staged %t: got %+v", stage, power)
		}
	}
}

// TestNoRestart: a machine that does not restart for an upgrade or a rollback does not try it at a later boot.
func TestNoRestart(t *testing.T) {
	b := newBench(t)
	b.Containerd = realContainerd(t)
	trials, disk := &memoryTrials{}, bootDisk(t)
	b.Loader, b.Trials = disk, trials
	ctx := as(t.Context(), contract.RoleAdmin)

	importArchive(ctx, t, b, archive(t, "v1.1.0", "amd64"))

	// The machine is about to be shut down.
	if _, err := b.createPower(ctx, runtime.PowerRequestSpec{Action: runtime.PowerShutdown}, func() {}); err != nil {
		t.Fatal(err)
	}

	_, err := b.machine.Upgrade(ctx, &machine.UpgradeRequest{Image: "registry.test/installer:v1.1.0"})
	if status.Code(err) != codes.FailedPrecondition || trials.last.State != trial.Reverted || trials.last.Kept {
		t.Errorf("upgrade: got %v and %+v, want a trial that is reverted", err, trials.last)
	}

	if want := "the machine could not be restarted: reboot: the machine is already going down"; trials.last.Why != want {
		t.Errorf("the trial: got %q, want %q", trials.last.Why, want)
	}

	_, err = b.machine.Rollback(ctx, &machine.RollbackRequest{})
	if status.Code(err) != codes.FailedPrecondition {
		t.Errorf("rollback without an earlier version: got %v", err)
	}

	trials.last = trial.Record{ID: "before", State: trial.Committed, Entry: trial.Change{From: "Talos-v1.1.0.efi", To: "Talos-v1.0.0.efi"}}

	for range 2 { // the entry stays, so that the next attempt finds it
		_, err = b.machine.Rollback(ctx, &machine.RollbackRequest{})
		if status.Code(err) != codes.FailedPrecondition || trials.last.State != trial.Reverted || !trials.last.Kept {
			t.Errorf("rollback: got %v and %+v, want a trial that is reverted", err, trials.last)
		}
	}
}

// TestIdle holds during which trials an upgrade and a rollback begin. Whether a configuration that waits for no person is kept, TryEntry decides.
func TestIdle(t *testing.T) {
	entry, configuration := trial.Change{From: "A", To: "B"}, trial.Change{From: "1", To: "2"}

	for _, tt := range []struct {
		name string
		last trial.Record
		idle bool
	}{
		{"no trial", trial.Record{}, true},
		{"decided", trial.Record{State: trial.Reverted, Config: configuration}, true},
		{"not undone", trial.Record{State: trial.Reverted, Config: configuration, Pending: true}, false},
		{"a version waits for the restart", trial.Record{State: trial.Armed, Entry: entry}, true},
		{"a version runs", trial.Record{State: trial.Running, Entry: entry}, false},
		{"a configuration", trial.Record{State: trial.Running, Config: configuration}, true},
		{"a configuration that waits for a person", trial.Record{State: trial.Running, Config: configuration, Confirm: true}, false},
	} {
		s := &Server{System: System{Trials: &memoryTrials{last: tt.last}}}
		if _, err := s.idle(t.Context()); (err == nil) != tt.idle {
			t.Errorf("%s: got %v", tt.name, err)
		}
	}
}

// TestNoEntries: a container has no boot entries, and a machine that starts does not know them yet.
func TestNoEntries(t *testing.T) {
	b := newBench(t)
	ctx := as(t.Context(), contract.RoleAdmin)

	for mode, want := range map[platform.Mode]codes.Code{platform.Container: codes.FailedPrecondition, platform.Metal: codes.Unavailable} {
		b.Platform = platform.Platform{Mode: mode}

		_, err1 := b.machine.Upgrade(ctx, &machine.UpgradeRequest{Image: "x"})
		_, err2 := b.machine.Rollback(ctx, &machine.RollbackRequest{})

		for _, err := range []error{err1, err2} {
			if status.Code(err) != want {
				t.Errorf("%s: got %v, want %s", mode, err, want)
			}
		}
	}
}

func (b *bench) powerRequest(t *testing.T) *runtime.PowerRequestSpec {
	t.Helper()

	r, err := typed.Find[runtime.PowerRequestSpec](t.Context(), b.State, "", runtime.PowerRequestID)
	if err != nil {
		t.Fatal(err)
	}

	if r == nil {
		return nil
	}

	return r.TypedSpec()
}
