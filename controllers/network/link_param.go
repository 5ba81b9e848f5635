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

// LinkParamController makes each of the machine's own links forward IPv6 and still accept router advertisements. The kernel's defaults
// apply only to cards that are added after they were set, and drivers are loaded while the system starts. An earlier card would lose
// its addresses and its default route when a program enables forwarding.
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
					// Not all kernels have IPv6, and a link may be removed during the write.
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

// linkParams are in the order in which they are written, and each may be applied before the next is written: a link that forwards before
// accept_ra is 2 discards what routers advertised.
var linkParams = []struct{ name, value string }{{"accept_ra", "2"}, {"forwarding", "1"}}

// linkParamID returns the id of a parameter of a link. Dots in the name of the link are written as slashes (sysctl(8)).
func linkParamID(link, param string) string {
	return "proc.sys.net.ipv6.conf." + strings.ReplaceAll(link, ".", "/") + "." + param
}

// ownLinks returns the machine's own links, which are not those of pods: network cards, and links with specs; not the loopback.
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
