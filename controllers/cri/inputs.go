// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cri

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/controllers/cri/settings"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/cri"
	"github.com/seed-59268b81/talos/resources/files"
	"github.com/seed-59268b81/talos/resources/runtime"
	"github.com/seed-59268b81/talos/service/imagerules"
)

// inputs is what containerd's files and its environment follow from.
type inputs struct {
	registries    cri.RegistriesConfigSpec
	customization cri.CustomizationConfigSpec
	baseSpec      cri.BaseRuntimeSpecConfigSpec
	environment   runtime.EnvironmentSpec
	// roots are authorities of the configuration. containerd trusts them at once through the hosts folder, and ceases to when it starts again,
	// which it does for each bundle.
	roots string
	// rules are those by which images may be pulled.
	rules  imagerules.Rules
	bundle files.EtcFileStatusSpec
}

// readInputs returns nil before all inputs exist and follow from the same configuration, so that containerd does not start without a part of its
// settings, nor once for each part.
func readInputs(ctx context.Context, r state.Reader, cfg *view.Config) (*inputs, error) {
	in := &inputs{roots: cfg.TrustedRoots(), rules: rulesOf(cfg)}

	ok, err := typed.All(
		typed.Read(ctx, r, cri.RegistriesID, &in.registries), typed.Read(ctx, r, cri.CustomizationID, &in.customization),
		typed.Read(ctx, r, cri.BaseRuntimeSpecID, &in.baseSpec), typed.Read(ctx, r, runtime.EnvironmentID, &in.environment),
	)
	if err != nil || !ok {
		return nil, err
	}

	if current, err := in.current(cfg); err != nil || !current {
		return nil, err
	}

	bundle := typed.Read(ctx, r, files.CABundle, &in.bundle)
	if bundle.Err != nil || !bundle.OK && in.roots != "" {
		return nil, bundle.Err
	}

	return in, nil
}

// current reports whether the inputs that restart containerd are those of a configuration.
func (in *inputs) current(cfg *view.Config) (bool, error) {
	customization, err := settings.Customization(cfg.ContainerdParts())
	if err != nil {
		return false, err
	}

	// Numbers may have another type in a resource.
	want, err := json.Marshal(cfg.RuntimeSpecOverrides())
	if err != nil {
		return false, fmt.Errorf("overrides of the runtime specification: %w", err)
	}

	got, err := json.Marshal(in.baseSpec.Object)
	if err != nil {
		return false, fmt.Errorf("overrides of the runtime specification: %w", err)
	}

	same := bytes.Equal(want, got) || len(cfg.RuntimeSpecOverrides()) == 0 && len(in.baseSpec.Object) == 0
	auths := settings.Registries(cfg.Registries(), "").RegistryAuths

	return same && customization == in.customization.Content && maps.Equal(auths, in.registries.RegistryAuths) &&
		slices.Equal(cfg.Variables(), in.environment.Variables), nil
}
