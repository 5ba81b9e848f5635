// SPDX-License-Identifier: Apache-2.0

//go:build linux

package etcd

import (
	"cmp"
	"context"

	"github.com/seed-59268b81/talos/cosi/controller"
)

// Deps are what the controllers need from outside.
type Deps struct {
	Supervisor Supervisor
	// Root of the file system; "/" when empty.
	Root string
	// Fetch has an image in a namespace of containerd; nil where there is no containerd.
	Fetch func(ctx context.Context, namespace, image string) error
}

// Controllers of this domain.
func Controllers(deps Deps) []controller.Controller {
	root := cmp.Or(deps.Root, "/")
	service := &serviceController{supervisor: deps.Supervisor, root: root, fetch: deps.Fetch}

	return []controller.Controller{
		configController(),
		specController(),
		pkiController(root),
		service.controller(),
		memberController(),
		advertisedPeerController(),
	}
}
