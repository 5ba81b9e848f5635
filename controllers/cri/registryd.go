// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cri

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/seed-59268b81/talos/controllers/cri/imagecache"
	"github.com/seed-59268b81/talos/controllers/fromconfig"
	"github.com/seed-59268b81/talos/controllers/volume"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/block"
	"github.com/seed-59268b81/talos/resources/cri"
	"github.com/seed-59268b81/talos/service/supervisor"
)

// RegistrydID is the name of the image cache's service.
const RegistrydID = "registryd"

// ImageCacheConfigController serves the image cache once its volume is mounted, unless the configuration forbids it, and reports whether images
// come from there. A machine without that volume does not have the service, and pulls from registries.
func ImageCacheConfigController(sup Supervisor, registry *RegistryPort) controller.Controller {
	c := &imageCacheController{supervisor: sup, registry: registry}

	return &controller.Reconciler{
		ControllerName: c.name(),
		Reads: append(volume.Inputs(), fromconfig.Input(),
			controller.In[block.VolumeStatusSpec](controller.Weak, "", block.VolumeImageCache)),
		Writes: []controller.Output{volume.Output(), controller.Out[cri.ImageCacheConfigSpec](controller.Exclusive)},
		Reconcile: func(ctx context.Context, rt controller.Runtime, log *slog.Logger) error {
			spec, err := c.reconcile(ctx, rt, log)
			if err != nil {
				return err
			}

			spec.CopyStatus = cri.ImageCacheCopySkipped

			return typed.Set(ctx, rt, "", cri.ImageCacheID, spec)
		},
	}
}

type imageCacheController struct {
	supervisor Supervisor
	registry   *RegistryPort
}

func (*imageCacheController) name() string { return "cri.ImageCacheConfigController" }

func (c *imageCacheController) reconcile(ctx context.Context, rt controller.Runtime, log *slog.Logger) (spec cri.ImageCacheConfigSpec, err error) {
	if err := c.registry.hold(ctx, log); err != nil {
		return spec, err
	}

	cfg, err := fromconfig.View(ctx, rt)
	if err != nil {
		return spec, err
	}

	stop := func(ctx context.Context) error { return c.supervisor.Remove(ctx, RegistrydID) }

	mounted, err := volume.Request(ctx, rt, c.name(), RegistrydID, block.VolumeImageCache, stop)
	if err != nil {
		return spec, err
	}

	switch {
	case !cfg.ImageCacheEnabled():
		spec.Status = cri.ImageCacheDisabled

		return spec, stop(ctx)
	case mounted == "":
		status, err := typed.Find[block.VolumeStatusSpec](ctx, rt, "", block.VolumeImageCache)
		spec.Status = cri.ImageCachePreparing

		if status != nil && !coming(status.TypedSpec().Phase) && status.TypedSpec().Phase != block.VolumePhaseReady {
			spec.Status = cri.ImageCacheDisabled
		}

		return spec, err
	}

	err = c.supervisor.Apply(supervisor.Service{
		ID:          RegistrydID,
		Fingerprint: mounted,
		Runner:      c.registry.serve(imagecache.New(mounted)),
		Health:      &supervisor.Health{Check: checkRegistry, InitialDelay: 10 * time.Millisecond},
	})
	if errors.Is(err, supervisor.ErrClosed) {
		err = nil
	}

	spec.Status, spec.Roots = cri.ImageCacheReady, []string{mounted}

	return spec, err
}

// registryClient uses no proxy.
var registryClient = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

func checkRegistry(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+imagecache.Address+"/v2/", nil)
	if err != nil {
		return err
	}

	resp, err := registryClient.Do(req)
	if err != nil {
		return err
	}

	if err := resp.Body.Close(); err != nil {
		return err
	}

	if resp.StatusCode != http.StatusOK {
		return errors.New("the image cache answers with " + resp.Status)
	}

	return nil
}
