// SPDX-License-Identifier: Apache-2.0

// Package meta shows the values of the META partition as resources, and writes them.
package meta

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/resources/block"
	"github.com/seed-59268b81/talos/resources/runtime"
	"github.com/seed-59268b81/talos/sys/meta"
	"github.com/seed-59268b81/talos/sys/platform"
)

// ErrNotLoaded is the error of a read or write before META was found.
var ErrNotLoaded = errors.New("META is not loaded: no disk with a META partition was found yet")

// Values of the META partition of this machine. The zero Values has none until its controller has found the
// partition. It is safe for concurrent use.
type Values struct {
	// Open opens the partition; nil is the real one.
	Open func(path string) (meta.Device, error)

	mu    sync.Mutex
	store *meta.Store
	// damaged is set when values of META may be lost.
	damaged bool
	wake    func()
	log     *slog.Logger
}

// Get returns a value, or nil when there is none. The error is ErrNotLoaded, or meta.ErrDamaged when the value may be lost.
func (v *Values) Get(tag meta.Tag) ([]byte, error) {
	v.mu.Lock()
	defer v.mu.Unlock()

	if v.store == nil {
		return nil, ErrNotLoaded
	}

	value, ok := v.store.Get(tag)
	if !ok && v.damaged {
		return nil, fmt.Errorf("read META key %s: %w", tag, meta.ErrDamaged)
	}

	return value, nil
}

// Set stores a value. It is on the disk when Set returns, and a MetaKey shows it soon after.
func (v *Values) Set(tag meta.Tag, value []byte) error {
	return v.change(func(s *meta.Store) error { return s.Set(tag, value) })
}

// Delete removes a value; a missing one is not an error.
func (v *Values) Delete(tag meta.Tag) error {
	return v.change(func(s *meta.Store) error { return s.Delete(tag) })
}

// Wipe deletes all values.
func (v *Values) Wipe() error { return v.change((*meta.Store).Wipe) }

func (v *Values) change(fn func(*meta.Store) error) error {
	v.mu.Lock()
	defer v.mu.Unlock()

	if v.store == nil {
		return ErrNotLoaded
	}

	err := fn(v.store)

	switch {
	case errors.Is(err, meta.ErrLegacyCopy):
		v.log.Error("META has the value, but other programs cannot read it", "error", err)
	case err != nil:
		return err
	}

	v.wake()

	return nil
}

// New returns the values of the partition. Where the machine has no disks they are in a file, which is created when missing.
func New(p platform.Platform) *Values {
	v := &Values{}

	if !p.Owns(platform.Disks) {
		v.Open = openFile
	}

	return v
}

// openFile opens or creates a file of the size of the partition.
func openFile(path string) (meta.Device, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}

	st, err := f.Stat()
	if err == nil && st.Size() < layout.MetaSize {
		err = f.Truncate(layout.MetaSize)
	}

	if err != nil {
		return nil, errors.Join(err, f.Close())
	}

	return f, nil
}

// Controllers of this domain.
func Controllers(v *Values) []controller.Controller { return []controller.Controller{v.Controller()} }

// Controller returns the controller that reads the partition once it is located, and shows its values.
func (v *Values) Controller() controller.Controller {
	return &controller.Reconciler{
		ControllerName: "runtime.MetaController",
		Reads:          []controller.Input{controller.In[block.VolumeStatusSpec](controller.Weak, "", block.VolumeMeta)},
		Writes: []controller.Output{
			controller.Out[runtime.MetaKeySpec](controller.Exclusive),
			controller.Out[runtime.MetaLoadedSpec](controller.Exclusive),
		},
		Cleanup:   []resource.Kind{resource.KindOf[runtime.MetaKeySpec]("")},
		Reconcile: v.reconcile,
	}
}

func (v *Values) reconcile(ctx context.Context, rt controller.Runtime, log *slog.Logger) error {
	var status block.VolumeStatusSpec
	if f := typed.Read(ctx, rt, block.VolumeMeta, &status); f.Err != nil {
		return f.Err
	}

	store, err := v.load(status, rt.QueueReconcile, log)
	if err != nil || store == nil {
		return err
	}

	for tag, value := range store.Values() {
		if err := typed.Set(ctx, rt, "", tag.String(), runtime.MetaKeySpec{Value: string(value)}); err != nil {
			return err
		}
	}

	return typed.Set(ctx, rt, "", runtime.MetaLoadedID, runtime.MetaLoadedSpec{Done: true})
}

// load opens the partition the first time it is ready.
func (v *Values) load(status block.VolumeStatusSpec, wake func(), log *slog.Logger) (*meta.Store, error) {
	v.mu.Lock()
	defer v.mu.Unlock()

	if v.store != nil {
		return v.store, nil
	}

	if status.Phase != block.VolumePhaseReady {
		return nil, nil
	}

	open := v.Open
	if open == nil {
		open = func(path string) (meta.Device, error) { return os.OpenFile(path, os.O_RDWR, 0) }
	}

	device, err := open(status.Location)
	if err != nil {
		return nil, fmt.Errorf("open META: %w", err)
	}

	store, err := meta.Open(device)

	switch {
	case errors.Is(err, meta.ErrDamaged):
		v.damaged = true

		log.Error("META is damaged and starts empty", "error", err)
	case err != nil:
		return nil, err
	}

	// A reset that was cut off has gone on before META was ready (controllers/block). If it could not, it must not wipe what is there later.
	if _, there := store.Get(meta.Reset); there {
		log.Error("a reset was cut off, and could not go on: reset the machine again")

		if err := store.Delete(meta.Reset); err != nil && !errors.Is(err, meta.ErrLegacyCopy) {
			return nil, fmt.Errorf("delete the record of a reset: %w", err)
		}
	}

	v.store, v.wake, v.log = store, wake, log

	return store, nil
}
