// SPDX-License-Identifier: Apache-2.0

package block

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/runtime"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/block"
)

// fakeMounts records its calls, and fails as configured.
type fakeMounts struct {
	mu    sync.Mutex
	calls []string
	fail  map[string]error // by call
}

func (f *fakeMounts) call(words ...string) error {
	f.mu.Lock()
	defer f.mu.Unlock()

	what := strings.Join(words, " ")
	if err := f.fail[what]; err != nil {
		return err
	}

	f.calls = append(f.calls, what)

	return nil
}

// failing makes a call fail with err; nil makes it succeed again.
func (f *fakeMounts) failing(call string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()

	f.fail[call] = err
}

func (f *fakeMounts) Mount(_ context.Context, volume string, s block.VolumeStatusSpec, readOnly bool) error {
	mode := "rw"
	if readOnly {
		mode = "ro"
	}

	return f.call("mount", s.MountLocation, s.MountSpec.TargetPath, mode)
}

func (f *fakeMounts) Writable(target string) error   { return f.call("writable", target) }
func (f *fakeMounts) Unmount(_, target string) error { return f.call("unmount", target) }
func (f *fakeMounts) Abandon(target string) error    { return f.call("abandon", target) }

// mountBench is a running MountController.
type mountBench struct {
	*testing.T
	*fakeMounts
	st state.State
}

func inMountBench(t *testing.T, fn func(b *mountBench)) {
	t.Helper()

	synctest.Test(t, func(t *testing.T) {
		b := &mountBench{T: t, fakeMounts: &fakeMounts{fail: map[string]error{}}, st: memory.New()}
		rt := runtime.New(b.st, slog.New(slog.DiscardHandler))

		if err := rt.RegisterController(MountController(b.fakeMounts)); err != nil {
			t.Fatal(err)
		}

		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)

		go func() { done <- rt.Run(ctx) }()

		b.ok(StartVolumes(ctx, b.st))
		fn(b)
		cancel()
		b.ok(<-done)
	})
}

func (b *mountBench) ok(err error) {
	b.Helper()

	if err != nil {
		b.Fatal(err)
	}
}

func (b *mountBench) volume(id, location, target string, phase block.VolumePhase, params ...block.ParameterSpec) {
	b.Helper()
	b.ok(typed.Set(b.Context(), b.st, "", id, block.VolumeStatusSpec{
		Phase: phase, MountLocation: location, Filesystem: block.FilesystemTypeXFS,
		MountSpec: block.MountSpec{TargetPath: target, Parameters: params},
	}))
	synctest.Wait()
}

func (b *mountBench) request(who, volume string, readOnly bool) {
	b.Helper()
	b.ok(typed.Set(b.Context(), b.st, "", who+"-"+volume, block.VolumeMountRequestSpec{VolumeID: volume, Requester: who, ReadOnly: readOnly}))
	synctest.Wait()
}

// withdraw tears a request down, and destroys it when it has no finalizers.
func (b *mountBench) withdraw(id string) (free bool) {
	b.Helper()

	ptr := resource.PointerOf[block.VolumeMountRequestSpec]("", id)
	_, err := b.st.Teardown(b.Context(), ptr)
	b.ok(err)
	synctest.Wait()

	r, err := b.st.Get(b.Context(), ptr)
	b.ok(err)

	if len(r.Metadata().Finalizers()) > 0 {
		return false
	}

	b.ok(b.st.Destroy(b.Context(), ptr))
	synctest.Wait()

	return true
}

func (b *mountBench) want(calls ...string) {
	b.Helper()

	b.mu.Lock()
	defer b.mu.Unlock()

	if diff := cmp.Diff(calls, b.calls); diff != "" {
		b.Errorf("calls (-want +got):\n%s", diff)
	}

	b.calls = nil
}

func (b *mountBench) grants() []string {
	b.Helper()

	list, err := typed.List[block.VolumeMountStatusSpec](b.Context(), b.st, "")
	b.ok(err)

	var out []string
	for _, g := range list {
		out = append(out, g.Metadata().ID()+" "+g.Metadata().Phase().String())
	}

	return out
}

func (b *mountBench) wantGrants(want ...string) {
	b.Helper()

	if got := b.grants(); !slices.Equal(got, want) {
		b.Errorf("grants: got %q, want %q", got, want)
	}
}

func TestHandshake(t *testing.T) {
	inMountBench(t, func(b *mountBench) {
		ctx := b.Context()
		grant := resource.PointerOf[block.VolumeMountStatusSpec]("", "kubelet-EPHEMERAL")

		b.request("kubelet", "EPHEMERAL", false)
		b.volume("EPHEMERAL", "/dev/vda5", "/var", block.VolumePhaseProvisioned)
		b.want()
		b.wantGrants()

		b.volume("EPHEMERAL", "/dev/vda5", "/var", block.VolumePhaseReady)
		b.want("mount /dev/vda5 /var rw")
		b.wantGrants("kubelet-EPHEMERAL running")

		b.request("etcd", "EPHEMERAL", false)
		b.want()
		b.wantGrants("etcd-EPHEMERAL running", "kubelet-EPHEMERAL running")

		m, err := typed.Get[block.MountStatusSpec](ctx, b.st, "", "EPHEMERAL")
		b.ok(err)

		if diff := cmp.Diff(block.MountStatusSpec{
			Source: "/dev/vda5", Target: "/var", Filesystem: block.FilesystemTypeXFS,
			Spec: block.MountRequestSpec{
				VolumeID: "EPHEMERAL", Requesters: []string{"etcd", "kubelet"}, RequesterIDs: []string{"etcd-EPHEMERAL", "kubelet-EPHEMERAL"},
			},
		}, *m.TypedSpec()); diff != "" {
			b.Errorf("mount (-want +got):\n%s", diff)
		}

		// A later probe that finds other contents does not unmount the volume.
		b.volume("EPHEMERAL", "/dev/vda5", "/var", block.VolumePhaseFailed)
		b.wantGrants("etcd-EPHEMERAL running", "kubelet-EPHEMERAL running")

		b.ok(b.st.AddFinalizer(ctx, grant, "kubelet"))

		if b.withdraw("kubelet-EPHEMERAL") {
			b.Error("a request was free while its grant was held")
		}

		b.wantGrants("etcd-EPHEMERAL running", "kubelet-EPHEMERAL tearingDown")

		if !b.withdraw("etcd-EPHEMERAL") {
			b.Error("a request whose grant has no holder still has finalizers")
		}

		b.want()
		b.ok(b.st.RemoveFinalizer(ctx, grant, "kubelet"))
		synctest.Wait()
		b.want("unmount /var")
		b.wantGrants()

		if !b.withdraw("kubelet-EPHEMERAL") {
			b.Error("a request without a grant is not free")
		}

		s, err := b.st.Get(ctx, resource.PointerOf[block.VolumeStatusSpec]("", "EPHEMERAL"))
		b.ok(err)

		if got := s.Metadata().Finalizers(); len(got) > 0 {
			b.Errorf("volume after the unmount: got finalizers %v, want none", got)
		}
	})
}

func TestReadOnly(t *testing.T) {
	inMountBench(t, func(b *mountBench) {
		b.volume("IMAGECACHE", "/dev/vda3", "/system/imagecache", block.VolumePhaseReady, block.ParameterSpec{Name: "ro"})
		b.request("registryd", "IMAGECACHE", false)
		b.want("mount /dev/vda3 /system/imagecache ro")

		b.volume("STATE", "/dev/vda4", "/system/state", block.VolumePhaseReady)
		b.request("reader", "STATE", true)
		b.want("mount /dev/vda4 /system/state ro")
		b.request("writer", "STATE", false)
		b.want("writable /system/state")
		b.withdraw("writer-STATE")
		b.want()
	})
}

func TestMountFails(t *testing.T) {
	inMountBench(t, func(b *mountBench) {
		b.failing("mount /dev/vda4 /system/state rw", errors.New("structure needs cleaning"))
		b.request("config", "STATE", false)
		b.request("kubelet", "EPHEMERAL", false)
		b.volume("EPHEMERAL", "/dev/vda5", "/var", block.VolumePhaseReady)
		b.volume("STATE", "/dev/vda4", "/system/state", block.VolumePhaseReady)
		b.want("mount /dev/vda5 /var rw")
		b.wantGrants("kubelet-EPHEMERAL running")

		b.failing("mount /dev/vda4 /system/state rw", nil)
		time.Sleep(time.Minute)
		b.want("mount /dev/vda4 /system/state rw")
	})
}

func TestStop(t *testing.T) {
	inMountBench(t, func(b *mountBench) {
		ctx := b.Context()
		grant := resource.PointerOf[block.VolumeMountStatusSpec]("", "kubelet-EPHEMERAL")

		b.volume("EPHEMERAL", "/dev/vda5", "/var", block.VolumePhaseReady)
		b.volume("STATE", "/dev/vda4", "/system/state", block.VolumePhaseReady)
		b.request("kubelet", "EPHEMERAL", false)
		b.request("config", "STATE", false)
		b.want("mount /dev/vda5 /var rw", "mount /dev/vda4 /system/state rw")
		b.ok(b.st.AddFinalizer(ctx, grant, "kubelet"))

		stopped := make(chan error, 1)
		go func() { stopped <- StopVolumes(ctx, b.st) }()

		synctest.Wait()
		b.want("unmount /system/state")
		b.wantGrants("kubelet-EPHEMERAL tearingDown")

		b.failing("unmount /var", errors.New("busy"))
		b.ok(b.st.RemoveFinalizer(ctx, grant, "kubelet"))
		time.Sleep(time.Second)
		b.want()

		// The process that kept the volume busy has ended.
		b.failing("unmount /var", nil)
		b.ok(<-stopped)
		b.want("unmount /var")

		b.request("late", "STATE", false)
		b.want()
	})
}

func TestStopBusyForever(t *testing.T) {
	inMountBench(t, func(b *mountBench) {
		b.volume("EPHEMERAL", "/dev/vda5", "/var", block.VolumePhaseReady)
		b.request("kubelet", "EPHEMERAL", false)
		b.failing("unmount /var", errors.New("busy"))

		start := time.Now()
		b.ok(StopVolumes(b.Context(), b.st))
		b.want("mount /dev/vda5 /var rw", "abandon /var")

		if took := time.Since(start); took < busyLimit || took > busyLimit+time.Second {
			b.Errorf("took %s, want %s", took, busyLimit)
		}
	})
}

func TestStopBusyReadOnly(t *testing.T) {
	inMountBench(t, func(b *mountBench) {
		b.volume("IMAGECACHE", "/dev/vda3", "/system/imagecache", block.VolumePhaseReady)
		b.request("cri", "IMAGECACHE", true)
		b.failing("unmount /system/imagecache", errors.New("busy"))

		start := time.Now()
		b.ok(StopVolumes(b.Context(), b.st))
		b.want("mount /dev/vda3 /system/imagecache ro")

		if took := time.Since(start); took > time.Second {
			b.Errorf("took %s: nothing can be lost", took)
		}
	})
}
