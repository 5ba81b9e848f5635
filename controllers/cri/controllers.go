// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cri

import (
	"context"

	"github.com/seed-59268b81/talos/controllers/cri/imagecache"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/service/supervisor"
	"github.com/seed-59268b81/talos/sys/platform"
)

// Supervisor is the part of the supervisor that is used; tests have their own.
type Supervisor interface {
	Apply(svc supervisor.Service) error
	Remove(ctx context.Context, id string) error
}

// Deps are what the controllers need from outside.
type Deps struct {
	Supervisor Supervisor
	// Platform is where the machine runs.
	Platform platform.Platform
	// LoadModule is not called where the kernel is the host's.
	LoadModule func(name string, params ...string) error
}

// Controllers returns the controllers of this domain.
func Controllers(deps Deps) []controller.Controller {
	registry := &RegistryPort{Address: imagecache.Address}

	return []controller.Controller{
		ContainerdController(deps.Supervisor, deps.Platform, registry, deps.LoadModule),
		CustomizationConfigController(),
		ImageCacheConfigController(deps.Supervisor, registry),
		RegistriesConfigController(),
		RuntimeSpecConfigController(),
		SeccompProfileController(),
		SeccompProfileFileController(),
	}
}
