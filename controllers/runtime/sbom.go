// SPDX-License-Identifier: Apache-2.0

//go:build linux

package runtime

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"path"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/resources/runtime"
	"github.com/seed-59268b81/talos/sys/spdx"
)

// SBOMItemController publishes the software that the image has, from its lists. It waits until settled is closed: there are hundreds of
// items, and no other controller needs them. Root is "/" outside of tests.
func SBOMItemController(root fs.FS, settled <-chan struct{}) controller.Controller {
	return &controller.Reconciler{
		ControllerName: "runtime.SBOMItemController",
		Writes:         []controller.Output{controller.Out[runtime.SBOMItemSpec](controller.Exclusive)},
		Reconcile: func(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
			select {
			case <-settled:
			case <-ctx.Done():
				return nil
			}

			items, err := software(root)
			if err != nil {
				return err
			}

			rt.StartTrackingOutputs()

			for id, item := range items {
				if err := typed.Set(ctx, rt, "", id, item); err != nil {
					return err
				}
			}

			return rt.CleanupOutputs(ctx, resource.KindOf[runtime.SBOMItemSpec](""))
		},
	}
}

// software returns the software in the lists of the image, by id.
func software(root fs.FS) (map[string]runtime.SBOMItemSpec, error) {
	files, err := fs.Glob(root, path.Join(layout.SBOMDir, "*.json"))
	if err != nil {
		return nil, err
	}

	var all []spdx.Package

	versions := map[string]map[string]bool{}

	for _, file := range files {
		text, err := fs.ReadFile(root, file)
		if err != nil {
			return nil, fmt.Errorf("list of software: %w", err)
		}

		packages, err := spdx.Decode(text)
		if err != nil {
			return nil, fmt.Errorf("list of software %s: %w", file, err)
		}

		for _, p := range packages {
			if versions[p.Name] == nil {
				versions[p.Name] = map[string]bool{}
			}

			versions[p.Name][p.Version] = true
		}

		all = append(all, packages...)
	}

	items := map[string]runtime.SBOMItemSpec{}

	for _, p := range all {
		id := p.Name
		if len(versions[p.Name]) > 1 {
			id += "@" + p.Version
		}

		items[id] = runtime.SBOMItemSpec{Name: p.Name, Version: p.Version, License: p.License, CPEs: p.CPEs, PURLs: p.PURLs}
	}

	return items, nil
}
