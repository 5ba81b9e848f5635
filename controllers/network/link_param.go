// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"errors"
	"log/slog"
	"strings"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/runtime"
)

// LinkParamController has each link of the machine's own forward IPv6 and believe routers all the same. The kernel's defaults
// say so only of cards that come after they were set, and drivers are loaded while the system starts; a card that was
// earlier would lose its addresses and its default route when something turns forwarding on.
func LinkParamController() controller.Controller {
	return &controller.Reconciler{
		ControllerName: "network.LinkParamController",
		Reads: []controller.Input{
			controller.In[network.LinkStatusSpec](controller.Weak, ""),
			controller.In[network.LinkSpecSpec](controller.Weak, network.NamespaceName),
		},
		Writes:  []controller.Output{controller.Out[runtime.KernelParamDefaultSpecSpec](controller.Shared)},
		Cleanup: []resource.Kind{resource.KindOf[runtime.KernelParamDefaultSpecSpec]("")},
		Reconcile: func(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
			links, err := ownLinks(ctx, rt)
			if err != nil {
				return err
			}

			for name := range links {
				for _, p := range linkParams {
					// Not all kernels have IPv6, and a link may go while it is set.
					spec := runtime.KernelParamDefaultSpecSpec{Value: p.value, IgnoreErrors: true}
					if err := set(ctx, rt, "", linkParamID(name, p.name), spec); err != nil {
						return err
					}
				}
			}

			return nil
		},
	}
}

// linkParams are in the order in which they are stated: a link that forwards before it has accept_ra 2 forgets what routers
// said, and each may be applied before the next is stated.
var linkParams = []struct{ name, value string }{{"accept_ra", "2"}, {"forwarding", "1"}}

// linkParamID is the id of a parameter of a link, in whose name dots are written as slashes (sysctl(8)).
func linkParamID(link, param string) string {
	return "proc.sys.net.ipv6.conf." + strings.ReplaceAll(link, ".", "/") + "." + param
}

// ownLinks are the links that are the machine's own and not, as those of pods, somebody else's on it: network cards, and what
// there are specs of; not the loopback.
func ownLinks(ctx context.Context, rt state.Reader) (map[string]network.LinkStatusSpec, error) {
	links, err1 := typed.List[network.LinkStatusSpec](ctx, rt, "")
	specs, err2 := typed.List[network.LinkSpecSpec](ctx, rt, "")

	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}

	wanted := map[string]bool{"lo": false}

	for _, s := range specs {
		if s.Metadata().ID() != "lo" {
			wanted[s.Metadata().ID()] = s.Metadata().Phase() == resource.PhaseRunning
		}
	}

	own := map[string]network.LinkStatusSpec{}

	for _, l := range links {
		if name := l.Metadata().ID(); wanted[name] || l.TypedSpec().Physical() {
			own[name] = *l.TypedSpec()
		}
	}

	return own, nil
}
