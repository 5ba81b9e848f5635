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
	"github.com/seed-59268b81/talos/sys/platform/cloud/guestinfo"
	"github.com/seed-59268b81/talos/sys/platform/cloud/volume"
)

// vmware is the platform that only its own virtual machines can ask.
const vmware = "vmware"

// completed returns the platform with what the kernel's arguments and the firmware say about it. With an error, it is a machine on no
// cloud, which waits for a configuration over its API.
func completed(p platform.Platform, args cmdline.Cmdline, sys string, onVMware func(platform.Hardware) error) (platform.Platform, error) {
	if !p.Owns(platform.KernelArguments) {
		return p, nil
	}

	p.Hardware = platform.ReadHardware(sys)

	name, _ := args.Get(cmdline.Platform)
	if name == "" || name == platform.Metal.String() {
		return p, nil
	}

	if _, ok := cloud.Find(name, p.Hardware); !ok {
		return p, fmt.Errorf("kernel argument %s=%s: unknown platform: want metal or one of %s", cmdline.Platform, name, strings.Join(cloud.Names(), ", "))
	}

	if name == vmware {
		if err := onVMware(p.Hardware); err != nil {
			return p, fmt.Errorf("kernel argument %s=%s: %w", cmdline.Platform, name, err)
		}
	}

	return p.On(name), nil
}

// fetch returns how documents of the platform are read: over HTTP, from a volume or from the hypervisor. settled is closed when all devices
// have drivers.
func fetch(modules *module.Loader, settled <-chan struct{}, hw platform.Hardware) cloud.Fetch {
	volumes := &volume.Reader{Settled: settled}
	if modules != nil {
		volumes.Load = modules.Load
	}

	overHTTP := cloud.HTTP(nil)
	hypervisor := guestinfo.New(hw)

	return func(ctx context.Context, r cloud.Request) ([]byte, error) {
		switch scheme, _, _ := strings.Cut(r.URL, "://"); scheme {
		case volume.Scheme:
			return volumes.Fetch(ctx, r)
		case guestinfo.Scheme:
			return hypervisor.Fetch(ctx, r)
		default:
			return overHTTP(ctx, r)
		}
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
