// SPDX-License-Identifier: Apache-2.0

//go:build linux

package kernel

import (
	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/controllers/fromconfig"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/resources/runtime"
)

// The id of a parameter begins with the prefix of /proc/sys or /sys. The rest is the path, with dots for slashes.
const (
	sysctlPrefix = "proc.sys."
	sysfsPrefix  = "sys."
)

func sysctlID(name string) string { return sysctlPrefix + name }

// ParamConfigController turns machine.sysctls and machine.sysfs into specs.
func ParamConfigController() controller.Controller {
	return fromconfig.Many("runtime.KernelParamConfigController", controller.Shared, func(cfg *view.Config) (map[string]runtime.KernelParamSpecSpec, error) {
		specs := map[string]runtime.KernelParamSpecSpec{}

		for prefix, params := range map[string]map[string]string{sysctlPrefix: cfg.Sysctls(), sysfsPrefix: cfg.Sysfs()} {
			for name, value := range params {
				specs[prefix+name] = runtime.KernelParamSpecSpec{Value: value}
			}
		}

		return specs, nil
	})
}
