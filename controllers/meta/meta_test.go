// SPDX-License-Identifier: Apache-2.0

package meta_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/seed-59268b81/talos/controllers/controllertest"
	"github.com/seed-59268b81/talos/controllers/meta"
	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/resource"
	cosiruntime "github.com/seed-59268b81/talos/cosi/runtime"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/resources/block"
	"github.com/seed-59268b81/talos/resources/runtime"
	sysmeta "github.com/seed-59268b81/talos/sys/meta"
)

func TestValues(t *testing.T) {
	path := filepath.Join(t.TempDir(), "meta")
	if err := os.WriteFile(path, make([]byte, layout.MetaSize), 0o600); err != nil {
		t.Fatal(err)
	}

	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()

		st, values := memory.New(), &meta.Values{}
		rt := cosiruntime.New(st, nil)

		if err := rt.RegisterController(values.Controller()); err != nil {
			t.Fatal(err)
		}

		go rt.Run(ctx) // ends with the context

		if err := values.Set(sysmeta.Upgrade, []byte("A")); !errors.Is(err, meta.ErrNotLoaded) {
			t.Errorf("a write before the partition is there: got %v, want %v", err, meta.ErrNotLoaded)
		}

		if err := typed.Set(ctx, st, "", block.VolumeMeta, block.VolumeStatusSpec{Phase: block.VolumePhaseReady, Location: path}); err != nil {
			t.Fatal(err)
		}

		synctest.Wait()

		if loaded, err := typed.Get[runtime.MetaLoadedSpec](ctx, st, "", runtime.MetaLoadedID); err != nil || !loaded.TypedSpec().Done {
			t.Fatalf("loaded: got %v, %v", loaded, err)
		}

		if err := values.Set(sysmeta.MetalNetworkPlatformConfig, []byte("addresses: []")); err != nil {
			t.Fatal(err)
		}

		synctest.Wait()

		key, err := typed.Get[runtime.MetaKeySpec](ctx, st, "", "0x0a")
		if err != nil || key.TypedSpec().Value != "addresses: []" {
			t.Errorf("after a write: got %v, %v", key, err)
		}

		if err := values.Delete(sysmeta.MetalNetworkPlatformConfig); err != nil {
			t.Fatal(err)
		}

		synctest.Wait()

		if _, err := st.Get(ctx, resource.PointerOf[runtime.MetaKeySpec]("", "0x0a")); !state.IsNotFound(err) {
			t.Errorf("after a delete: got %v, want not found", err)
		}
	})
}

// brokenEnd is a partition whose end, where the legacy copy is, cannot be written.
type brokenEnd struct{ *os.File }

func (b brokenEnd) WriteAt(p []byte, off int64) (int, error) {
	if off >= layout.MetaSize/2 {
		return 0, errors.New("input/output error")
	}

	return b.File.WriteAt(p, off)
}

// TestLegacyCopyFails: a value that is on the disk is set and published, even if the legacy copy fails.
func TestLegacyCopyFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "meta")
	if err := os.WriteFile(path, make([]byte, layout.MetaSize), 0o600); err != nil {
		t.Fatal(err)
	}

	open := func(path string) (sysmeta.Device, error) {
		f, err := os.OpenFile(path, os.O_RDWR, 0)

		return brokenEnd{f}, err
	}
	values := &meta.Values{Open: open}
	n := controllertest.Start(t, values.Controller())

	controllertest.Set(n, block.VolumeMeta, block.VolumeStatusSpec{Phase: block.VolumePhaseReady, Location: path})
	controllertest.Wait[runtime.MetaLoadedSpec](n, runtime.MetaLoadedID, nil)

	if err := values.Set(sysmeta.UserReserved1, []byte("A")); err != nil {
		t.Fatal(err)
	}

	controllertest.Wait(n, sysmeta.UserReserved1.String(), func(k runtime.MetaKeySpec) bool { return k.Value == "A" })

	device, err := open(path)
	if err != nil {
		t.Fatal(err)
	}

	store, err := sysmeta.Open(device)
	if err != nil {
		t.Fatal(err)
	}

	if got, _ := store.Get(sysmeta.UserReserved1); string(got) != "A" {
		t.Errorf("after a restart: got %q, want %q", got, "A")
	}

	if err := store.Set(sysmeta.UserReserved2, nil); !errors.Is(err, sysmeta.ErrLegacyCopy) {
		t.Errorf("got %v, want %v", err, sysmeta.ErrLegacyCopy)
	}
}
