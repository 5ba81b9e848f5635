// SPDX-License-Identifier: Apache-2.0

package network

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"go.yaml.in/yaml/v4"

	"github.com/seed-59268b81/talos/controllers/volume"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/durable"
	"github.com/seed-59268b81/talos/resources/block"
	"github.com/seed-59268b81/talos/resources/network"
)

// platformFile in STATE has what the platform said before, so that the next boot has its network before the platform answers. It is only for
// what a server says: a machine knows the rest at once.
const platformFile = "platform-network.yaml"

const (
	platformLoad  = "network.PlatformConfigLoadController"
	platformStore = "network.PlatformConfigStoreController"
)

// released is called before STATE is unmounted: nothing here keeps a file open.
func released(context.Context) error { return nil }

// platformConfigLoadController publishes what the platform said before.
func platformConfigLoadController(d *Deps) controller.Controller {
	const requester = "platform-load"

	// STATE need not stay mounted.
	var (
		loaded bool
		cached *network.PlatformConfigSpec
	)

	return &controller.Reconciler{
		ControllerName: platformLoad,
		Reads:          volume.Inputs(),
		Writes:         []controller.Output{volume.Output(), controller.Out[network.PlatformConfigSpec](controller.Shared)},
		Cleanup:        []resource.Kind{resource.KindOf[block.VolumeMountRequestSpec]("")},
		Reconcile: func(ctx context.Context, rt controller.Runtime, log *slog.Logger) error {
			if d.Metadata == nil {
				return nil
			}

			if loaded {
				return volume.Release(ctx, rt, platformLoad, requester, block.VolumeState)
			}

			dir, err := volume.Request(ctx, rt, platformLoad, requester, block.VolumeState, released)
			if err != nil || dir == "" {
				return err
			}

			if cached, err = loadPlatform(filepath.Join(dir, platformFile)); err != nil {
				log.Error("what the platform said before is not used", "error", err)
			}

			if cached != nil {
				if err := set(ctx, rt, "", network.PlatformConfigCachedID, *cached); err != nil {
					return err
				}
			}

			loaded = true

			rt.QueueReconcile() // the next round releases the volume

			return nil
		},
	}
}

// platformConfigStoreController stores what the platform says.
func platformConfigStoreController(d *Deps) controller.Controller {
	const requester = "platform-store"

	var stored []byte

	return &controller.Reconciler{
		ControllerName: platformStore,
		Reads:          append(volume.Inputs(), controller.In[network.PlatformConfigSpec](controller.Weak, "", network.PlatformConfigActiveID)),
		Writes:         []controller.Output{volume.Output()},
		Cleanup:        []resource.Kind{resource.KindOf[block.VolumeMountRequestSpec]("")},
		Reconcile: func(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
			var active network.PlatformConfigSpec

			f := typed.Read(ctx, rt, network.PlatformConfigActiveID, &active)
			if f.Err != nil || !f.OK || d.Metadata == nil {
				return f.Err
			}

			text, err := yaml.Marshal(active)
			if err != nil {
				return fmt.Errorf("encode the platform's network: %w", err)
			}

			if bytes.Equal(text, stored) {
				return volume.Release(ctx, rt, platformStore, requester, block.VolumeState)
			}

			dir, err := volume.Request(ctx, rt, platformStore, requester, block.VolumeState, released)
			if err != nil || dir == "" {
				return err
			}

			if err := storePlatform(filepath.Join(dir, platformFile), text); err != nil {
				return err
			}

			stored = text

			rt.QueueReconcile() // the next round releases the volume

			return nil
		},
	}
}

// loadPlatform returns nil if nothing was stored.
func loadPlatform(path string) (*network.PlatformConfigSpec, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}

	if err != nil {
		return nil, fmt.Errorf("read the platform's network: %w", err)
	}

	spec, err := metalPlatformConfig(text)
	if err != nil {
		return nil, fmt.Errorf("read the platform's network: %s: %w", path, err)
	}

	return &spec, nil
}

// storePlatform writes a file that differs.
func storePlatform(path string, text []byte) error {
	if present, err := os.ReadFile(path); err == nil && bytes.Equal(present, text) {
		return nil
	}

	if err := durable.Write(path, text, 0o600); err != nil {
		return fmt.Errorf("store the platform's network: %w", err)
	}

	return nil
}
