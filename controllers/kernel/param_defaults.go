// SPDX-License-Identifier: Apache-2.0

//go:build linux

package kernel

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"

	"github.com/seed-59268b81/talos/api/contract"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/runtime"
)

// defaults are what a Kubernetes node needs.
var defaults = map[string]string{
	"net.ipv4.ip_forward":                        "1",
	"net.ipv4.icmp_ignore_bogus_error_responses": "1",
	"net.ipv4.icmp_echo_ignore_broadcasts":       "1",
	"net.ipv4.conf.all.send_redirects":           "0",
	"net.ipv4.conf.default.send_redirects":       "0",
	// When a primary address is removed, the secondary ones in its network must stay.
	"net.ipv4.conf.all.promote_secondaries": "1",
	"net.ipv4.ip_local_reserved_ports":      fmt.Sprintf("%d,%d", contract.APIPort, contract.TrustdPort),
	"net.bridge.bridge-nf-call-iptables":    "1",
	"net.bridge.bridge-nf-call-ip6tables":   "1",
	"net.ipv6.conf.default.forwarding":      "1",
	// Otherwise the links of pods, and those that connect them, would accept each pod as a router. The machine's own links accept
	// routers (network.LinkParamController).
	"net.ipv6.conf.default.accept_ra": "0",
	"net.ipv4.tcp_keepalive_time":     "600",
	"net.ipv4.tcp_keepalive_intvl":    "60",
	"kernel.ctrl-alt-del":             "0",
	"kernel.panic":                    "10",
	// The kubelet requires the following with protectKernelDefaults.
	"kernel.panic_on_oops":          "1",
	"kernel.keys.root_maxkeys":      "1000000",
	"kernel.keys.root_maxbytes":     "25000000",
	"kernel.pid_max":                "262144",
	"vm.overcommit_memory":          "1",
	"fs.inotify.max_user_instances": "8192",
	"fs.aio-max-nr":                 "1048576",
}

// ParamDefaultsController publishes the defaults. A parameter that this kernel does not have is not an error.
func ParamDefaultsController() controller.Controller {
	return &controller.Reconciler{
		ControllerName: "runtime.KernelParamDefaultsController",
		Writes:         []controller.Output{controller.Out[runtime.KernelParamDefaultSpecSpec](controller.Shared)},
		Reconcile: func(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
			all := maps.Clone(hardening)
			maps.Copy(all, defaults)

			for _, name := range slices.Sorted(maps.Keys(all)) {
				spec := runtime.KernelParamDefaultSpecSpec{Value: all[name], IgnoreErrors: true}
				if err := typed.Set(ctx, rt, "", sysctlID(name), spec); err != nil {
					return err
				}
			}

			return nil
		},
	}
}
