// SPDX-License-Identifier: Apache-2.0

//go:build linux

package runtime

import (
	"fmt"

	"github.com/seed-59268b81/talos/config/value"
	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/controllers/fromconfig"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/resources/runtime"
	"github.com/seed-59268b81/talos/resources/secrets"
	"github.com/seed-59268b81/talos/sys/cmdline"
)

// kernelLogArgument is the argument of the kernel that has a server for its log. There may be several.
const kernelLogArgument = "talos.logging.kernel"

// KmsgLogConfigController has the servers for the kernel's log: those of the kernel's arguments, and those of KmsgLogConfig documents.
func KmsgLogConfigController(args cmdline.Cmdline) controller.Controller {
	const name = "runtime.KmsgLogConfigController"

	return fromconfig.Many(name, controller.Exclusive, func(cfg *view.Config) (map[string]runtime.KmsgLogConfigSpec, error) {
		var spec runtime.KmsgLogConfigSpec

		for _, text := range args.All(kernelLogArgument) {
			u, err := value.ParseURL(text)
			if err != nil {
				return nil, fmt.Errorf("kernel argument %s: %w", kernelLogArgument, err)
			}

			spec.Destinations = append(spec.Destinations, secrets.URL{FullPath: u.String()})
		}

		for _, u := range cfg.KernelLogURLs() {
			spec.Destinations = append(spec.Destinations, secrets.URL{FullPath: u.String()})
		}

		if len(spec.Destinations) == 0 {
			return nil, nil
		}

		return map[string]runtime.KmsgLogConfigSpec{runtime.KmsgLogConfigID: spec}, nil
	})
}
