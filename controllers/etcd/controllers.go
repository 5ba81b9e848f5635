// SPDX-License-Identifier: Apache-2.0

//go:build linux

package etcd

import (
	"cmp"
	"context"
	"net/netip"

	"github.com/seed-59268b81/talos/controllers/etcd/settings"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/service/container"
	"github.com/seed-59268b81/talos/service/supervisor"
)

// Deps are what the controllers need from outside.
type Deps struct {
	Supervisor Supervisor
	// Root of the file system; "/" when empty.
	Root string
	// Fetch has an image in a namespace of containerd; nil where there is no containerd.
	Fetch func(ctx context.Context, namespace, image string) error
	// State has the request to start a cluster, which belongs to no controller.
	State state.State
	// Address of this machine's etcd; 127.0.0.1 when it is not valid. Tests run several on one machine.
	Address netip.Addr
	// Container returns what runs a container; nil for the container itself. Tests run its program.
	Container func(c *container.Container) supervisor.Runner
}

// Controllers of this domain.
func Controllers(deps Deps) []controller.Controller {
	root := cmp.Or(deps.Root, "/")
	address := deps.Address

	if !address.IsValid() {
		address = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	}

	endpoint := settings.URL(address, settings.ClientPort)
	service := &serviceController{supervisor: deps.Supervisor, root: root, fetch: deps.Fetch, address: address, container: deps.Container}

	return []controller.Controller{
		configController(),
		specController(kernelHasIPv6()),
		pkiController(root),
		service.controller(),
		memberController(endpoint),
		advertisedPeerController(endpoint),
		&membershipController{root: root, endpoint: endpoint, claim: claimMembers, accepts: accepts, withdraw: withdrawing(deps.State)},
	}
}
