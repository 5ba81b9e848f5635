// SPDX-License-Identifier: Apache-2.0

package validate_test

import (
	"strings"
	"testing"

	"github.com/seed-59268b81/talos/config/configtest"
	"github.com/seed-59268b81/talos/config/validate"
)

// A container accepts settings that it ignores, with a warning. On metal there is no warning.
func TestContainerIgnores(t *testing.T) {
	for _, tt := range []struct{ name, patch, path string }{
		{"sysctl of the kernel", `machine: {sysctls: {kernel.panic: "30"}}`, "machine.sysctls"},
		{"sysctl of the network", `machine: {sysctls: {net.core.somaxconn: "4096"}}`, ""},
		{"sysfs", `machine: {sysfs: {module.loop.parameters.max_loop: "8"}}`, "machine.sysfs"},
		{"modules", `machine: {kernel: {modules: [{name: wireguard}]}}`, "machine.kernel.modules"},
		{"kernel arguments", `machine: {install: {extraKernelArgs: [quiet]}}`, "machine.install.extraKernelArgs"},
		{"kernel log", "apiVersion: v1alpha1\nkind: KmsgLogConfig\nname: a\nurl: tcp://192.0.2.1:5/\n", "KmsgLogConfig[a]"},
		{"watchdog", "apiVersion: v1alpha1\nkind: WatchdogTimerConfig\ndevice: /dev/watchdog0\n", "WatchdogTimerConfig"},
		{"events", "apiVersion: v1alpha1\nkind: EventSinkConfig\nendpoint: 192.0.2.1:5\n", ""},
		{"time servers", `machine: {time: {servers: [10.0.0.1]}}`, "machine.time"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cfg := patched(t, configtest.ControlPlane(t), tt.patch)

			for _, mode := range []validate.Mode{validate.Metal, validate.Container} {
				warnings, err := validate.Validate(cfg, mode)
				if err != nil {
					t.Errorf("%s: %v", mode, err)
				}

				got := ""

				for _, w := range warnings {
					if path, _, ok := strings.Cut(w, ": is ignored in a container"); ok {
						got = path
					}
				}

				want := ""
				if mode == validate.Container {
					want = tt.path
				}

				if got != want && !(want != "" && strings.HasPrefix(got, want)) {
					t.Errorf("%s: got a warning about %q, want one about %q", mode, got, want)
				}
			}
		})
	}
}
