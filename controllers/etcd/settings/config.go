// SPDX-License-Identifier: Apache-2.0

// Package settings turns the machine configuration into etcd's settings and command line. It is pure: the controllers call it with
// the active configuration, and Check runs before a new one is accepted.
package settings

import (
	"net/netip"
	"strings"

	"github.com/seed-59268b81/talos/api/contract"
	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/resources/etcd"
)

// Where etcd's data and keys are, and its ports.
const (
	DataDir = layout.EtcdDataDir
	PKIDir  = layout.EtcdSecretsDir

	ClientPort = contract.EtcdClientPort
	PeerPort   = contract.EtcdPeerPort
	HealthPort = 2383
)

// Config copies etcd's settings out of the machine configuration; a subnet with "!" before it is excluded.
func Config(cfg *view.Config) (*etcd.ConfigSpec, error) {
	c := cfg.Etcd()

	advertised := c.AdvertisedSubnets
	if len(advertised) == 0 && c.Subnet != "" {
		advertised = []string{c.Subnet}
	}

	spec := &etcd.ConfigSpec{Image: c.Image}
	spec.AdvertiseValidSubnets, spec.AdvertiseExcludeSubnets = splitSubnets(advertised)
	spec.ListenValidSubnets, spec.ListenExcludeSubnets = splitSubnets(c.ListenSubnets)

	for _, subnets := range [][]netip.Prefix{cfg.PodSubnets(), cfg.ServiceSubnets()} {
		for _, subnet := range subnets {
			spec.AdvertiseExcludeSubnets = append(spec.AdvertiseExcludeSubnets, subnet.String())
		}
	}

	if len(c.ExtraArgs) > 0 {
		spec.ExtraArgs = make(map[string]etcd.ArgValues, len(c.ExtraArgs))
		for name, values := range c.ExtraArgs {
			spec.ExtraArgs[name] = etcd.ArgValues{Values: values}
		}
	}

	return spec, nil
}

func splitSubnets(in []string) (valid, excluded []string) {
	for _, subnet := range in {
		if e, ok := strings.CutPrefix(subnet, "!"); ok {
			excluded = append(excluded, e)
		} else {
			valid = append(valid, subnet)
		}
	}

	return valid, excluded
}

// Check returns an error when etcd would not accept the configuration.
func Check(cfg *view.Config) error {
	config, err := Config(cfg)
	if err != nil {
		return err
	}

	any := []netip.Addr{netip.IPv4Unspecified()}
	spec := etcd.SpecSpec{
		Name: "node", Image: config.Image, AdvertisedAddresses: any, ListenPeerAddresses: any, ListenClientAddresses: any, ExtraArgs: config.ExtraArgs,
	}

	_, err = CommandLine(spec, SelfCluster(spec), false)

	return err
}
