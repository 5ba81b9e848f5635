// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"log/slog"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/discovery/client"
)

// Session is the connection to one discovery source: client.Session, or a fake in tests.
type Session interface {
	Publish(*client.Local)
	SetWatch(bool)
	Run(context.Context) error
	View() *client.View
	List(context.Context) (map[string]client.Affiliate, error)
	Changed() <-chan struct{}
}

// Deps is what the controllers use beside resources.
type Deps struct {
	// Root is the folder that is / on a machine.
	Root string
	// Open makes a session, which does nothing before Run.
	Open func(client.Options, *slog.Logger) Session
}

// System is the real thing.
var System = Deps{Root: "/", Open: func(o client.Options, log *slog.Logger) Session { return client.New(o, log) }}

// Controllers of the domain.
func Controllers(d Deps) []controller.Controller {
	return []controller.Controller{
		NodeIdentityController(),
		configController(),
		infoController(),
		localAffiliateController(d.Root),
		discoveryServiceController(d),
		affiliateMergeController(),
		memberController(),
		etcdClaimController(),
		endpointController(),
	}
}
