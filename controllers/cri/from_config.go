// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cri

import (
	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/controllers/cri/settings"
	"github.com/seed-59268b81/talos/controllers/fromconfig"
	"github.com/seed-59268b81/talos/controllers/frominputs"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/resources/cri"
)

// RegistriesConfigController follows the registries of the configuration. Images come from the image cache first, unless it is known that there
// is none: containerd tries the next host while nothing listens there.
func RegistriesConfigController() controller.Controller {
	var (
		cfg   *view.Config
		cache cri.ImageCacheConfigSpec
	)

	return frominputs.One("cri.RegistriesConfigController", cri.RegistriesID, controller.Exclusive, frominputs.List{
		frominputs.Config(&cfg),
		frominputs.Of(cri.ImageCacheID, &cache).OrKeep(),
	}, func() (*cri.RegistriesConfigSpec, error) {
		url := cacheURL
		if cache.Status == cri.ImageCacheDisabled {
			url = ""
		}

		spec := settings.Registries(cfg.Registries(), url)

		return &spec, nil
	})
}

// CustomizationConfigController merges the parts that documents add to containerd's configuration.
func CustomizationConfigController() controller.Controller {
	return fromconfig.Controller("cri.CustomizationConfigController", cri.CustomizationID, controller.Exclusive,
		func(cfg *view.Config) (*cri.CustomizationConfigSpec, error) {
			content, err := settings.Customization(cfg.ContainerdParts())

			return &cri.CustomizationConfigSpec{Content: content}, err
		})
}

// RuntimeSpecConfigController follows the overrides of the runtime specification.
func RuntimeSpecConfigController() controller.Controller {
	return fromconfig.Controller("cri.RuntimeSpecConfigController", cri.BaseRuntimeSpecID, controller.Exclusive,
		func(cfg *view.Config) (*cri.BaseRuntimeSpecConfigSpec, error) {
			return &cri.BaseRuntimeSpecConfigSpec{Object: cfg.RuntimeSpecOverrides()}, nil
		})
}
