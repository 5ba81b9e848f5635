// SPDX-License-Identifier: Apache-2.0

//go:build linux

package etcd

import "github.com/seed-59268b81/talos/cosi/controller"

// Deps are what the controllers need from outside.
type Deps struct {
	Supervisor Supervisor
	// Root of the file system; "/" when empty.
	Root string
}

// Controllers of this domain.
func Controllers(deps Deps) []controller.Controller {
	if deps.Root == "" {
		deps.Root = "/"
	}

	service := &serviceController{supervisor: deps.Supervisor, root: deps.Root}

	return []controller.Controller{
		configController(),
		specController(),
		pkiController(deps.Root),
		service.controller(),
		memberController(),
		advertisedPeerController(),
	}
}
