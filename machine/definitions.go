// SPDX-License-Identifier: Apache-2.0

//go:build linux

package machine

import (
	"context"
	"errors"

	"github.com/seed-59268b81/talos/cosi/introspect"
	"github.com/seed-59268b81/talos/cosi/meta"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/resources/block"
	"github.com/seed-59268b81/talos/resources/cluster"
	"github.com/seed-59268b81/talos/resources/clusterstate"
	"github.com/seed-59268b81/talos/resources/config"
	"github.com/seed-59268b81/talos/resources/cri"
	"github.com/seed-59268b81/talos/resources/etcd"
	"github.com/seed-59268b81/talos/resources/files"
	"github.com/seed-59268b81/talos/resources/hardware"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/resources/kubeaccess"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/runtime"
	"github.com/seed-59268b81/talos/resources/secrets"
	"github.com/seed-59268b81/talos/resources/security"
	serviceres "github.com/seed-59268b81/talos/resources/service"
	timeres "github.com/seed-59268b81/talos/resources/time"
)

// namespaces are the machine's, with the descriptions that clients print.
var namespaces = map[string]string{
	"controllers":    "Metrics of the controllers, read when they are asked for",
	"runtime":        "Talos runtime resources",
	"cluster":        "Identity of the machine, and the other members of the cluster",
	"cluster-raw":    "What each source says about the machines of the cluster",
	"cluster-wide":   "Resources that all control planes share, in etcd",
	"config":         "Talos node configuration",
	"cri":            "Resources of the container runtime",
	"etcd":           "etcd resources",
	"files":          "Files and file-like resources",
	"hardware":       "Hardware resources",
	"k8s":            "Kubernetes resources of the node",
	"controlplane":   "Kubernetes control plane resources",
	"network":        "Networking resources",
	"network-config": "Networking configuration, by layer",
	"secrets":        "Resources with secret material",
	"security":       "What the machine trusts",
}

// RegisterTypes registers every resource type of the machine in this process.
func RegisterTypes() error {
	return errors.Join(
		meta.RegisterTypes(), introspect.RegisterTypes(),
		block.Register(), cluster.Register(), clusterstate.Register(), config.Register(), cri.Register(), etcd.Register(), files.Register(), hardware.Register(), k8s.Register(), kubeaccess.Register(),
		network.Register(), runtime.Register(), secrets.Register(), security.Register(), timeres.Register(), serviceres.Register(),
	)
}

// registerDefinitions writes the descriptions of namespaces and types to the state, for clients.
func registerDefinitions(ctx context.Context, st state.State) error {
	if err := RegisterTypes(); err != nil {
		return err
	}

	if err := meta.Register(ctx, st); err != nil {
		return err
	}

	var errs []error

	for name, description := range namespaces {
		errs = append(errs, meta.RegisterNamespace(ctx, st, name, description))
	}

	for _, def := range resource.RegisteredTypes() {
		if err := meta.RegisterDefinition(ctx, st, def); err != nil && !state.IsConflict(err) {
			errs = append(errs, err)
		}
	}

	return errors.Join(errs...)
}
