// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cri

import (
	"context"
	"fmt"

	"github.com/containerd/containerd/v2/core/containers"
	"github.com/containerd/containerd/v2/pkg/namespaces"
	"github.com/containerd/containerd/v2/pkg/oci"

	"github.com/seed-59268b81/talos/controllers/cri/settings"
	"github.com/seed-59268b81/talos/service/container"
)

// baseSpec returns the specification with which the containers of Kubernetes begin, with overrides. It starts from containerd's own, without
// the default limits, which containerd removes too if it has no such file.
func baseSpec(overrides map[string]any) ([]byte, error) {
	ctx := namespaces.WithNamespace(context.Background(), container.NamespacePods)

	spec, err := oci.GenerateSpec(ctx, nil, &containers.Container{ID: "base"})
	if err != nil {
		return nil, fmt.Errorf("runtime specification: %w", err)
	}

	spec.Process.Rlimits = nil

	return settings.RuntimeSpec(spec, overrides)
}
