// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"

	"github.com/spf13/pflag"

	"github.com/seed-59268b81/talos/lab/state"
)

// ineffective returns an error if a flag is set that has no effect on this cluster.
func (f *createFlags) ineffective(flags *pflag.FlagSet) error {
	controlPlanes, workers := f.provisioners()
	virtual := controlPlanes != state.Container || f.lab.Workers > 0 && workers != state.Container

	for _, rule := range []struct {
		effective bool
		flag, why string
	}{
		{virtual, "disk", "containers have no disks"},
		{virtual, "extra-disks", "containers have no disks"},
		{virtual, "extra-disks-size", "containers have no disks"},
		{virtual, "with-uefi", "containers have no firmware"},
		{f.uefi, "firmware-code-path", "without UEFI machines have the BIOS of QEMU"},
		{f.uefi, "firmware-vars-path", "without UEFI machines have the BIOS of QEMU"},
		{f.world.sites != 0, "nat", "without --sites there is no NAT"},
		{f.world.sites == 0, "cidr", "with --sites the networks have subnets of their own"},
		{!f.world.ipv6Only, "cidr", "with --ipv6-only there is no IPv4"},
		{virtual, "cloud", "containers are on no cloud"},
		{f.world.sites == 0, "cloud", "metadata servers of clouds are not reached through a router"},
		{!f.world.ipv6Only, "cloud", "the metadata servers of most clouds have IPv4 addresses alone"},
		{f.injection != injectHTTP, "cloud", "with --config-injection-method " + injectHTTP + " machines are on no cloud"},
		{f.lab.Cloud == "", "config-injection-method", "with --cloud machines get their configurations from its metadata server"},
		{!f.skipConfig, "config-injection-method", "with --skip-injecting-config machines get no configuration"},
	} {
		if !rule.effective && flags.Changed(rule.flag) {
			return fmt.Errorf("--%s has no effect: %s", rule.flag, rule.why)
		}
	}

	return nil
}
