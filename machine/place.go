// SPDX-License-Identifier: Apache-2.0

//go:build linux

package machine

import (
	"context"
	"fmt"
	"strings"

	"github.com/seed-59268b81/talos/sys/cmdline"
	"github.com/seed-59268b81/talos/sys/module"
	"github.com/seed-59268b81/talos/sys/platform"
	"github.com/seed-59268b81/talos/sys/platform/cloud"
	"github.com/seed-59268b81/talos/sys/platform/cloud/volume"
)

// completed returns the platform with what the kernel's arguments and the firmware say about it. With an error, it is a machine on no
// cloud, which waits for a configuration over its API.
func completed(p platform.Platform, args cmdline.Cmdline, sys string) (platform.Platform, error) {
	if !p.Owns(platform.KernelArguments) {
		return p, nil
	}

	p.Hardware = platform.ReadHardware(sys)

	name, _ := args.Get(cmdline.Platform)
	if name == "" || name == platform.Metal.String() {
		return p, nil
	}

	if name == "vmware" {
		return p, fmt.Errorf("kernel argument %s=vmware: the configuration in guestinfo.talos.config is not read: use %s with a URL or metal-iso, or apply the "+
			"configuration over the API", cmdline.Platform, cmdline.Config)
	}

	if _, ok := cloud.Find(name, p.Hardware); !ok {
		return p, fmt.Errorf("kernel argument %s=%s: unknown platform: want metal or one of %s", cmdline.Platform, name, strings.Join(cloud.Names(), ", "))
	}

	return p.On(name), nil
}

// fetch returns how documents of the platform are read: over HTTP, or from a volume. settled is closed when all devices have drivers.
func fetch(modules *module.Loader, settled <-chan struct{}) cloud.Fetch {
	volumes := &volume.Reader{Settled: settled}
	if modules != nil {
		volumes.Load = modules.Load
	}

	overHTTP := cloud.HTTP(nil)

	return func(ctx context.Context, r cloud.Request) ([]byte, error) {
		if strings.HasPrefix(r.URL, volume.Scheme+"://") {
			return volumes.Fetch(ctx, r)
		}

		return overHTTP(ctx, r)
	}
}

// metadataOf returns how the platform is asked about the machine, or nil if it is not a cloud.
func metadataOf(p platform.Platform, fetch cloud.Fetch) func(context.Context) (cloud.Machine, error) {
	c, ok := cloud.Find(p.Cloud, p.Hardware)
	if !ok {
		return nil
	}

	return func(ctx context.Context) (cloud.Machine, error) { return c.Machine(ctx, fetch) }
}
